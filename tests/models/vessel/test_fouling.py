"""Fouling."""

import numpy as np
import pytest

from simulators.vessel.fouling import Fouling
from simulators.vessel.propeller import Propeller
from simulators.vessel.units import MINUTES_PER_YEAR

YEARS = np.linspace(0.0, 5.0, 21)
MINUTES = YEARS * MINUTES_PER_YEAR


def test_a_clean_ship_is_clean() -> None:
    fouling, zero = Fouling(), np.zeros(1)
    assert fouling.friction_increase(zero, 286.0) == pytest.approx(0.0, abs=1e-15)
    assert fouling.blade_changes(zero, Propeller()) == (pytest.approx(0.0), pytest.approx(0.0))
    factors = fouling.interaction_factors(zero, np.array([0.0014]))
    assert [float(factor[0]) for factor in factors] == [1.0, 1.0, 1.0]


def test_townsin_by_hand() -> None:
    fouling = Fouling(hull_initial=125e-6, hull_rate=875e-6)
    year = np.array([MINUTES_PER_YEAR])
    assert fouling.friction_increase(year, 1.0) == pytest.approx(0.044 * (0.1 - 0.05))


def test_everything_gets_worse_with_time() -> None:
    fouling = Fouling()
    assert (np.diff(fouling.friction_increase(MINUTES, 286.0)) > 0.0).all()
    loss, gain = fouling.blade_changes(MINUTES, Propeller())
    assert (np.diff(loss) > 0.0).all()
    assert (np.diff(gain) > 0.0).all()
    wake, deduction, rotative = fouling.interaction_factors(np.array([0.0, 1e-4]), np.array([1.4e-3, 1.4e-3]))
    assert wake[1] > 1.0
    assert deduction[1] < 1.0
    assert rotative[1] > 1.0


def test_sizes_are_those_of_service() -> None:
    """Four years out of dock: a tenth to a quarter more friction, a few per cent more torque."""
    fouling, four = Fouling(), np.array([4.0 * MINUTES_PER_YEAR])
    assert 0.10 < fouling.friction_increase(four, 286.0)[0] / 0.0014 < 0.25
    _, gain = fouling.blade_changes(four, Propeller())
    assert 0.005 < gain[0] / 0.035 < 0.06
