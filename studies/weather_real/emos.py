"""EMOS: a normal distribution whose mean and variance are linear in those of an ensemble (Gneiting et al. 2005).

mean = a + b (ensemble mean) + d' covariates, variance = c² + e² (ensemble variance), fitted by minimum CRPS. Squares
keep the variance positive, as in the paper.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ndtr

from models.assessment import crps

Floats = NDArray[np.float64]

_LEAST_VARIANCE = 1e-6


@dataclass(frozen=True)
class Emos:
    """Coefficients of EMOS; targets, means and variances share a unit and its square."""

    intercept: float
    slope: float
    covariates: Floats
    """Coefficient of each covariate [K]."""
    constant: float
    """Variance if the ensemble has none."""
    spread: float
    """Variance per variance of the ensemble."""
    crps: float
    """Mean CRPS on the fitted data."""

    def predict(self, mean: Floats, variance: Floats, covariates: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of each row, [N] each; covariates are [N, K]."""
        return (
            self.intercept + self.slope * mean + covariates @ self.covariates,
            np.maximum(self.constant + self.spread * variance, _LEAST_VARIANCE),
        )


def fit(target: Floats, mean: Floats, variance: Floats, covariates: Floats | None = None) -> Emos:
    """Fit coefficients of least mean CRPS, starting from least squares.

    Args:
        target: observations [N].
        mean: ensemble mean [N]; ``variance`` likewise.
        covariates: [N, K]; none by default. Scale them to be of the order of 1.

    Raises:
        ValueError: fewer rows than coefficients, or a value that is not finite.
    """
    extra = np.empty((len(target), 0)) if covariates is None else covariates
    design = np.column_stack([np.ones(len(target)), mean, extra])
    if len(target) < design.shape[1] + 2:
        raise ValueError(f"{len(target)} rows cannot tell {design.shape[1] + 2} coefficients")
    if not all(np.isfinite(values).all() for values in (target, design, variance)):
        raise ValueError("EMOS needs finite observations, forecasts and covariates; leave out or fill rows without")
    # fit in standardised columns, for which one step size suits all coefficients
    centre, scale = design[:, 1:].mean(axis=0), design[:, 1:].std(axis=0)
    scaled = np.column_stack([design[:, :1], (design[:, 1:] - centre) / np.where(scale > 0, scale, 1.0)])
    start, *_ = np.linalg.lstsq(scaled, target, rcond=None)
    residual = float(np.mean((target - scaled @ start) ** 2))
    width = float(np.mean(variance)) or 1.0
    roots = [math.sqrt(residual / 2), math.sqrt(residual / 2 / width)]

    def loss(x: Floats) -> tuple[float, Floats]:
        weights, (root, slope) = x[:-2], x[-2:]
        sigma = np.sqrt(np.maximum(root**2 + slope**2 * variance, _LEAST_VARIANCE))
        away = target - scaled @ weights
        z = away / sigma
        by_mean = 1 - 2 * ndtr(z)
        by_sigma = 2 * np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) - 1 / math.sqrt(math.pi)
        gradient = np.concatenate(
            [
                scaled.T @ by_mean,
                [np.sum(by_sigma * root / sigma), np.sum(by_sigma * slope * variance / sigma)],
            ]
        )
        return float(np.mean(crps.normal(target, scaled @ weights, sigma**2))), gradient / len(target)

    solution = minimize(loss, np.concatenate([start, roots]), jac=True, method="L-BFGS-B", options={"ftol": 1e-12})
    weights = solution.x[:-2]
    slopes = weights[1:] / np.where(scale > 0, scale, 1.0)
    return Emos(
        intercept=float(weights[0] - slopes @ centre),
        slope=float(slopes[0]),
        covariates=slopes[1:],
        constant=float(solution.x[-2] ** 2),
        spread=float(solution.x[-1] ** 2),
        crps=float(solution.fun),
    )
