"""Fit of the joint density of training inputs (``models.familiarity``) with scikit-learn."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.familiarity import REQUEST_LEVEL, ROW_LEVEL, Familiarity
from models.schema import Schema

COMPONENTS = 16
DIRECTIONS = 16
"""Number of principal components that are kept for a schema with more columns."""
FIT_ROWS = 60_000
"""Most training rows to which the mixture is fitted."""
REQUEST_ROWS = 400_000
"""Most training rows from which the limits of requests are computed."""
REQUEST_SIZES = (16, 64, 256, 1024)
"""Numbers of rows of requests for which limits are computed."""
_REGULARISATION = 1e-3
"""Term that is added to each variance of a component, in standardised units."""
_IGNORED = 1e3
"""Deviation of a categorical column for each category: so wide that no code is far from another."""
_LEAST_RUNS = 200
"""Least number of runs of training rows for a limit."""


def fit(train: NDArray[Any], held_out: NDArray[Any] | None, schema: Schema, *, seed: int = 0) -> Familiarity:
    """Fit moments, density and limits to training rows.

    Args:
        train: training inputs [N, F] in schema order and units; consecutive rows should resemble those of one request.
        held_out: in-domain rows that were not used for training, for the limit of single rows; None uses training rows.
    """
    from sklearn.mixture import GaussianMixture

    generator = np.random.default_rng(seed)
    count = len(train)
    gone = schema.missing(train)
    present = np.where(gone, np.nan, train.astype(np.float64))
    empty = gone.all(axis=0)
    present[:, empty] = 0.0
    mean, deviation = np.nanmean(present, axis=0), np.nanstd(present, axis=0)
    deviation = np.where(deviation > 0, deviation, 1.0)
    for column, feature in enumerate(schema.features):
        if feature.categories:  # codes have no order: they must not count as distances
            mean[column], deviation[column] = 0.0, _IGNORED * len(feature.categories)
    chosen = np.sort(generator.permutation(count)[:FIT_ROWS])
    bare = _bare(mean, deviation)
    z = bare.standardised(train[chosen], gone[chosen])[:-1].T.astype(np.float64)
    projection, left_out = _directions(z)
    projected = z @ projection
    components = min(COMPONENTS, max(1, len(z) // (10 * projection.shape[1])))
    mixture = GaussianMixture(
        components, covariance_type="full", reg_covar=_REGULARISATION, max_iter=60, random_state=seed
    ).fit(projected)
    fitted = replace(
        bare,
        projection=projection.astype(np.float32),
        left_out=left_out,
        weights=mixture.weights_.astype(np.float32),
        centres=mixture.means_.astype(np.float32),
        factors=mixture.precisions_cholesky_.astype(np.float32),
    )
    reference = train if held_out is None else held_out
    limit = _quantile(fitted.score(reference, schema.missing(reference)), ROW_LEVEL)
    capped = np.minimum(fitted.score(train[:REQUEST_ROWS], gone[:REQUEST_ROWS]), limit)
    limits = {
        size: _quantile(capped[: len(capped) // size * size].reshape(-1, size).mean(axis=1), REQUEST_LEVEL)
        for size in REQUEST_SIZES
        if len(capped) // size >= _LEAST_RUNS
    }
    return replace(fitted, row_limit=limit, request_sizes=tuple(limits), request_limits=tuple(limits.values()))


def _bare(mean: NDArray[np.float64], deviation: NDArray[np.float64]) -> Familiarity:
    """Return a density of these moments that is standard normal, without limits."""
    width = len(mean)
    return Familiarity(
        mean=mean.astype(np.float32),
        deviation=deviation.astype(np.float32),
        projection=np.eye(width, dtype=np.float32),
        left_out=0.0,
        weights=np.ones(1, np.float32),
        centres=np.zeros((1, width), np.float32),
        factors=np.eye(width, dtype=np.float32)[None],
        row_limit=np.inf,
        request_sizes=(),
        request_limits=(),
    )


def _directions(z: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return principal directions of standardised rows [N, F], and the mean squared residual of a column."""
    width = z.shape[1]
    if width <= DIRECTIONS:
        return np.eye(width), 0.0
    values, vectors = np.linalg.eigh(z.T @ z / len(z))
    return vectors[:, ::-1][:, :DIRECTIONS], float(max(values[:-DIRECTIONS].mean(), 1e-6))


def _quantile(values: NDArray[Any], level: float) -> float:
    return float(np.float32(np.quantile(values, level, method="higher")))
