"""From a ledger to judged windows: the same numbers however the ledger was written and read, and no number where units
are missing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.assessment.figures import Errors, Rules, figures
from models.live.window_figures import FIGURES
from tests.services.monitor.conftest import Scene
from tests.services.monitor.simulated import BEGIN, HEAD, Book, Stream, label_asked, simulate
from tests.services.monitor.watching import Watch, same


def test_with_all_labels_the_live_figures_are_those_of_demur_evaluate(scene: Scene) -> None:
    stream = simulate(5000, rate=1.0)
    now = label_asked(scene.book(), stream)
    window = scene.watch(now).window()
    truth = figures(Errors(stream.error, HEAD.acceptable, Rules()), stream.uncertainty)
    assert window.valid, window.reasons
    assert window.units == window.labels == len(stream)
    for name in ("r_auc", "f1_auc", "f1_at_95"):
        assert window.figures[name].estimate == pytest.approx(getattr(truth, name), rel=1e-9)
    assert window.figures["mean_error"].estimate == pytest.approx(truth.error, rel=1e-9)
    for name in ("r_auc_random", "r_auc_optimal", "f1_auc_random", "f1_auc_optimal"):
        assert window.references[name] == pytest.approx(getattr(truth, name), rel=1e-9)
    curve = window.error_curve
    assert curve is not None
    assert curve.band.estimate[-1] == pytest.approx(truth.error)
    assert np.all(curve.optimal <= curve.band.estimate + 1e-12)
    assert window.abstained == pytest.approx(stream.deferred.mean())
    assert np.isfinite(window.drift.psi)
    assert BEGIN < window.end <= now


@pytest.mark.slow
def test_buckets_say_what_all_units_say_to_a_ten_thousandth(quick_scene: Scene) -> None:
    stream = simulate(100_000, 2, rate=1.0)
    now = label_asked(quick_scene.book(), stream)
    window = quick_scene.watch(now, exact_units=0, last_units=1000).window("1d")
    truth = figures(Errors(stream.error, HEAD.acceptable, Rules()), stream.uncertainty)
    assert (window.mode, window.units, window.labels) == ("sketch", len(stream), len(stream))
    for name in ("r_auc", "f1_auc", "f1_at_95"):
        assert window.figures[name].estimate == pytest.approx(getattr(truth, name), rel=1e-4)


def test_buckets_and_units_agree_on_sampled_labels_and_their_intervals(quick_scene: Scene) -> None:
    stream = simulate(50_000, 4, rate=0.05)
    now = label_asked(quick_scene.book(), stream)
    exact = quick_scene.watch(now, exact_units=10**6, last_units=10**6, estimator="ht").window()
    sketch = quick_scene.watch(now, exact_units=0, last_units=1000, estimator="ht").window()
    assert (exact.mode, sketch.mode) == ("exact", "sketch")
    assert exact.valid
    assert sketch.valid
    assert sketch.effective_samples == pytest.approx(exact.effective_samples, rel=0.02)
    for name in FIGURES:
        first, other = exact.figures[name], sketch.figures[name]
        assert other.estimate == pytest.approx(first.estimate, rel=2e-3)
        assert other.high - other.low == pytest.approx(first.high - first.low, rel=0.02)


def test_the_estimates_cover_the_truth_where_the_naive_one_does_not(quick_scene: Scene) -> None:
    stream = simulate(60_000, 5, rate=0.05)
    now = label_asked(quick_scene.book(), stream)
    window = quick_scene.watch(now, exact_units=10**6).window()
    truth = figures(Errors(stream.error, HEAD.acceptable, Rules()), stream.uncertainty)
    naive = figures(Errors(stream.error[stream.asked], HEAD.acceptable, Rules()), stream.uncertainty[stream.asked])
    area = window.figures["r_auc"]
    assert window.valid
    assert area.low < truth.r_auc < area.high
    assert naive.r_auc > 1.5 * truth.r_auc


@pytest.mark.long
def test_a_monitor_that_starts_anew_says_the_same(scene: Scene) -> None:
    """Two writers, flush by flush, with labels between them, corrections and labels before their units."""
    books = [scene.book(77), scene.book(99, deploy=False)]
    stream = simulate(6000, 6, rate=0.2, seconds=3000)
    now = BEGIN
    live = scene.watch(now)
    written: list[tuple[Book, int, Stream]] = []
    for part in range(30):
        book = books[part % 2]
        piece = stream.take(slice(200 * part, 200 * part + 200))
        now = float(piece.time[-1]) + 0.5
        first = book.decide(piece, now)
        written.append((book, first, piece))
        if part >= 4:
            owner, begin, old = written[part - 4]
            labels, errors = (begin + old.asked).tolist(), old.error[old.asked].tolist()
            book.label(labels, [error + 1 for error in errors], now, epoch=owner.epoch)
            book.label(labels[:10], errors[:10], now + 0.1, version=2, epoch=owner.epoch)
        for each_book in books:
            each_book.beat(now + 0.2)
        if part % 3 == 0:
            live.at(now + 0.2)
    live.at(now + 1)
    again = scene.watch(now + 1)
    for window in ("15m", "1h", "1d", "last"):
        same(live.window(window), again.window(window))
    assert again.window("1d").units == 6000


def test_a_correction_takes_back_what_was_counted(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(2000, 7, rate=1.0)
    first = book.decide(stream)
    now = float(stream.time[-1]) + 1
    units = list(range(first, first + len(stream)))
    wrong = (stream.error + 5).tolist()
    book.label(units, wrong, now)
    book.beat(now)
    watch = quick_scene.watch(now, exact_units=0)
    before = watch.window()
    book.label(units[:500], stream.error[:500].tolist(), now + 1, version=2)
    book.label(units[500:700], wrong[500:700], now - 50, version=0)  # older than what counts
    book.beat(now + 2)
    snapshot = watch.at(now + 2)
    truth = np.concatenate([stream.error[:500], stream.error[500:] + 5])
    assert before.figures["mean_error"].estimate == pytest.approx(float(np.mean(wrong)))
    assert watch.window().figures["mean_error"].estimate == pytest.approx(float(truth.mean()), rel=1e-9)
    assert watch.window().labels == 2000
    verdicts = {verdict: count for (_, _, verdict), count in snapshot.labels.items()}
    assert verdicts == {"counted": 2000, "corrected": 500, "superseded": 200}


def test_a_label_that_comes_before_its_unit_counts_when_the_unit_comes(scene: Scene) -> None:
    book, other = scene.book(), scene.book(5, deploy=False)
    stream = simulate(1000, 8, rate=1.0)
    now = float(stream.time[-1]) + 1
    other.label(range(1000), stream.error.tolist(), now, epoch=77, state=False)
    other.beat(now)
    watch = scene.watch(now)
    assert watch.monitor.snapshot.labels == {("toy", "requested", "orphan"): 1000}
    assert book.decide(stream, now) == 0
    other.beat(now + 1)
    book.beat(now + 1)
    watch.at(now + 1)
    assert watch.window().labels == 1000
    same(watch.window(), scene.watch(now + 1).window())


def test_explored_units_are_counted_and_enter_no_window(quick_scene: Scene) -> None:
    book = quick_scene.book()
    now = label_asked(book, simulate(1000, 21, rate=1.0))
    before = quick_scene.watch(now).window()
    book.decide(simulate(500, 22), now, purpose="explore")
    book.beat(now)
    watch = quick_scene.watch(now)
    same(before, watch.window())
    assert watch.monitor.snapshot.streams[0].explored == {"explore": 500}


def test_several_ledgers_are_one_stream(tmp_path: Path) -> None:
    scenes = [Scene(f"sqlite:///{tmp_path / f'{name}.db'}") for name in "abc"]
    try:
        stream = simulate(3000, 23, rate=1.0)
        now = float(stream.time[-1]) + 1
        for place, scene in enumerate(scenes):
            book = scene.book(100 + place)
            mine = stream.take(slice(place, None, 3))
            first = book.decide(mine)
            book.label(range(first, first + len(mine)), mine.error.tolist(), now)
            book.beat(now)
        watch = Watch(*(scene.url for scene in scenes), now=now)
        watch.at()
        truth = figures(Errors(stream.error, HEAD.acceptable, Rules()), stream.uncertainty)
        assert watch.window().units == 3000
        assert watch.window().figures["r_auc"].estimate == pytest.approx(truth.r_auc, rel=1e-9)
        watch.monitor.close()
    finally:
        for scene in scenes:
            scene.close()


def test_models_are_judged_apart(quick_scene: Scene) -> None:
    book = quick_scene.book()
    now = label_asked(book, simulate(2000, 24, rate=1.0))
    book.deploy(now, model="toy-ensemble:next")
    other = simulate(1000, 25, rate=1.0, factor=2.0)
    first = book.decide(other, now, model="toy-ensemble:next")
    book.label(range(first, first + 1000), other.error.tolist(), now)
    book.beat(now)
    watch = quick_scene.watch(now)
    assert watch.window(model="toy-ensemble:abc123").units == 2000
    assert watch.window(model="toy-ensemble:next").units == 1000


def test_two_cycles_without_news_judge_nothing_anew(quick_scene: Scene) -> None:
    now = label_asked(quick_scene.book(), simulate(3000, 32, rate=1.0))
    watch = quick_scene.watch(now)
    before = watch.monitor.snapshot.windows
    after = watch.at(now).windows
    assert all(window is other for window, other in zip(before, after, strict=True))


@pytest.mark.parametrize("exact_units", [100_000, 0])
def test_units_of_infinite_uncertainty_count_as_the_most_uncertain_ones(tmp_path: Path, exact_units: int) -> None:
    """As those whose prediction is impossible: every figure is what it would be with a very large score."""
    stream = simulate(3000, 12, rate=1.0)
    chosen = np.flatnonzero(stream.deferred)[::3]
    figures = []
    for score in (1e30, np.inf):
        scores = stream.uncertainty.copy()
        scores[chosen] = np.float32(score)
        scene = Scene(f"sqlite:///{tmp_path / str(score)}.db")
        try:
            now = label_asked(scene.book(), replace(stream, uncertainty=scores))
            window = scene.watch(now, exact_units=exact_units).window()
            figures.append(
                {name: (figure.estimate, figure.low, figure.high) for name, figure in window.figures.items()}
            )
        finally:
            scene.close()
    assert figures[0]
    large, infinite = (np.array(list(intervals.values())) for intervals in figures)
    assert np.isfinite(large).all()
    np.testing.assert_allclose(infinite, large, rtol=1e-9)
