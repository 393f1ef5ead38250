"""Reasons for deferrals, derived from the fields of an answer; the only definition of these words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from demur.v1.common_pb2 import DECISION_ANSWER, DECISION_CALLER_DEFERRED, SHIFT_IMPOSSIBLE_PREDICTION

CALLER = "caller"
"""The uncertainty is within the policy's threshold, but above the caller's stricter one."""
NOT_A_NUMBER = "not_a_number"
"""The uncertainty is NaN."""
NO_THRESHOLD = "no_threshold"
"""No threshold is in force (-inf), so that everything is deferred."""
ABOVE_THRESHOLD = "above_threshold"
"""The uncertainty exceeds the policy's threshold."""
SHIFTED = "shifted"
"""The uncertainty is within the threshold, but the policy defers shifted units; the shift reasons say why it is one."""
UNKNOWN = "unknown"
"""The answer does not determine it, such as for a batch that was decided under more than one threshold."""

IMPOSSIBLE = "impossible_prediction"
"""The target cannot have the predicted value: deferred under any policy."""


def deferral_reasons(
    decisions: NDArray[np.uint8], uncertainty: NDArray[np.float32], threshold: float, shifts: NDArray[np.uint8]
) -> NDArray[np.str_]:
    """Return the reason of each unit [N], a word of this module; empty for units that were answered.

    If several apply, the first of: impossible prediction, caller's threshold, NaN, no threshold, above the threshold,
    shifted.

    Args:
        decisions: values of ``Decision`` [N].
        uncertainty: the deferral measure [N].
        threshold: the policy's threshold; -inf if everything is deferred, NaN if unknown.
        shifts: bits of ``Shift`` [N].
    """
    conditions = [
        decisions == DECISION_ANSWER,
        (shifts & np.uint8(SHIFT_IMPOSSIBLE_PREDICTION)) != 0,
        decisions == DECISION_CALLER_DEFERRED,
        np.isnan(uncertainty),
        np.full(len(decisions), threshold == -np.inf),
        uncertainty > threshold,
        (shifts != 0) & (not np.isnan(threshold)),
    ]
    words = ["", IMPOSSIBLE, CALLER, NOT_A_NUMBER, NO_THRESHOLD, ABOVE_THRESHOLD, SHIFTED]
    return np.select(conditions, words, UNKNOWN)
