"""The example boat for WeatherRoutingTool, against the vessel service itself, and the router that shows it."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import demur
from routing.geodesy import distance_nm
from tests.vessel_service import vessel_service

units = pytest.importorskip("astropy.units")
pytest.importorskip("xarray")

from weather_routing_tool import __main__ as example  # noqa: E402
from weather_routing_tool.boat import DemurBoat  # noqa: E402
from weather_routing_tool.field import DEPARTURE, storm_field  # noqa: E402
from weather_routing_tool.grid import Costs, Grid, cheapest  # noqa: E402

CALM, STORM = (50.5, -40.0), (45.5, -28.0)


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with vessel_service() as address:
        yield address


@pytest.fixture(scope="module")
def client(target: str) -> Iterator[demur.Client]:
    with demur.connect(target) as opened:
        yield opened


@pytest.fixture
def boat(client: demur.Client) -> DemurBoat:
    return DemurBoat(client.vessel, storm_field(), example.SPEED, example.DRY_DOCKED)


def told(boat: DemurBoat, courses: Any = (90.0, 90.0), **more: Any) -> Any:
    lats, lons = np.array([CALM, STORM]).T
    return boat.get_ship_parameters(courses, lats, lons, np.full(2, DEPARTURE + np.timedelta64(24, "h")), **more)


class TestBoat:
    def test_what_is_deferred_costs_infinite_fuel(self, boat: DemurBoat) -> None:
        params = told(boat)
        assert params.message.tolist() == ["", "deferred"]
        np.testing.assert_array_equal(np.isinf(params.get_fuel_rate().value), [False, True])
        assert params.get_fuel_rate().unit == "kg / s"
        assert 0.1 < params.get_fuel_rate().value[0] < 3.0  # 9 to 260 t a day
        assert params.wave_height[1].to_value("m") > 5.0
        assert (params.rpm.value == -99).all()

    def test_power_is_that_of_the_service_for_the_same_row_in_its_own_units(
        self, boat: DemurBoat, client: demur.Client
    ) -> None:
        """By hand, from the point of the field in the calm: north-west of the storm's tail."""
        met = storm_field().sel(latitude=CALM[0], longitude=CALM[1], time=DEPARTURE + np.timedelta64(24, "h"))
        names = ("u-component_of_wind_height_above_ground", "v-component_of_wind_height_above_ground")
        wind_east, wind_north = (float(met[name]) * 3600 / 1852 for name in names)
        east, north = (float(met[name]) * 3600 / 1852 for name in ("utotal", "vtotal"))
        knots = 8.0 * 3600 / 1852
        minutes = (DEPARTURE + np.timedelta64(24, "h") - example.DRY_DOCKED) / np.timedelta64(1, "m")
        row = {
            "draft_aft_telegram": boat.ship.draft_aft_m,
            "draft_fore_telegram": boat.ship.draft_fore_m,
            "stw": knots - east,  # sailing east
            "diff_speed_overground": 0.0,
            "awind_vcomp_provider": knots - wind_east,
            "awind_ucomp_provider": abs(wind_north),
            "rcurrent_vcomp": east,
            "rcurrent_ucomp": -north,  # to starboard
            "comb_wind_swell_wave_height": float(met["VHM0"]),
            "timeSinceDryDock": minutes,
        }
        answer = client.vessel.predict(row, purpose="explore")
        expected = float(answer.mean[0]) + 2.0 * float(np.sqrt(answer.total[0]))
        assert told(boat).get_power()[0].to_value("kW") == pytest.approx(expected, rel=1e-5)

    def test_courses_and_speeds_come_as_quantities_or_numbers(self, boat: DemurBoat) -> None:
        plain = told(boat, speed=7.0).get_power()[0].value
        assert told(boat, np.array([90.0, 90.0]) * units.deg, speed=25.2 * units.km / units.h).get_power()[
            0
        ].value == pytest.approx(plain, rel=1e-5)
        boat.set_boat_speed(7.0 * units.m / units.s)
        assert told(boat, np.radians([90.0, 90.0]) * units.rad).get_power()[0].value == pytest.approx(plain, rel=1e-5)
        assert boat.get_boat_speed() == 7.0 * units.m / units.s
        assert plain < told(boat, speed=9.0).get_power()[0].value

    def test_the_adapter_is_short(self) -> None:
        source = Path(example.__file__).with_name("boat.py").read_text()
        assert len(source.splitlines()) <= 80


class TestGrid:
    grid = Grid(np.array([40.0, 40.5, 41.0]), np.array([-30.0, -29.5, -29.0, -28.5]))

    def test_legs_join_neighbours_both_ways(self) -> None:
        tail, head = self.grid.legs
        pairs = set(zip(tail.tolist(), head.tolist(), strict=True))
        assert len(pairs) == len(tail)
        assert {(b, a) for a, b in pairs} == pairs
        rows, columns = (
            np.abs(np.subtract(*part)) for part in zip(np.divmod(tail, 4), np.divmod(head, 4), strict=True)
        )
        assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == {(0, 1), (1, 0), (1, 1), (1, 2), (2, 1)}

    def test_the_way_is_the_cheapest_that_is_finite(self) -> None:
        tail, head = self.grid.legs
        length = distance_nm(*self.grid.points(tail), *self.grid.points(head))
        start, end = self.grid.nearest(40.5, -30.0), self.grid.nearest(40.5, -28.5)
        straight = cheapest(self.grid, Costs(length, length / 15.0), start, end)
        assert straight is not None
        assert set(straight.lat.tolist()) == {40.5}
        assert straight.hours == pytest.approx(straight.fuel_t / 15.0)
        wall = np.where(np.isin(head, [5, 6]), np.inf, length)
        around = cheapest(self.grid, Costs(wall, length), start, end)
        assert around is not None
        assert around.fuel_t > straight.fuel_t
        assert not {5, 6} & {self.grid.nearest(*point) for point in zip(around.lat, around.lon, strict=True)}
        assert cheapest(self.grid, Costs(np.full(len(tail), np.inf), length), start, end) is None


def test_the_route_keeps_out_of_what_the_service_defers(client: demur.Client, boat: DemurBoat, tmp_path: Path) -> None:
    comparison = example.compare(client.vessel)
    assert 0 < comparison.deferred_legs < comparison.legs
    assert comparison.deferred_h[example.MEAN] > 5.0
    assert comparison.deferred_h[example.CERTAIN] == 0.0
    assert comparison.routes[example.CERTAIN].hours > comparison.routes[example.MEAN].hours
    for route in comparison.routes.values():
        assert (route.lat[0], route.lon[0]) == example.PORTS["West"]
        assert (route.lat[-1], route.lon[-1]) == example.PORTS["East"]
        length = sum(
            float(distance_nm(*here, *there)) for here, there in pairwise(zip(route.lat, route.lon, strict=True))
        )
        assert route.hours == pytest.approx(length * 1852 / 8.0 / 3600, rel=1e-9)
    pytest.importorskip("matplotlib")
    example.picture(client.vessel, comparison, tmp_path / "route.png")
    assert (tmp_path / "route.png").read_bytes().startswith(b"\x89PNG")


def test_the_command(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert example.main(["--target", target]) == 0
    assert "deferred avoided" in capsys.readouterr().out
    assert example.main(["--target", "127.0.0.1:9"]) == 1
    assert "no service answers at 127.0.0.1:9" in capsys.readouterr().err
