"""Labels that come late, or never: corrected or invalid, in both modes."""

import numpy as np
import pytest

from models.assessment.figures import Errors, Rules, figures
from models.live.window_evaluator import WindowResult
from tests.services.monitor.conftest import Scene
from tests.services.monitor.simulated import BEGIN, HEAD, Book, Stream, simulate
from tests.services.monitor.watching import words


def truth(stream: Stream) -> float:
    return figures(Errors(stream.error, HEAD.acceptable, Rules()), stream.uncertainty).r_auc


def slowly(book: Book, stream: Stream, now: float, seed: int) -> None:
    """Labels that take half an hour on average, of the tenth that is most uncertain two hours."""
    source = np.random.default_rng(seed)
    first, requested = book.decide(stream, now), stream.asked
    slow = stream.uncertainty[requested] > np.quantile(stream.uncertainty, 0.9)
    came = stream.time[requested] + source.exponential(np.where(slow, 7200.0, 1800.0))
    there = came < now
    units, errors = (first + requested)[there], stream.error[requested][there]
    book.label(units.tolist(), errors.tolist(), now, received=came[there].tolist())
    book.beat(now)


@pytest.mark.long
@pytest.mark.parametrize(
    "exact_units", [pytest.param(10**6, id="exact"), pytest.param(0, id="buckets", marks=pytest.mark.slow)]
)
def test_slow_labels_of_uncertain_units_leave_no_bias(
    tmp_path_factory: pytest.TempPathFactory, exact_units: int
) -> None:
    """What is there by now alone is off by a quarter. How small the bias is, tests/statistical proves.

    By Horvitz-Thompson: predictions of AIPW would hide much of what a missing correction does.
    """
    ratios, naive = [], []
    for seed in range(6):
        scene = Scene(f"sqlite:///{tmp_path_factory.mktemp('slow') / 'ledger.db'}")
        try:
            book, now = scene.book(), BEGIN + 7200
            stream = simulate(30_000, seed, rate=0.2, seconds=7200)
            slowly(book, stream, now, seed)
            watch = scene.watch(now, exact_units=exact_units, last_units=1000, text="2h", estimator="ht")
            window = watch.window("2h")
            assert window.mode == ("exact" if exact_units else "sketch")
            assert 0.5 < window.mature <= 1
            old = stream.take(stream.time < now - (1 - window.mature) * 7200)
            ratios.append(window.figures["r_auc"].estimate / truth(old))
            scene_units = watch.monitor.streams[window.key].requests
            labelled = np.isfinite(scene_units.error["requested"])
            weight = 1 / scene_units.units.propensity[labelled]
            mean = float(weight @ scene_units.error["requested"][labelled]) / len(stream)
            naive.append(mean / float(stream.error.mean()))
        finally:
            scene.close()
    assert abs(np.mean(ratios) - 1) < 0.05
    assert np.mean(naive) < 0.85


def reviewed(
    scene: Scene, *, worst: bool, second: float | None, exact_units: int, seed: int
) -> tuple[WindowResult, float]:
    """A third of the deferred units is skipped, the worst or any; perhaps a part is drawn again and labelled."""
    book, source = scene.book(), np.random.default_rng(seed)
    stream = simulate(20_000, seed, rate=0.2)
    first, now = book.decide(stream), float(stream.time[-1]) + 1
    deferred = np.flatnonzero(stream.deferred)
    rank = np.argsort(-stream.error[deferred]) if worst else source.permutation(len(deferred))
    skipped = deferred[rank[: len(deferred) // 3]]
    done = np.setdiff1d(stream.asked, skipped)
    book.label((first + done).tolist(), stream.error[done].tolist(), now, received=(stream.time[done] + 1).tolist())
    book.move((first + skipped).tolist(), "skipped", now)
    if second is not None:
        again = skipped[source.random(len(skipped)) < second]
        left = np.setdiff1d(skipped, again)
        book.move((first + again).tolist(), "requested", now, second)
        book.move((first + left).tolist(), "skipped", now, second)
        times = (stream.time[again] + 2).tolist()
        book.label((first + again).tolist(), stream.error[again].tolist(), now, received=times)
    book.beat(now)
    return scene.watch(now, exact_units=exact_units).window("1h"), truth(stream)


@pytest.mark.long
@pytest.mark.parametrize("exact_units", [10**6, 0], ids=["exact", "buckets"])
@pytest.mark.parametrize("worst", [True, False])
def test_a_third_of_the_deferred_never_reviewed_is_never_silently_wrong(
    quick_scene: Scene, exact_units: int, worst: bool
) -> None:
    window, _ = reviewed(quick_scene, worst=worst, second=None, exact_units=exact_units, seed=1)
    assert "incomplete" in words(window)
    assert window.completion < 0.9


@pytest.mark.parametrize("exact_units", [10**6, 0], ids=["exact", "buckets"])
def test_a_random_part_of_the_skipped_that_is_labelled_after_all_makes_it_right(
    quick_scene: Scene, exact_units: int
) -> None:
    window, right = reviewed(quick_scene, worst=True, second=0.4, exact_units=exact_units, seed=2)
    assert window.valid, window.reasons
    area = window.figures["r_auc"]
    assert area.low < right < area.high
    assert area.high - area.low < 0.4 * right


def test_units_too_young_for_labels_are_said(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(3000, 3, rate=0.5, seconds=600)
    book.decide(stream)
    now = float(stream.time[-1]) + 1
    book.beat(now)
    watch = quick_scene.watch(now)
    assert words(watch.window()) >= {"no_labels"}
    assert watch.window().units == 3000
    assert watch.window().abstained == pytest.approx(float(stream.deferred.mean()))
