"""The route optimisation example: geometry, weather, engine, search against brute force, totals, picture."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from routing.coast import LandMask
from routing.engine import CO2_PER_HFO, Engine
from routing.fields import Ocean, Vortex, Weather
from routing.geodesy import Floats, bearing_deg, distance_nm, travel
from routing.oracle import Power, ask
from routing.sea import AMBROSE, BISHOP_ROCK, Corridor, Place
from routing.search import Edges, Lattice, LeastMean, NoRoute, Objective, RiskAverse, relax, shortest_paths
from routing.ship import FEATURES, Rows, Ship, apparent_wind
from routing.voyage import Track, Voyage


@dataclass(frozen=True)
class StandInAnswer:
    mean: NDArray[np.float32]
    total: NDArray[np.float32]
    knowledge: NDArray[np.float32] | None
    deferred: NDArray[np.bool_]
    shifted: NDArray[np.bool_]


class StandIn:
    """A cubic ship whose knowledge ends at 19 kn of true wind: in place of the service."""

    def __init__(self, knows_parts: bool = True) -> None:
        self.batches: list[int] = []
        self._knows_parts = knows_parts

    def stream(self, batches: Iterable[Rows], /) -> Iterator[StandInAnswer]:
        for rows in batches:
            assert rows.dtype == np.float32
            assert rows.shape[1] == len(FEATURES)
            self.batches.append(len(rows))
            yield self._answer(rows.astype(np.float64))

    def _answer(self, rows: Floats) -> StandInAnswer:
        stw, head, cross, current, wave = rows[:, 2], rows[:, 4], rows[:, 5], rows[:, 6], rows[:, 8]
        wind = np.hypot(head - stw - current, cross)
        mean = 3.2 * stw**3 + 5.0 * stw * head + 40.0 * wave**2
        knowledge = (100.0 + 150.0 * np.maximum(wind - 19.0, 0.0)) ** 2
        total = (0.02 * mean + 200.0) ** 2 + knowledge
        strange = wind > 19.0
        return StandInAnswer(
            mean.astype(np.float32),
            total.astype(np.float32),
            knowledge.astype(np.float32) if self._knows_parts else None,
            total > 1200.0**2,
            strange,
        )


NO_LAND = LandMask(0.0, 0.0, 1.0, np.zeros((1, 1), bool))


def small_lattice(**changes: object) -> Lattice:
    """Five columns by five rows in the open Atlantic."""
    corridor = Corridor(
        Place("A", 45.0, -20.0), Place("B", 45.0, -28.0), columns=5, row_spacing_nm=40.0, port_rows=2, starboard_rows=2
    )
    settings: dict[str, object] = {"earliest_h": 20.0, "latest_h": 25.0, "step_h": 1.0, "samples": 2}
    return Lattice(corridor, Ocean.simulate(3), Ship(), NO_LAND, **(settings | changes))  # type: ignore[arg-type]


class TestGeodesy:
    def test_a_degree_of_latitude_is_sixty_miles(self) -> None:
        assert distance_nm(40.0, -30.0, 41.0, -30.0) == pytest.approx(60.04, abs=0.01)

    def test_travel_and_bearing_undo_each_other(self) -> None:
        random = np.random.default_rng(0)
        lat, lon = random.uniform(-70, 70, 200), random.uniform(-180, 180, 200)
        course, length = random.uniform(0, 360, 200), random.uniform(1, 3000, 200)
        there = travel(lat, lon, course, length)
        np.testing.assert_allclose(distance_nm(lat, lon, *there), length, rtol=1e-9)
        turned = (bearing_deg(lat, lon, *there) - course + 180.0) % 360.0 - 180.0
        np.testing.assert_allclose(turned, 0.0, atol=1e-6)

    def test_corridor_ends_in_its_ports_and_bends_to_both_sides(self) -> None:
        corridor = Corridor(BISHOP_ROCK, AMBROSE)
        lat, lon = corridor.waypoints
        assert lat.shape == (corridor.columns, corridor.rows)
        for column, place in ((0, BISHOP_ROCK), (-1, AMBROSE)):
            assert lat[column, corridor.axis_row] == pytest.approx(place.lat)
            assert lon[column, corridor.axis_row] == pytest.approx(place.lon)
        middle = corridor.columns // 2
        assert lat[middle, 0] < lat[middle, corridor.axis_row] < lat[middle, -1]  # port is south, sailing west
        away = distance_nm(
            lat[middle, 0], lon[middle, 0], lat[middle, corridor.axis_row], lon[middle, corridor.axis_row]
        )
        assert away == pytest.approx(-corridor.offsets_nm[0], rel=1e-6)

    def test_progress_grows_along_the_great_circle(self) -> None:
        corridor = Corridor(BISHOP_ROCK, AMBROSE)
        lat, lon = corridor.waypoints
        share = corridor.progress(lat[:, 2], lon[:, 2])
        np.testing.assert_allclose(share, np.linspace(0, 1, corridor.columns), atol=0.02)


class TestLand:
    @pytest.mark.parametrize(
        ("name", "lat", "lon", "land"),
        [
            ("Ireland", 53.0, -8.0, True),
            ("Newfoundland", 48.5, -56.0, True),
            ("Cape Cod", 41.75, -70.2, True),
            ("mid-Atlantic", 45.0, -40.0, False),
            ("Bay of Biscay", 45.5, -6.0, False),
            ("Grand Banks", 45.0, -50.0, False),
        ],
    )
    def test_points(self, name: str, lat: float, lon: float, land: bool) -> None:
        assert LandMask.draw().hits(np.array([lat]), np.array([lon]))[0] == land, name

    def test_legs_keep_off_the_land(self) -> None:
        mask, corridor = LandMask.draw(), Corridor(BISHOP_ROCK, AMBROSE)
        for column in range(1, corridor.columns - 2):
            lat, lon, _ = corridor.legs(column, mask).along(np.linspace(0.01, 0.98, 7))
            assert not mask.hits(lat, lon).mean() > 0.01

    def test_every_column_can_be_passed(self) -> None:
        mask, corridor = LandMask.draw(), Corridor(BISHOP_ROCK, AMBROSE)
        reached = {corridor.axis_row}
        for column in range(corridor.columns - 1):
            legs = corridor.legs(column, mask)
            reached = {int(head) for tail, head in zip(legs.tail, legs.head, strict=True) if int(tail) in reached}
        assert reached == {corridor.axis_row}


class TestFields:
    def test_the_seed_is_the_week(self) -> None:
        place = np.array([44.0, 50.0]), np.array([-40.0, -20.0]), np.array([10.0, 90.0])
        first, again, other = (Ocean.simulate(seed).sample(*place) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first.wind_east_kn, again.wind_east_kn)
        assert not np.array_equal(first.wind_east_kn, other.wind_east_kn)

    @pytest.mark.parametrize("seed", range(5))
    def test_magnitudes_are_those_of_the_north_atlantic(self, seed: int) -> None:
        lat, lon = np.meshgrid(np.arange(34.0, 58.0), np.arange(-75.0, -5.0), indexing="ij")
        for hours in (0.0, 60.0, 120.0):
            weather = Ocean.simulate(seed).sample(lat, lon, hours)
            assert 5.0 < np.median(weather.wind_kn) < 19.0
            assert 25.0 < weather.wind_kn.max() < 50.0
            assert weather.wave_m.min() > 0.3
            assert 4.0 < weather.wave_m.max() < 12.0
            assert 1.0 < weather.current_kn.max() < 2.5

    def test_lows_turn_anticlockwise_and_move(self) -> None:
        low = Vortex(45.0, -40.0, 10.0, 0.0, 40.0, 200.0, 0.0, 1e6)
        lat, lon = travel(45.0, -40.0, np.array([0.0, 90.0, 180.0, 270.0]), 200.0)
        east, north = low.wind(lat, lon, np.zeros(4))
        assert east[0] < -30 < 30 < east[2]  # easterly north of it, westerly south of it
        assert north[3] < -30 < 30 < north[1]
        np.testing.assert_allclose(np.hypot(east, north), 40.0, rtol=0.02)
        assert distance_nm(*low.centre(0.0), *low.centre(24.0)) == pytest.approx(240.0, rel=0.01)


class TestShip:
    @pytest.mark.parametrize(
        ("east", "north", "course", "head", "cross"),
        [
            (0.0, -10.0, 0.0, 26.0, 0.0),  # northerly wind, sailing north: in the face
            (0.0, 10.0, 0.0, 6.0, 0.0),  # from astern
            (0.0, 30.0, 0.0, -14.0, 0.0),  # overtakes the ship
            (10.0, 0.0, 0.0, 16.0, 10.0),  # abeam
            (-10.0, 0.0, 0.0, 16.0, 10.0),  # abeam from the other side: never negative
            (10.0, 0.0, 270.0, 26.0, 0.0),  # westerly wind, sailing west
        ],
    )
    def test_apparent_wind(self, east: float, north: float, course: float, head: float, cross: float) -> None:
        felt = apparent_wind(np.array(east), np.array(north), np.array(course), np.array(16.0))
        np.testing.assert_allclose(felt, (head, cross), atol=1e-9)

    def test_features_keep_the_declared_order(self) -> None:
        weather = Weather(*(np.array([value]) for value in (0.0, -10.0, 2.5, 0.0, 1.5)))
        row = Ship().features(np.array([16.5]), np.array([0.0]), weather, np.array([24.0]))[0]
        named = dict(zip(FEATURES, row.tolist(), strict=True))
        assert named["stw"] == pytest.approx(15.0)  # the current helps with 1.5 kn
        assert named["awind_vcomp_provider"] == pytest.approx(26.5)
        assert named["awind_ucomp_provider"] == pytest.approx(0.0)
        assert named["rcurrent_vcomp"] == pytest.approx(1.5)
        assert named["comb_wind_swell_wave_height"] == pytest.approx(2.5)
        assert named["diff_speed_overground"] == 0.0
        assert named["timeSinceDryDock"] == pytest.approx((420 + 1) * 1440)


class TestEngine:
    def test_fuel_is_least_per_kwh_near_four_fifths_of_the_rating(self) -> None:
        engine, load = Engine(), np.linspace(0.2, 1.0, 801)
        consumption = engine.specific_g_per_kwh(load * engine.mcr_kw)
        assert load[np.argmin(consumption)] == pytest.approx(0.78, abs=0.005)
        assert 170.0 < consumption.min() < 180.0

    def test_fuel_slope_is_its_derivative(self) -> None:
        engine, power = Engine(), np.linspace(5e3, 4e4, 50)
        numeric = (engine.fuel_t_per_h(power + 1.0) - engine.fuel_t_per_h(power - 1.0)) / 2.0
        np.testing.assert_allclose(engine.fuel_slope_t_per_kwh(power), numeric, rtol=1e-6)

    def test_co2_follows_fuel(self) -> None:
        assert Engine().co2_t_per_h(np.array(2e4)) == pytest.approx(Engine().fuel_t_per_h(np.array(2e4)) * CO2_PER_HFO)

    def test_barred_powers(self) -> None:
        engine = Engine(barred_rpm=((52.0, 65.0),))
        ((low, high),) = engine.barred_kw
        assert low == pytest.approx(45_000 / 8)
        mean = np.array([low - 1, low + 1, (low + high) / 2, high + 1, engine.most_kw + 1])
        np.testing.assert_array_equal(engine.forbids(mean), [False, True, True, False, True])
        sure = engine.barred_probability(mean[:4], np.full(4, 1e-3))
        np.testing.assert_allclose(sure, [0, 1, 1, 0], atol=1e-9)
        assert engine.barred_probability(np.array(low), np.array(100.0)) == pytest.approx(0.5)

    def test_overload(self) -> None:
        assert Engine().overload_probability(np.array(45_000.0), np.array(500.0)) == pytest.approx(0.5)


class TestObjectives:
    """Costs from answers [E, S]."""

    power = Power(
        mean=np.array([[14e3, 16e3], [14e3, 16e3], [9.5e3, 9.5e3]]),
        sd=np.full((3, 2), 800.0),
        knowledge_sd=np.full((3, 2), 500.0),
        deferred=np.array([[False, False], [False, True], [False, False]]),
        shifted=np.zeros((3, 2), bool),
    )
    hours = np.array([6.0, 6.0, 6.0])

    def test_least_mean_sees_no_deferral(self) -> None:
        np.testing.assert_allclose(LeastMean(Engine())(self.power, self.hours), [90.0, 90.0, np.inf])

    def test_risk_averse_adds_deviations_and_shuns_deferral(self) -> None:
        cost = RiskAverse(Engine(), deviations=2.0)(self.power, self.hours)
        assert cost[0] == pytest.approx(90.0 + 2 * 0.8 * 6.0)
        assert cost[1] > cost[0] + 10_000
        assert cost[2] == np.inf

    def test_a_mean_outside_the_barred_zone_may_still_be_too_likely_in_it(self) -> None:
        engine = Engine()
        ((_, high),) = engine.barred_kw
        near = Power(np.array([[high + 100.0]]), np.array([[800.0]]), np.array([[500.0]]), *np.zeros((2, 1, 1), bool))
        assert np.isfinite(LeastMean(engine)(near, np.ones(1))).all()
        assert np.isinf(RiskAverse(engine)(near, np.ones(1))).all()


class TestSearch:
    def test_equals_brute_force(self) -> None:
        """On random layered graphs, by trying every path."""
        random = np.random.default_rng(5)
        for _ in range(30):
            sizes = (1, 4, 4, 3)
            stages, costs = [], []
            for tails, heads in pairwise(sizes):
                pairs = np.array(list(product(range(tails), range(heads))) * 2)  # doubled: parallel edges
                pairs = pairs[random.random(len(pairs)) < 0.7] if tails > 1 else pairs
                cost = random.uniform(1, 9, len(pairs))
                cost[random.random(len(cost)) < 0.1] = np.inf
                stages.append(
                    Edges(pairs[:, 0], pairs[:, 1], np.ones(len(pairs)), np.zeros((len(pairs), 10), np.float32))
                )
                costs.append(cost)
            states, least = np.array([0]), np.zeros(1)
            for edges, cost in zip(stages, costs, strict=True):
                states, least, _ = relax(edges, cost, states, least)
            table = [{} for _ in stages]  # type: list[dict[tuple[int, int], float]]
            for stage, edges, cost in zip(table, stages, costs, strict=True):
                for tail, head, value in zip(edges.tail.tolist(), edges.head.tolist(), cost.tolist(), strict=True):
                    stage[tail, head] = min(value, stage.get((tail, head), np.inf))
            brute = np.full(sizes[-1], np.inf)
            for path in product(*(range(size) for size in sizes)):
                steps = zip(table, path[:-1], path[1:], strict=True)
                total = sum(stage.get((tail, head), np.inf) for stage, tail, head in steps)
                brute[path[-1]] = min(brute[path[-1]], total)
            actual = np.full(sizes[-1], np.inf)
            actual[states] = least
            np.testing.assert_allclose(actual, brute)

    def test_a_plan_costs_what_its_legs_cost(self) -> None:
        lattice, oracle, engine = small_lattice(), StandIn(), Engine()
        stages = list(lattice.stages())
        objectives: dict[str, Objective] = {"least": LeastMean(engine), "averse": RiskAverse(engine)}
        for name, objective in objectives.items():
            plan = shortest_paths(stages, lattice.start, oracle, {name: objective})[name]
            total = 0.0
            for edges, tail, head in zip(stages, plan.states[:-1], plan.states[1:], strict=True):
                (index,) = np.flatnonzero((edges.tail == tail) & (edges.head == head))
                power = ask(oracle, edges.rows.reshape(-1, lattice.samples, 10)[index]).reshape(1, -1)
                total += float(objective(power, edges.hours[[index]])[0])
            assert plan.cost == pytest.approx(total, rel=1e-5)

    def test_stages_are_asked_in_one_batch_each(self) -> None:
        lattice, oracle = small_lattice(), StandIn()
        rows: list[int] = []
        shortest_paths(
            lattice.stages(), lattice.start, oracle, {"least": LeastMean(Engine())}, lambda p: rows.append(p.rows)
        )
        assert oracle.batches == rows
        assert len(rows) == lattice.corridor.columns - 1

    def test_speeds_and_times_are_kept(self) -> None:
        lattice = small_lattice()
        last = None
        for edges in lattice.stages():
            stw = edges.rows.reshape(-1, lattice.samples, 10)[:, :, 2].mean(axis=1)
            assert stw.min() >= lattice.ship.slowest_kn - 1e-3
            assert stw.max() <= lattice.ship.fastest_kn + 1e-3
            tail_bin, head_bin = edges.tail % lattice.bins, edges.head % lattice.bins
            np.testing.assert_allclose((head_bin - tail_bin) * lattice.step_h, edges.hours)
            if last is not None:
                assert set(edges.tail.tolist()) <= set(last.tolist())
            last = edges.head
        assert last is not None
        arrival = (last % lattice.bins) * lattice.step_h
        assert lattice.earliest_h <= arrival.min() <= arrival.max() <= lattice.latest_h

    def test_no_route_says_why(self) -> None:
        hurried = small_lattice(earliest_h=5.0, latest_h=6.0)
        with pytest.raises(NoRoute, match="arrives between 5 and 6 h"):
            shortest_paths(hurried.stages(), hurried.start, StandIn(), {"least": LeastMean(Engine())})
        weak = Engine(mcr_kw=1000.0)
        lattice = small_lattice()
        with pytest.raises(NoRoute, match="'least'"):
            shortest_paths(lattice.stages(), lattice.start, StandIn(), {"least": LeastMean(weak)})


class TestVoyage:
    def voyage(self, hours: int = 40, knows_parts: bool = True) -> Voyage:
        end = travel(45.0, -20.0, 270.0, 16.0 * hours)
        track = Track.through(np.array([[45.0, -20.0, 0.0], [float(end[0]), float(end[1]), float(hours)]]))
        return Voyage.evaluate(track, Ocean.simulate(3), Ship(), Engine(), StandIn(knows_parts))

    def test_pieces_make_the_whole(self) -> None:
        voyage = self.voyage()
        assert voyage.duration_h == pytest.approx(40.0)
        assert voyage.distance_nm == pytest.approx(640.0)
        np.testing.assert_allclose(voyage.track.over_ground_kn, 16.0)

    def test_deviation_by_simulation(self) -> None:
        """Draw one error of knowledge for the voyage and one of data for each hour: the fuel spreads as stated."""
        voyage = self.voyage()
        random = np.random.default_rng(1)
        power, hours = voyage.power, voyage.track.hours
        draws = 20_000
        shafts = (
            power.mean
            + random.standard_normal((draws, 1)) * power.knowledge_sd
            + random.standard_normal((draws, len(hours))) * power.data_sd
        )
        fuel = (voyage.engine.fuel_t_per_h(shafts) * hours).sum(axis=1)
        assert fuel.std() == pytest.approx(voyage.fuel_sd_t, rel=0.03)
        assert np.quantile(fuel, 0.95) == pytest.approx(voyage.bunker_t(0.95), rel=2e-3)

    def test_a_model_without_parts_is_read_with_caution(self) -> None:
        knowledge, data = self.voyage(knows_parts=False).fuel_sd_parts_t
        assert data == pytest.approx(0.0, abs=1e-6)
        assert knowledge > self.voyage().fuel_sd_t

    def test_summary_is_numbers(self) -> None:
        assert all(np.isfinite(value) for value in self.voyage().summary().values())


def test_picture(tmp_path: Path) -> None:
    chart = pytest.importorskip("routing.chart")
    lattice, oracle, engine = small_lattice(), StandIn(), Engine()
    objectives: dict[str, Objective] = {"Least mean energy": LeastMean(engine), "Risk-averse": RiskAverse(engine)}
    plans = shortest_paths(lattice.stages(), lattice.start, oracle, objectives)
    voyages = {
        name: Voyage.evaluate(Track.of(plan, lattice), lattice.ocean, lattice.ship, engine, oracle)
        for name, plan in plans.items()
    }
    backdrop = chart.Backdrop.ask(lattice, oracle, duration_h=24.0, speed_kn=15.0, step_deg=1.0)
    assert backdrop.deferred.any()
    chart.draw(tmp_path / "route.png", voyages, lattice, backdrop, "title", "subtitle", "footer")
    assert (tmp_path / "route.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_says_that_no_service_runs(capsys: pytest.CaptureFixture[str]) -> None:
    route = pytest.importorskip("route")
    assert route.main(["--target", "127.0.0.1:9"]) == 1
    assert "No vessel service answers at 127.0.0.1:9" in capsys.readouterr().err
