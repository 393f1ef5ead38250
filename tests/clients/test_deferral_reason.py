"""Why units were deferred: one function for rows and for single units."""

import numpy as np
import pytest

from demur._decisions import DecidedUnit, deferral_reasons, shift_reasons

ANSWER, DEFER, CALLER = 1, 2, 3
NAN = float("nan")

CASES = [
    (ANSWER, 1.0, 2.0, 0, ""),
    (ANSWER, 1.0, 2.0, 1, ""),
    (DEFER, 3.0, 2.0, 0, "above_threshold"),
    (DEFER, 3.0, 2.0, 3, "above_threshold"),
    (DEFER, 2.0, 2.0, 1, "shifted"),
    (DEFER, NAN, 2.0, 1, "not_a_number"),
    (DEFER, 1.0, -np.inf, 0, "no_threshold"),
    (DEFER, np.inf, 2.0, 0, "above_threshold"),
    (CALLER, 1.0, 2.0, 2, "caller"),
    (DEFER, 1.0, NAN, 1, "unknown"),
    (DEFER, 1.0, 2.0, 0, "unknown"),
]


@pytest.mark.parametrize(("decision", "uncertainty", "threshold", "shift", "word"), CASES)
def test_each_reason(decision: int, uncertainty: float, threshold: float, shift: int, word: str) -> None:
    arguments = (
        np.array([decision], np.uint8),
        np.array([uncertainty], np.float32),
        threshold,
        np.array([shift], np.uint8),
    )
    assert deferral_reasons(*arguments).tolist() == [word]
    words = {1: "answer", 2: "defer", 3: "caller_deferred"}
    reasons = shift_reasons(shift)
    unit = DecidedUnit(
        model="",
        profile="",
        recorded=True,
        decision=words[decision],
        uncertainty=uncertainty,
        threshold=threshold,
        measure="tvar",
        policy="",
        prediction_id="0-0",
        shift_reasons=reasons,
        remarks=(),
    )
    assert unit.reason == word


def test_rows_keep_their_order() -> None:
    reasons = deferral_reasons(
        np.array([2, 1, 3, 2], np.uint8), np.array([9, 1, 1, 1], np.float32), 2.0, np.array([0, 1, 0, 2], np.uint8)
    )
    assert reasons.tolist() == ["above_threshold", "", "caller", "shifted"]
    none = deferral_reasons(np.empty(0, np.uint8), np.empty(0, np.float32), 2.0, np.empty(0, np.uint8))
    assert none.shape == (0,)


def test_an_impossible_prediction_is_a_reason_of_its_own() -> None:
    reasons = deferral_reasons(
        np.array([2, 2, 1], np.uint8), np.array([np.inf, np.inf, 1], np.float32), 2.0, np.array([5, 1, 0], np.uint8)
    )
    assert reasons.tolist() == ["impossible_prediction", "above_threshold", ""]
