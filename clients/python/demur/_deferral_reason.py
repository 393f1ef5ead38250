"""Why a unit was deferred, derived from what an answer says of it: the one place of these words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from demur.v1.common_pb2 import DECISION_ANSWER, DECISION_CALLER_DEFERRED, Shift

CALLER = "caller"
"""Within the policy's threshold, above the caller's stricter one."""
NOT_A_NUMBER = "not_a_number"
"""The uncertainty is NaN."""
NO_THRESHOLD = "no_threshold"
"""No threshold is in force (-inf), so that everything is deferred."""
ABOVE_THRESHOLD = "above_threshold"
"""The uncertainty exceeds the policy's threshold."""
SHIFTED = "shifted"
"""Within the threshold; the policy defers what is shifted, and the shift reasons say why it is."""
UNKNOWN = "unknown"
"""The answer does not tell, such as a batch that was decided under more than one threshold."""

_ALWAYS_DEFERRED = {
    word: bit for word in ("impossible_prediction",) for name, bit in Shift.items() if name == f"SHIFT_{word.upper()}"
}
"""Shift reasons that defer a unit under any policy, first ones first, with their bits: they are reasons themselves."""


def deferral_reasons(
    decisions: NDArray[np.uint8], uncertainty: NDArray[np.float32], threshold: float, shifts: NDArray[np.uint8]
) -> NDArray[np.str_]:
    """Return the reason of each unit [N], a word of this module; empty for units that were answered.

    Where several hold, the first one of: a shift that always defers, the caller's wish, no number, no threshold, above
    the threshold, shifted.

    Args:
        decisions: values of ``Decision`` [N].
        uncertainty: the deferral measure [N].
        threshold: what it was compared with; -inf where everything is deferred, NaN where it is not known.
        shifts: bits of ``Shift`` [N].
    """
    conditions = [
        decisions == DECISION_ANSWER,
        *((shifts & np.uint8(bit)) != 0 for bit in _ALWAYS_DEFERRED.values()),
        decisions == DECISION_CALLER_DEFERRED,
        np.isnan(uncertainty),
        np.full(len(decisions), threshold == -np.inf),
        uncertainty > threshold,
        (shifts != 0) & (not np.isnan(threshold)),
    ]
    words = ["", *_ALWAYS_DEFERRED, CALLER, NOT_A_NUMBER, NO_THRESHOLD, ABOVE_THRESHOLD, SHIFTED]
    return np.select(conditions, words, UNKNOWN)
