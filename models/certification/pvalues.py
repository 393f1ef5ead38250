"""p-values of H0: the mean loss exceeds alpha; a small p-value certifies that it does not.

The tests are exact for losses 0 and 1, Hoeffding-Bentkus and betting for losses in [0, bound]. A p-value here is
super-uniform: P(p <= t) <= t for every t if H0 holds, at every sample size.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv

Float64 = NDArray[np.float64]
_MOST_BET = 0.75  # share of the bet that could lose everything (Waudby-Smith & Ramdas 2024 take 1/2 to 3/4)


def binomial(failures: ArrayLike, units: ArrayLike, alpha: float) -> Float64:
    """Return P(Binomial(units, alpha) <= failures), float64 of the broadcast shape; 1 without units.

    This is the exact test that corresponds to the upper limit of Clopper & Pearson 1934.

    Raises:
        ValueError: alpha outside (0, 1).
    """
    check_risk(alpha, 1.0)
    k, n = np.broadcast_arrays(np.asarray(failures, np.float64), np.asarray(units, np.float64))
    few = k < n
    return np.where(few, betainc(np.where(few, n - k, 1.0), k + 1, 1 - alpha), 1.0)


def hoeffding_bentkus(mean: ArrayLike, units: ArrayLike, alpha: float, bound: float = 1.0) -> Float64:
    """Return min(exp(-n h(min(r, a), a)), e P(Binomial(n, a) <= ceil(n r))) with r = mean / bound, a = alpha / bound.

    ``mean`` is that of n losses in [0, bound]; h is the divergence of two Bernoulli laws (Bates et al. 2021;
    Angelopoulos et al. 2021, proposition 1).

    Raises:
        ValueError: alpha outside (0, bound).
    """
    check_risk(alpha, bound)
    a = alpha / bound
    r, n = np.broadcast_arrays(np.asarray(mean, np.float64) / bound, np.asarray(units, np.float64))
    low = np.minimum(r, a)
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.where(low > 0, low * np.log(low / a), 0.0) + (1 - low) * np.log((1 - low) / (1 - a))
    bentkus = math.e * binomial(np.ceil(n * r), n, a)
    return np.where(n > 0, np.minimum(np.minimum(np.exp(-n * divergence), bentkus), 1.0), 1.0)


def betting(excess: Float64, largest: float, variance: float, delta: float) -> float:
    """Return 1 / the largest wealth of a bettor against E[excess] >= 0 (Waudby-Smith & Ramdas 2024).

    The wealth after t values is the product of 1 - b_s x_s; each bet b_s depends only on earlier values, so under H0 it
    is a supermartingale and exceeds 1 / p with probability at most p (Ville 1939). The values have to come in an
    order that does not depend on them.

    Args:
        excess: loss - alpha [n], or any value with a mean below 0 if the risk is below alpha.
        largest: bound of the values from above, > 0.
        variance: prior guess of the variance; any number keeps the test valid.
        delta: level at which the bets are strongest; any value keeps the test valid.
    """
    n = len(excess)
    if not n:
        return 1.0
    counts = np.arange(2.0, n + 2)
    mean = np.cumsum(excess) / counts
    seen = (variance + np.cumsum((excess - mean) ** 2)) / counts
    before = np.append(variance, seen[:-1])
    bets = np.minimum(np.sqrt(2 * math.log(1 / delta) / (n * before)), _MOST_BET / largest)
    wealth = float(np.max(np.cumsum(np.log1p(-bets * excess))))
    return math.exp(-max(0.0, wealth))


def zero_failure_size(alpha: float, delta: float) -> int:
    """Return the least n with (1 - alpha)^n <= delta: units without a failure that certify a risk of alpha."""
    check_risk(alpha, 1.0)
    return math.ceil(math.log(delta) / math.log1p(-alpha) - 1e-9)


def exact_interval(successes: int, units: int, level: float = 0.95) -> tuple[float, float]:
    """Return an interval that covers a share with at least ``level``; (0, 1) without units (Clopper & Pearson 1934)."""
    tail = (1 - level) / 2
    low = float(betaincinv(successes, units - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, units - successes, 1 - tail)) if successes < units else 1.0
    return low, high


def check_risk(alpha: float, bound: float) -> None:
    """Raise ValueError unless 0 < alpha < bound."""
    if not 0 < alpha < bound:
        raise ValueError(f"risk is {alpha:g}; a value in (0, {bound:g}) is needed: others are never or always met")
