"""Labels that were given in sight of the prediction: they lean towards it, so blind ones count first."""

import numpy as np
import pytest

from tests.services.monitor.conftest import Scene
from tests.services.monitor.simulated import Book, Stream, simulate
from tests.services.monitor.watching import same


def _decided(scene: Scene) -> tuple[Book, Stream, int, float]:
    book = scene.book()
    stream = simulate(3000, 11, rate=0.2)
    return book, stream, book.decide(stream), float(stream.time[-1]) + 1


def _label(book: Book, stream: Stream, first: int, chosen: np.ndarray, now: float, **options: object) -> None:
    book.label((first + chosen).tolist(), stream.error[chosen].tolist(), now, **options)  # type: ignore[arg-type]
    book.beat(now)


@pytest.mark.parametrize("together", [True, False])
def test_a_correction_in_sight_of_the_prediction_changes_no_figure(quick_scene: Scene, together: bool) -> None:
    book, stream, first, now = _decided(quick_scene)
    _label(book, stream, first, stream.asked, now)
    blind = quick_scene.watch(now).window()
    watch = quick_scene.watch(now)
    book.label((first + stream.asked).tolist(), [0.0] * len(stream.asked), now, version=2, assisted=True, state=False)
    book.beat(now)
    if together:  # read at once, not the blind ones first
        watch = quick_scene.watch(now)
    watch.at()
    same(blind, watch.window())
    verdicts = watch.monitor.snapshot.labels
    assert verdicts["toy", "requested", "assisted"] == verdicts["toy", "requested", "counted"] == len(stream.asked)


def test_a_blind_label_replaces_an_assisted_one_that_came_first(quick_scene: Scene) -> None:
    book, stream, first, now = _decided(quick_scene)
    book.label((first + stream.asked).tolist(), [0.0] * len(stream.asked), now, version=5, assisted=True)
    book.beat(now)
    watch = quick_scene.watch(now)
    assert watch.window().figures["mean_error"].estimate == 0
    _label(book, stream, first, stream.asked, now)
    watch.at()
    other = quick_scene.watch(now)
    same(other.window(), watch.window())
    assert watch.window().figures["mean_error"].estimate > 0
    assert watch.monitor.snapshot.labels["toy", "requested", "corrected"] == len(stream.asked)


def test_labels_of_drafts_fill_are_omitted_or_compared(quick_scene: Scene) -> None:
    """Half of the deferred units were labelled from a draft, whose label says that the prediction was right."""
    book, stream, first, now = _decided(quick_scene)
    deferred = np.flatnonzero(stream.deferred)
    drafts, rest = deferred[::2], np.setdiff1d(stream.asked, deferred[::2])
    _label(book, stream, first, rest, now)
    book.label((first + drafts).tolist(), [0.0] * len(drafts), now, assisted=True)
    book.beat(now)
    watches = {name: quick_scene.watch(now, assisted=name) for name in ("fill", "omit", "compare")}
    truth = float(stream.error.mean())
    filled, omitted = watches["fill"].window(), watches["omit"].window()
    assert filled.labels == len(stream.asked)
    assert omitted.labels == len(rest)
    assert omitted.figures["mean_error"].low < truth < omitted.figures["mean_error"].high
    assert filled.figures["mean_error"].estimate < 0.9 * omitted.figures["mean_error"].estimate
    same(filled, watches["compare"].window())
    same(omitted, watches["compare"].window(source="blind"))
    assert {window.source for window in watches["fill"].monitor.snapshot.windows} == {"requested"}
    assert watches["omit"].monitor.snapshot.labels["toy", "requested", "assisted"] == len(drafts)
