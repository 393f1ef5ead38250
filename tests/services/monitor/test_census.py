"""Labels that nobody asked for: those of a declared population are judged by, others are only counted."""

import numpy as np
import pytest

from models.assessment.figures import Errors, Rules, figures
from tests.services.monitor.conftest import Scene
from tests.services.monitor.simulated import HEAD, label_asked, simulate
from tests.services.monitor.watching import same, words


def test_volunteered_labels_are_counted_and_never_judged_by(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(3000, 9, rate=0.2)
    now = label_asked(book, stream)
    before = quick_scene.watch(now).window()
    book.label(stream.asked.tolist(), [1e6] * len(stream.asked), now + 1, source="volunteered")
    book.beat(now + 1)
    watch = quick_scene.watch(now + 1)
    same(before, watch.window())
    assert watch.monitor.snapshot.labels["toy", "volunteered", "counted"] == len(stream.asked)


def test_a_declared_population_is_judged_apart(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(3000, 10, rate=1.0)
    first = book.decide(stream)
    now = float(stream.time[-1]) + 1
    book.label(range(first, first + 3000), stream.error.tolist(), now, source="census")
    book.beat(now)
    watch = quick_scene.watch(now)
    assert watch.window(source="census").valid
    assert watch.window(source="census").labels == 3000
    assert words(watch.window(source="requested")) >= {"no_labels"}


@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_a_census_is_judged_by_all_units_however_few_are_asked_about(scene: Scene, rate: float) -> None:
    """Without audits nothing can be said from requests; the census says all, exactly and from buckets."""
    book = scene.book()
    stream = simulate(6000, 10, rate=rate)
    first = book.decide(stream, census=True)
    now = float(stream.time[-1]) + 1
    book.label(range(first, first + 6000), stream.error.tolist(), now, source="census")
    book.beat(now)
    truth = figures(Errors(stream.error, HEAD.acceptable, Rules()), stream.uncertainty)
    for exact_units, mode, tolerance in ((10_000, "exact", 1e-9), (1000, "sketch", 1e-3)):
        watch = scene.watch(now, exact_units=exact_units)
        window = watch.window("1d", source="census")
        assert (window.mode, window.valid, window.labels) == (mode, True, 6000), window.reasons
        assert window.figures["r_auc"].estimate == pytest.approx(truth.r_auc, rel=tolerance)
        assert window.figures["mean_error"].estimate == pytest.approx(truth.error, rel=tolerance)
        requested = watch.window("1d", source="requested")
        assert words(requested) >= ({"no_labels"} if rate else {"no_labels", "positivity"})
        assert requested.labels == 0
        states = watch.monitor.snapshot.streams[0].requests
        assert sum(states.values()) == len(stream.asked)


def test_a_census_with_a_part_missing_is_not_valid(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(6000, 10, rate=0.05)
    first = book.decide(stream, census=True)
    now = float(stream.time[-1]) + 1
    there = np.flatnonzero(np.arange(6000) % 10 != 0)
    times = (stream.time[there] + 1).tolist()
    book.label((first + there).tolist(), stream.error[there].tolist(), now, source="census", received=times)
    book.beat(now + 86_000)
    assert words(quick_scene.watch(now + 86_000).window("1d", source="census")) == {"incomplete"}


def test_a_requested_label_that_nobody_asked_for_is_an_orphan(quick_scene: Scene) -> None:
    book = quick_scene.book()
    stream = simulate(3000, 9, rate=0.2)
    first = book.decide(stream, census=True)
    now = float(stream.time[-1]) + 1
    requested = stream.asked
    unasked = np.setdiff1d(np.arange(3000), requested)
    times = (stream.time[requested] + 1).tolist()
    book.label((first + requested).tolist(), stream.error[requested].tolist(), now, received=times)
    book.beat(now)
    before = quick_scene.watch(now).window()
    book.label((first + unasked).tolist(), [1e6] * len(unasked), now + 1, state=False)
    book.beat(now + 1)
    watch = quick_scene.watch(now + 1)
    same(before, watch.window())
    assert watch.monitor.snapshot.labels["toy", "requested", "orphan"] == len(unasked)
