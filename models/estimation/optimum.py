"""The error-retention curve of the best ranking, from weighted labels."""

from __future__ import annotations

import numpy as np

from models.assessment.convention import Area
from models.estimation.ladder import Ladder
from models.estimation.window import Doubles


def optimal_area(errors: Doubles, units: Doubles, area: Area) -> float:
    """R-AUC of a ranking by the errors themselves; NaN without labels.

    Args:
        errors: of each label, or mean error of each bin of errors [L].
        units: units that each stands for [L].
    """
    if not len(errors):
        return float("nan")
    order = np.argsort(errors, kind="stable")
    ladder = Ladder(units[order])
    return float((errors[order] * ladder.count) @ ladder.area_coefficients(area))
