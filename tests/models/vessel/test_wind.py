"""Wind resistance."""

import numpy as np
import pytest

from simulators.vessel import wind
from simulators.vessel.hull import Hull
from simulators.vessel.wind import Windage

SHAPE = wind.windage(Hull(), np.array([12.0]))


def test_coefficients_of_a_small_ship_by_hand() -> None:
    """ISO 15016:2015, Annex C, worked by hand for round numbers."""
    shape = Windage(100.0, 20.0, 400.0, 1000.0, 300.0, 0.0, 20.0, 8.0)
    ahead = 0.922 - 0.507 * 0.5
    astern = -0.018 + 5.091 * 0.2 - 10.367 * 0.08 + 3.011 * 0.03 + 0.341 * 1.0
    value = wind.coefficient(shape, np.array([0.0, np.pi]))
    assert value == pytest.approx([ahead, -astern], abs=1e-12)
    c_xli = -0.458 - 3.245 * 0.5 + 2.313 * 1.0
    c_alf = 0.585 + 0.906 * 0.3 - 3.239 * 0.2
    s = c = np.sqrt(0.5)
    by_hand = ahead * c + c_xli * (s - 0.5 * s * c**2) * s * c + c_alf * s * c**3
    assert wind.coefficient(shape, np.array([np.pi / 4])) == pytest.approx(by_hand, abs=1e-12)


def test_beam_wind_is_the_mean_of_ten_degrees_to_either_side() -> None:
    degrees = np.deg2rad(np.array([80.0, 90.0, 100.0]))
    value = wind.coefficient(SHAPE, degrees)
    assert value[1] == pytest.approx(0.5 * (value[0] + value[2]))


def test_coefficient_is_symmetric_and_continuous() -> None:
    angle = np.linspace(0.0, np.pi, 3601)
    value = wind.coefficient(SHAPE, angle)
    np.testing.assert_allclose(wind.coefficient(SHAPE, 2.0 * np.pi - angle), value, atol=1e-12)
    np.testing.assert_allclose(wind.coefficient(SHAPE, -angle), value, atol=1e-12)
    assert np.abs(np.diff(value)).max() < 0.01
    assert 0.3 < value[0] < 1.2
    assert -1.2 < value[-1] < -0.3


def test_still_air_adds_nothing() -> None:
    speed = np.array([3.0, 8.0, 12.0])
    force = wind.resistance(SHAPE, speed, np.zeros(3), speed)
    np.testing.assert_allclose(force, 0.0, atol=1e-9)


def test_head_wind_grows_and_following_wind_pushes() -> None:
    speed, true = np.full(9, 9.0), np.linspace(0.0, 20.0, 9)
    assert (np.diff(wind.resistance(SHAPE, speed + true, np.zeros(9), speed)) > 0.0).all()
    assert (wind.resistance(SHAPE, speed - true, np.zeros(9), speed)[1:] < 0.0).all()


def test_a_deeper_ship_shows_less_to_the_wind() -> None:
    shape = wind.windage(Hull(), np.array([8.0, 12.0, 15.0]))
    assert (np.diff(np.asarray(shape.frontal)) < 0.0).all()
    assert (np.diff(np.asarray(shape.lateral)) < 0.0).all()
