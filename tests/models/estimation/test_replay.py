"""Labels put to their events: the same state whatever the order, however often they were sent."""

from dataclasses import fields, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from models.estimation.replay import Arrivals, Counts, Stream, replay

STREAM = Stream(
    time=np.array([3.0, 1.0, 2.0, 4.0]),
    uncertainty=np.array([0.3, 0.1, 0.2, 0.4]),
    answered=np.array([True, True, False, False]),
    propensity=np.array([0.5, 0.5, 1.0, 1.0]),
)


def arrivals(*rows: tuple[int, float, float, float]) -> Arrivals:
    """Rows of place, time, error, version."""
    table = np.array(rows, float).reshape(-1, 4)
    return Arrivals(table[:, 0].astype(np.intp), table[:, 1], table[:, 2], table[:, 3], np.zeros(len(table), bool))


def test_events_come_in_the_order_of_their_time() -> None:
    replayed = replay(STREAM, arrivals((2, 5, 7.0, 0)))
    np.testing.assert_array_equal(replayed.units, [1, 2, 0, 3])
    np.testing.assert_array_equal(replayed.window.error, [np.nan, 7, np.nan, np.nan])
    np.testing.assert_array_equal(replayed.window.age, [4, 3, 2, 1])
    np.testing.assert_array_equal(replayed.window.delay, [np.nan, 3, np.nan, np.nan])
    assert replayed.at == 5


def test_what_is_later_than_the_moment_is_not_known() -> None:
    replayed = replay(STREAM, arrivals((1, 1.5, 1.0, 0), (1, 3.5, 9.0, 0), (0, 4.0, 2.0, 0), (3, 4.5, 1.0, 0)), at=3.2)
    np.testing.assert_array_equal(replayed.units, [1, 2, 0])
    np.testing.assert_array_equal(replayed.window.error, [1, np.nan, np.nan])
    assert replayed.counts == Counts(late=3, after=1)


def test_the_latest_correction_counts_and_a_version_before_any_time() -> None:
    rows = (1, 5.0, 1.0, 0), (1, 6.0, 2.0, 0), (1, 6.0, 2.0, 0), (1, 5.5, 3.0, 1), (1, 7.0, 4.0, 0), (9, 5.0, 1.0, 0)
    labels = arrivals(*rows)
    replayed = replay(STREAM, replace(labels, place=np.where(labels.place == 9, -1, labels.place)))
    assert replayed.window.error[0] == 3
    assert replayed.counts == Counts(orphans=1, duplicates=1, corrected=3)


def test_a_label_may_be_taken_back_and_none_was_asked_of_volunteers() -> None:
    labels = arrivals((0, 5, 1.0, 0), (0, 6, np.nan, 0), (1, 5, 1.0, 0))
    replayed = replay(STREAM, replace(labels, volunteered=np.array([False, False, True])))
    assert not replayed.window.labelled.any()
    assert replayed.counts == Counts(corrected=1, volunteered=1)


def test_a_label_from_before_its_event_came_at_once() -> None:
    replayed = replay(STREAM, arrivals((3, 1.0, 1.0, 0)))
    assert replayed.window.delay is not None
    assert replayed.window.delay[3] == 0
    assert replayed.counts.early == 1


def test_nothing_is_a_stream_too() -> None:
    empty = Stream(np.empty(0), np.empty(0), np.empty(0, bool), np.empty(0))
    replayed = replay(empty, arrivals())
    assert len(replayed.window) == 0
    assert np.isnan(replayed.at)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from([0.5, 1.0, np.nan]), st.integers(0, 1)),
        max_size=12,
    ),
    seed=st.integers(0, 10),
)
def test_order_and_repetition_of_rows_change_nothing(rows: list[tuple[int, float, float, float]], seed: int) -> None:
    known = replay(STREAM, arrivals(*rows), at=9.0)
    again = [*rows, *rows[::2]]
    order = np.random.default_rng(seed).permutation(len(again))
    replayed = replay(STREAM, arrivals(*(again[place] for place in order)), at=9.0)
    for field in fields(known.window):
        np.testing.assert_array_equal(getattr(replayed.window, field.name), getattr(known.window, field.name))
    assert replayed.counts.corrected == known.counts.corrected
