"""Areas under risk-coverage curves, the counterparts of R-AUC in the literature on selective prediction.

Coverage is retention. Selective risk is the mean error of the answered units; generalised risk is their error summed
and divided by all n, which is the error-retention curve. Units of equal uncertainty share their errors, since no
threshold can separate them.
"""

import numpy as np

from models.assessment.ranking import Floats, Ranking
from models.assessment.retention import Curve, error_curve, optimal_curve, r_auc

_BLOCK = 1 << 20  # ranks per step, so that temporaries stay small


def augrc(errors: Floats, uncertainty: Floats | Ranking) -> float:
    """Return the area under the generalised risk over coverages 0 to 1 (Traub et al. 2024), in the error's unit."""
    return r_auc(error_curve(errors, uncertainty), "trapezoid")


def aurc(errors: Floats, uncertainty: Floats | Ranking) -> float:
    """Return the mean selective risk over coverages 1 / n to 1 (Geifman et al., ICLR 2019), in the error's unit.

    Raises:
        ValueError: as ``error_curve``.
    """
    return mean_selective_risk(error_curve(errors, uncertainty))


def e_aurc(errors: Floats, uncertainty: Floats | Ranking) -> float:
    """Return AURC in excess of the ranking by the errors themselves (Geifman et al., ICLR 2019), in the error's unit.

    Raises:
        ValueError: as ``error_curve``.
    """
    return aurc(errors, uncertainty) - mean_selective_risk(optimal_curve(errors))


def mean_selective_risk(curve: Curve) -> float:
    """Return the mean over k = 1..n of an error curve divided by the retained share: AURC, in the error's unit."""
    total = 0.0
    for start in range(1, len(curve), _BLOCK):
        part = curve[start : start + _BLOCK]
        total += float(np.sum(part / np.arange(start, start + len(part))))
    return total
