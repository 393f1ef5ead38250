"""Why a unit was deferred, derived from what an answer says of it: the one place of these words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from demur.v1.common_pb2 import DECISION_ANSWER, DECISION_CALLER_DEFERRED, SHIFT_IMPOSSIBLE_PREDICTION

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

IMPOSSIBLE = "impossible_prediction"
"""The prediction lies where the target cannot: deferred under any policy."""


def deferral_reasons(
    decisions: NDArray[np.uint8], uncertainty: NDArray[np.float32], threshold: float, shifts: NDArray[np.uint8]
) -> NDArray[np.str_]:
    """Return the reason of each unit [N], a word of this module; empty for units that were answered.

    Where several hold, the first one of: an impossible prediction, the caller's wish, no number, no threshold, above
    the threshold, shifted.

    Args:
        decisions: values of ``Decision`` [N].
        uncertainty: the deferral measure [N].
        threshold: what it was compared with; -inf where everything is deferred, NaN where it is not known.
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
