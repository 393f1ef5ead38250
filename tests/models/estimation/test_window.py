"""What a window takes, and what it makes of bad propensities."""

from dataclasses import replace

import numpy as np
import pytest

from models.estimation.window import BadWindow, Window

WINDOW = Window(
    uncertainty=np.array([1.0, 2.0, 3.0, 4.0]),
    answered=np.array([True, True, True, False]),
    propensity=np.array([0.5, 0.5, 0.0, 1.0]),
    labelled=np.array([True, False, True, True]),
    error=np.array([1.0, np.nan, 2.0, 3.0]),
)


def test_labels_that_cannot_be_weighted_are_not_used() -> None:
    np.testing.assert_array_equal(WINDOW.usable, [True, False, False, True])
    bad = replace(WINDOW, propensity=np.array([np.nan, 0.5, 1.5, 1.0]))
    np.testing.assert_array_equal(bad.usable, [False, False, False, True])
    missing = replace(WINDOW, error=np.array([np.nan, np.nan, 2.0, np.inf]))
    assert not missing.usable.any()
    unseen = replace(WINDOW, observation=np.array([0.5, 1.0, 1.0, 0.0]))
    np.testing.assert_array_equal(unseen.usable, [True, False, False, False])


def test_probabilities_multiply() -> None:
    second = np.array([np.nan, 0.5, np.nan, 0.5])
    window = replace(WINDOW, observation=np.array([0.5, 1.0, 1.0, 0.5]), second=second)
    np.testing.assert_array_equal(window.effective, [0.25, 0.25, 0, 0.25])


def test_requests_are_known_where_certain_or_logged() -> None:
    known, requested = WINDOW.known_requests
    np.testing.assert_array_equal(known, [False, False, True, True])
    np.testing.assert_array_equal(requested, [False, False, False, True])
    known, requested = replace(WINDOW, requested=WINDOW.labelled).known_requests
    assert known.all()
    np.testing.assert_array_equal(requested, WINDOW.labelled)


def test_strict_callers_are_told_which_propensity_is_wrong() -> None:
    assert WINDOW.strict() is WINDOW
    for wrong, shown in ((np.nan, "nan"), (-0.5, "-0.5"), (1.5, "1.5")):
        with pytest.raises(BadWindow, match=f"propensity of unit 1 is {shown}; a probability from 0 to 1"):
            replace(WINDOW, propensity=np.array([0.5, wrong, 0.0, 1.0])).strict()
    with pytest.raises(BadWindow, match="error of the labelled unit 2 is nan"):
        replace(WINDOW, error=np.array([1.0, np.nan, np.nan, 3.0])).strict()


def test_fields_of_another_length_or_kind_are_refused() -> None:
    with pytest.raises(BadWindow, match=r"error has the shape \[3\]; \[N\] with N = 4"):
        replace(WINDOW, error=np.ones(3))
    with pytest.raises(BadWindow, match="answered has the type int64; true or false"):
        replace(WINDOW, answered=np.ones(4, np.int64))
    with pytest.raises(BadWindow, match="age has the type int64; floating-point"):
        replace(WINDOW, age=np.ones(4, np.int64))


def test_a_part_keeps_every_field() -> None:
    part = replace(WINDOW, age=np.arange(4.0)).take(np.array([3, 0]))
    np.testing.assert_array_equal(part.age, [3, 0])
    np.testing.assert_array_equal(part.error, [3, 1])
    assert part.delay is None
