"""What another window of the same stream may be off by is no alarm, however many labels there are."""

from __future__ import annotations

import numpy as np
import pytest

from models.assessment.figures import Rules
from models.estimation.edges import Edges
from models.estimation.figures import live_figures
from models.estimation.sketch import Sketch
from services.monitor.baseline import Normal
from tests.services.monitor.simulated import HEAD, simulate

RUNS = 200
EDGES = Edges.of(simulate(20_000, 0).uncertainty)


def sketch(seed: int, rate: float, factor: float = 1.0, units: int = 4000) -> Sketch:
    """A window of a stream, with all the labels that were asked for."""
    stream = simulate(units, seed, rate=rate, factor=factor)
    found, asked = Sketch(EDGES, HEAD.acceptable), stream.asked
    found.add_units(stream.uncertainty, ~stream.deferred)
    one = stream.take(asked)
    found.add_labels(one.uncertainty, ~one.deferred, one.error, one.propensity)
    return found


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_a_window_without_a_shift_is_rarely_above_its_baseline(rate: float) -> None:
    alarms, plain = 0, 0
    for seed in range(RUNS):
        day, window = (sketch(2 * seed + one, rate).view("aipw", Rules()) for one in (1, 2))
        low = live_figures(window).r_auc.low
        alarms += low > Normal.of(day).baseline(4000).high
        plain += low > live_figures(day).r_auc.high
    assert alarms <= 0.025 * RUNS + 3 * np.sqrt(0.025 * 0.975 * RUNS)
    if rate == 1.0:
        assert plain > 0.3 * RUNS, "their own intervals have no width"


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_errors_three_times_as_large_are_above_it(rate: float) -> None:
    found = 0
    for seed in range(20):
        normal = Normal.of(sketch(seed, rate).view("aipw", Rules()))
        low = live_figures(sketch(100 + seed, rate, factor=3.0).view("aipw", Rules())).r_auc.low
        found += low > normal.baseline(4000).high
    assert found >= 18


def test_a_baseline_is_wider_for_smaller_windows() -> None:
    normal = Normal.of(sketch(1, 1.0).view("aipw", Rules()))
    few, many = normal.baseline(100), normal.baseline(100_000)
    assert few.low < many.low < normal.estimate < many.high < few.high
    assert many.high - many.low > 0
