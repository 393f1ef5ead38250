"""Single drivers: how they follow, stop and take the weather."""

import numpy as np
import pytest

from simulators.motion import bicycle, drivers
from simulators.motion.bicycle import Bodies
from simulators.motion.cities import CITIES

DT = 0.1
CITY = CITIES["Moscow"]


def many(weather: int = drivers.NONE, count: int = 200) -> drivers.Drivers:
    return drivers.draw(np.random.default_rng(3), CITY, count, weather)


def test_a_follower_keeps_about_its_time_gap() -> None:
    who = many()
    speed, gap = np.full(len(who), 8.0), np.full(len(who), 60.0)
    for _ in range(1500):
        change = drivers.wish(who, speed, np.full(len(who), 30.0)) - drivers.follow(
            who, speed, gap, np.full(len(who), 10.0)
        )
        after = np.maximum(speed + DT * change, 0)
        gap += DT * (10.0 - (speed + after) / 2)
        speed = after
    np.testing.assert_allclose(speed, 10.0, atol=0.05)
    np.testing.assert_allclose(gap, who.distance + 10 * who.gap, rtol=0.05)


def test_who_sees_a_point_in_time_stops_before_it_without_hard_braking() -> None:
    who = many()
    speed, left = np.full(len(who), 13.0), np.full(len(who), 90.0)
    hardest = np.zeros(len(who))
    for _ in range(600):
        change = drivers.wish(who, speed, np.full(len(who), 13.0)) - drivers.halt(who, speed, left)
        hardest = np.minimum(hardest, change)
        after = np.maximum(speed + DT * change, 0)
        left -= DT * (speed + after) / 2
        speed = after
    assert (left > 0).all()
    assert (left < 4).all()
    assert hardest.min() > -3.5


def test_snow_makes_slow_distant_and_weak() -> None:
    dry, snow = many(drivers.NONE), many(drivers.SNOW)
    assert (snow.eagerness < dry.eagerness).all()
    assert (snow.gap > dry.gap).all()
    assert (snow.cornering < dry.cornering).all()
    assert snow.hardest < 0.5 * dry.hardest
    rain = many(drivers.RAIN)
    assert snow.hardest < rain.hardest < dry.hardest


def test_cities_have_their_own_drivers() -> None:
    several = {name: drivers.draw(np.random.default_rng(0), city, 500, drivers.NONE) for name, city in CITIES.items()}
    assert several["TelAviv"].gap.mean() < 0.6 * several["AnnArbor"].gap.mean()
    assert several["Innopolis"].acceleration.mean() < 0.75 * several["TelAviv"].acceleration.mean()
    assert several["Skolkovo"].length.mean() > several["TelAviv"].length.mean()  # more trucks


def test_shortened_vehicles_are_cars() -> None:
    who = many()
    long = who.length > 6
    assert long.any()
    who.shorten(long)
    assert who.length.max() < 5.5
    np.testing.assert_allclose(who.wheelbase[long], 0.6 * who.length[long])


def bodies(count: int, speed: float) -> Bodies:
    return Bodies(*(np.zeros(count) for _ in range(3)), np.full(count, speed), np.zeros(count), np.full(count, 2.7))


def test_a_bicycle_with_turned_wheels_goes_round_a_circle() -> None:
    car = bodies(1, 5.0)
    car.steering[:] = 0.3
    radius = 2.7 / np.tan(0.3)
    places = []
    for _ in range(200):
        bicycle.advance(car, np.zeros(1), DT)
        places.append((car.x[0], car.y[0]))
    away = np.hypot(*(np.array(places) - [0, radius]).T)
    np.testing.assert_allclose(away, radius, rtol=2e-3)


def test_braking_ends_at_rest_and_never_goes_backward() -> None:
    car = bodies(3, 4.0)
    for _ in range(40):
        bicycle.advance(car, np.full(3, -5.0), DT)
    assert (car.speed == 0).all()
    assert car.x == pytest.approx(np.full(3, 4.0**2 / 10), abs=0.25)


def test_steering_is_limited_in_angle_and_rate() -> None:
    car = bodies(1, 3.0)
    before = 0.0
    for _ in range(30):
        bicycle.steer(car, np.array([[0.2, 3.0]]), DT)
        assert abs(car.steering[0] - before) <= 0.09 + 1e-9
        before = float(car.steering[0])
    assert before == pytest.approx(bicycle.LARGEST_STEERING)
