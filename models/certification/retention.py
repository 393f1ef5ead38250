"""Threshold for a target retention: an order statistic of scores, and the law of the realised retention."""

import math

import numpy as np
from scipy.special import betaincinv

from models.certification.certificate import Finding, nothing
from models.certification.selective_risk import check_delta
from models.certification.units import Units, answered, as_threshold

PROCEDURE = "order statistic (Beta law of the realised retention; Dvoretzky, Kiefer & Wolfowitz 1956)"


def target_retention(units: Units, retention: float, delta: float = 0.05) -> Finding:
    """Return the threshold that answers ``retention`` of units: the k-th smallest score, k = ceil((n + 1) retention).

    The realised retention is Beta(k, n + 1 - k) for scores without ties, and larger with them: its mean is at least
    the target, and ``low`` to ``high`` holds it with 1 - delta. The band of Dvoretzky, Kiefer & Wolfowitz, given in the
    statement, holds at all targets at once. A unit without an uncertainty is never answered, but counts.

    Raises:
        ValueError: retention outside (0, 1], or delta outside (0, 1).
    """
    check_delta(delta)
    if not 0 < retention <= 1:
        raise ValueError(f"retention is {retention:g}; a share in (0, 1] is needed")
    n = len(units)
    rank = max(math.ceil((n + 1) * retention - 1e-9), 1)
    if rank > n:
        most = f"{n} units promise at most {n / (n + 1):.6g}"
        return nothing(PROCEDURE, n, f"retention {retention:g} is beyond what the units promise: {most}")
    score = float(np.partition(units.scores, rank - 1)[rank - 1])  # NaN is sorted last
    if math.isnan(score) or score == math.inf:
        have = int((units.scores < np.inf).sum())
        return nothing(PROCEDURE, n, f"retention {retention:g} needs {rank} finite uncertainties of {n}; {have} are")
    low, high = (float(betaincinv(rank, n + 1 - rank, tail)) for tail in (delta / 2, 1 - delta / 2))
    band = math.sqrt(math.log(2 / delta) / (2 * n))
    return Finding(
        PROCEDURE,
        as_threshold(score),
        f"in expectation at least {retention:g} of units of the same law are answered; with confidence {1 - delta:g} "
        f"between {low:.4g} and {high:.4g} (more if scores tie), and within {band:.2g} at all targets at once",
        "",
        n,
        int(answered(units.scores, as_threshold(score)).sum()),
        low=low,
        high=high,
    )
