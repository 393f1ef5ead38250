"""What another window of the same stream may be off by is no alarm, however many labels there are."""

import numpy as np
import pytest

from models.assessment.figures import Errors, Rules, figures
from models.estimation.edges import Edges
from models.estimation.figures import live_figures
from models.estimation.sketch import Sketch
from models.live.baseline import Baseline
from models.live.time_buckets import DAY
from tests.services.monitor.conftest import Scene
from tests.services.monitor.simulated import HEAD, label_asked, simulate

RUNS = 200
EDGES = Edges.of(simulate(20_000, 0).uncertainty)


def sketch(seed: int, rate: float, factor: float = 1.0, units: int = 4000) -> Sketch:
    """A window of a stream, with all the labels that were asked for."""
    stream = simulate(units, seed, rate=rate, factor=factor)
    result, labelled = Sketch(EDGES, HEAD.acceptable), stream.asked
    result.add_units(stream.uncertainty, ~stream.deferred)
    labels = stream.take(labelled)
    result.add_labels(labels.uncertainty, ~labels.deferred, labels.error, labels.propensity)
    return result


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_a_window_without_a_shift_is_rarely_above_its_baseline(rate: float) -> None:
    alarms, plain = 0, 0
    for seed in range(RUNS):
        day, window = (sketch(2 * seed + offset, rate).view("aipw", Rules()) for offset in (1, 2))
        low = live_figures(window).r_auc.low
        alarms += low > Baseline.from_view(day).interval(4000).high
        plain += low > live_figures(day).r_auc.high
    assert alarms <= 0.025 * RUNS + 3 * np.sqrt(0.025 * 0.975 * RUNS)
    if rate == 1.0:
        assert plain > 0.3 * RUNS, "their own intervals have no width"


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_errors_three_times_as_large_are_above_it(rate: float) -> None:
    alarms = 0
    for seed in range(20):
        normal = Baseline.from_view(sketch(seed, rate).view("aipw", Rules()))
        low = live_figures(sketch(100 + seed, rate, factor=3.0).view("aipw", Rules())).r_auc.low
        alarms += low > normal.interval(4000).high
    assert alarms >= 18


def test_a_baseline_is_wider_for_smaller_windows() -> None:
    normal = Baseline.from_view(sketch(1, 1.0).view("aipw", Rules()))
    few, many = normal.interval(100), normal.interval(100_000)
    assert few.low < many.low < normal.estimate < many.high < few.high
    assert many.high - many.low > 0


def test_the_baseline_is_the_first_day_unless_the_artefact_has_one(quick_scene: Scene) -> None:
    book = quick_scene.book()
    now = label_asked(book, simulate(5000, 29, rate=0.5))
    watch = quick_scene.watch(now)
    first = watch.window("1h").baseline
    assert first is not None
    assert first.origin == "first_day"
    later = label_asked(book, simulate(5000, 30, rate=0.5, start=now, factor=3.0, seconds=600))
    watch.at(later)
    second = watch.window("15m").baseline
    assert second is not None
    assert first.low < second.high < watch.window("15m").figures["r_auc"].low
    assert quick_scene.watch(later).window("15m").baseline == second, "whoever starts anew says the same"
    book.deploy(later, model="other:1", quality={"r_auc": {"low": 1.0, "high": 2.0}})
    other = simulate(2000, 31, rate=1.0, start=now)
    first_unit = book.decide(other, later, model="other:1")
    book.label(range(first_unit, first_unit + 2000), other.error.tolist(), later)
    book.beat(later)
    watch.at(later)
    assert watch.window("1h", model="other:1").baseline == (1.0, 2.0, "artefact")


@pytest.mark.long
def test_the_baseline_stays_that_of_the_first_day_and_begins_after_a_gap(quick_scene: Scene) -> None:
    book = quick_scene.book()
    now = label_asked(book, simulate(1000, 29, rate=0.5, seconds=600))
    book.lose(now - 1, now, 3)
    good = simulate(16_000, 30, rate=0.5, start=now + 600, seconds=2 * DAY)
    now = label_asked(book, good)
    now = label_asked(book, simulate(8000, 31, rate=0.5, start=now + 600, factor=3.0, seconds=4 * DAY))
    watch = quick_scene.watch(now)
    baseline = watch.window("1d").baseline
    assert baseline is not None
    truth = figures(Errors(good.error, HEAD.acceptable, Rules()), good.uncertainty)
    assert baseline.low < truth.r_auc < baseline.high < watch.window("1d").figures["r_auc"].low
    assert watch.window("7d").baseline != baseline, "it is for windows of so many units"
