"""Which predictions are impossible, against the normal distribution itself."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from models.head import Head
from models.plausibility import impossible
from models.predictive import Categorical, Gaussian, Trajectories
from models.tasks.motion.spec import TRAJECTORIES
from models.tasks.vessel.spec import POWER
from models.tasks.weather.spec import TEMPERATURE


def found(head: Head, predictive: object) -> list[bool]:
    outside = impossible(head, predictive)  # type: ignore[arg-type]
    return [] if outside is None else outside.tolist()


def gaussian(mean: list[float], variance: list[float]) -> Gaussian:
    return Gaussian(np.array(mean, np.float32), np.array(variance, np.float32), np.zeros(len(mean), np.float32))


def test_power_is_not_negative() -> None:
    assert found(POWER, gaussian([-1515, -0.1, 0, 20_000], [1, 1, 1e9, 1])) == [True, True, False, False]
    assert found(POWER, gaussian([0, 20_000], [1, 1])) == []
    assert found(replace(POWER, lower=None, upper=5.0), gaussian([6, 5], [1, 1])) == [True, False]


def test_a_temperature_lies_within_what_was_ever_measured() -> None:
    assert found(TEMPERATURE, gaussian([-96, -95, 65, 66, 20], [1] * 5)) == [True, False, False, True, False]


@pytest.mark.parametrize("mean", [-94.9, -50.0, -15.0, 20.0, 64.0])
@pytest.mark.parametrize("deviation", [1.0, 15.0, 25.0, 60.0, 100.0, 130.0, 1e4])
def test_of_a_range_with_two_ends_most_of_the_mass_must_lie_inside(mean: float, deviation: float) -> None:
    normal = stats.norm(mean, deviation)
    inside = normal.cdf(65.0) - normal.cdf(-95.0)
    assert found(TEMPERATURE, gaussian([mean, 0.0], [deviation**2, 1.0])) == ([True, False] if inside < 0.5 else [])


def test_what_is_no_number_is_left_to_its_score() -> None:
    assert found(POWER, gaussian([math.nan], [math.nan])) == []
    assert found(TEMPERATURE, gaussian([math.nan, math.inf], [math.nan, 1.0])) == [False, True]


def test_a_head_without_a_range_has_no_impossible_predictions() -> None:
    free = replace(POWER, lower=None)
    assert found(free, gaussian([-1e30], [1])) == []
    assert found(POWER, Categorical(np.ones((1, 2), np.float32) / 2)) == []


def test_the_plans_of_a_vehicle_stay_where_it_can_drive() -> None:
    plans = np.zeros((3, 2, 5, 2), np.float32)
    plans[1, 0, 4, 1] = 501.0  # the best plan
    plans[2, 1, 4, 0] = -501.0  # the other one
    weights = np.array([[0.6, 0.4]] * 3, np.float32)
    assert found(TRAJECTORIES, Trajectories(plans, weights, np.zeros(3))) == [False, True, False]
    assert found(TRAJECTORIES, Trajectories(plans, weights[:, ::-1], np.zeros(3))) == [False, True, True]
