"""Joint density of training inputs, and the columns in which a row departs from them.

Ranges of single columns miss a value that is possible alone but unusual given the others, such as a speed in the wrong
unit. The density is a Gaussian mixture over standardised columns; for wide schemas over their principal components,
with one more term for the residual. A score is the negative log-density of the component that fits a row best, nats up
to a constant: larger is less familiar.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models import npz
from models.schema import Schema

FILE = "training-inputs.npz"
"""Name of the file in an artefact."""
ROW_LEVEL = 0.99
"""Share of in-domain rows that are not flagged as single rows."""
REQUEST_LEVEL = 0.98
"""Share of runs of consecutive training rows that are not flagged as a whole."""
MOST_BYTES = 64 << 20
"""Limit of the decompressed file."""
_CHUNK_ROWS = 2048
_FARTHEST = np.float32(5)
"""Standard deviations at which values are clipped: columns with long tails, such as rain, would dominate the others."""
_ARRAYS = ("mean", "deviation", "projection", "left_out", "weights", "centres", "factors", "row_limit")


class Quadratic(NamedTuple):
    """Quadratic forms over D directions with a one appended."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    """Indices of the two factors of each product [P]."""
    weights: NDArray[np.float32]
    """Weights of the products, for each component [K, P]."""


@dataclass(frozen=True, slots=True)
class Departures:
    """Columns that set rows apart from training: S entries, by row, the worst column of a row first."""

    rows: NDArray[np.intp]
    """Row of each entry [S], ascending."""
    columns: NDArray[np.intp]
    """Position of each column in the schema [S]."""
    values: NDArray[np.float32]
    """Values [S], in the column's unit."""
    deviations: NDArray[np.float32]
    """Standard deviations of the column in training by which a value lies beyond its training range, above it or
    (negative) below [S]. For a value within the range: conditional standard deviations from ``expected``. NaN if the
    artefact does not have them."""
    expected: NDArray[np.float32]
    """Value predicted by the other columns, in the column's unit; NaN for a value outside the range [S]."""

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, start: int, end: int) -> "Departures":
        """Return the entries of rows [start, end), which are counted from ``start``."""
        if not len(self.rows):
            return self
        chosen = slice(*self.rows.searchsorted((start, end)).tolist())
        return Departures(
            self.rows[chosen] - start,
            self.columns[chosen],
            self.values[chosen],
            self.deviations[chosen],
            self.expected[chosen],
        )


_INDICES: NDArray[np.intp] = np.zeros(0, np.intp)
_NUMBERS: NDArray[np.float32] = np.zeros(0, np.float32)
NO_DEPARTURES = Departures(_INDICES, _INDICES, _NUMBERS, _NUMBERS, _NUMBERS)


@dataclass(frozen=True)
class Familiarity:
    """Moments and joint density of training inputs with F columns."""

    mean: NDArray[np.float32]
    """Mean of each column, over its values that are not missing [F]."""
    deviation: NDArray[np.float32]
    """Standard deviation of each column [F], in its unit; 1 for a constant column."""
    projection: NDArray[np.float32]
    """Principal directions of standardised columns [F, D]; the identity if D is F."""
    left_out: float
    """Mean squared residual of a column after projection; 0 if D is F."""
    weights: NDArray[np.float32]
    """Weights of the components of the mixture [K]."""
    centres: NDArray[np.float32]
    """Means of the components, in the directions [K, D]."""
    factors: NDArray[np.float32]
    """Factors of the components' precisions [K, D, D]: P = factor factorᵀ."""
    row_limit: float
    """Rows with a score above it are unlikely."""
    request_sizes: tuple[int, ...]
    """Least rows of a request for each of ``request_limits``, ascending."""
    request_limits: tuple[float, ...]
    """Limits of the mean score of a request, by its rows; scores are clipped at ``row_limit`` for the mean."""

    @cached_property
    def quadratic(self) -> Quadratic:
        """Log-densities of the components as quadratic forms, evaluated by one matrix product."""
        precisions = np.einsum("kde,kfe->kdf", self.factors, self.factors, dtype=np.float64)
        k, d, _ = precisions.shape
        lines = np.einsum("kdf,kf->kd", precisions, self.centres)
        constants = np.log(self.weights, dtype=np.float64) - 0.5 * np.einsum("kd,kd->k", lines, self.centres)
        constants += np.log(np.einsum("kdd->kd", self.factors), dtype=np.float64).sum(axis=1)
        forms = np.zeros((k, d + 1, d + 1))
        forms[:, :d, :d], forms[:, :d, d], forms[:, d, d] = -precisions, lines, constants
        first, second = np.triu_indices(d + 1)
        halved = np.where((first == second) & (first < d), 0.5, 1.0)
        return Quadratic(first, second, np.ascontiguousarray(forms[:, first, second] * halved, np.float32))

    def score(self, rows: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> NDArray[np.float32]:
        """Return the scores [N] of rows [N, F].

        Args:
            missing: mask of missing values [N, F], which count as the mean of their column; None if there are none.
        """
        if len(rows) <= _CHUNK_ROWS:
            return self._score(self.standardised(rows, missing))
        scores = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _CHUNK_ROWS):
            part = slice(start, start + _CHUNK_ROWS)
            scores[part] = self._score(self.standardised(rows[part], None if missing is None else missing[part]))
        return scores

    def standardised(self, rows: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> NDArray[np.float32]:
        """Return rows [N, F] in standard deviations from the mean, transposed, with ones appended: [F + 1, N].

        Values are clipped to ±5; a missing value is 0.
        """
        mean, scale = self._moments
        augmented = np.empty((rows.shape[1] + 1, len(rows)), np.float32)
        z = augmented[:-1]
        if missing is not None:
            rows = np.where(missing, np.float32(0), rows)
        np.subtract(rows.T, mean, out=z, casting="same_kind")
        z *= scale
        if missing is not None:
            z[missing.T] = 0.0
        np.minimum(np.maximum(z, -_FARTHEST, out=z), _FARTHEST, out=z)
        augmented[-1] = 1.0
        return augmented

    @cached_property
    def _moments(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Means and inverse standard deviations of the columns [F, 1]."""
        return self.mean[:, None].copy(), (1.0 / self.deviation)[:, None].astype(np.float32)

    def _logs(self, projected: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return weighted log-densities of the components [K, N], up to a constant, of projected rows [D + 1, N]."""
        form = self.quadratic
        logs: NDArray[np.float32] = form.weights @ (projected[form.first] * projected[form.second])
        return logs

    def _projected(self, augmented: NDArray[np.float32]) -> NDArray[np.float32]:
        """Project standardised rows [F + 1, N] onto the directions [D + 1, N], both with ones appended."""
        if not self.left_out:
            return augmented
        projected = np.empty((self.projection.shape[1] + 1, augmented.shape[1]), np.float32)
        np.matmul(self.projection.T, augmented[:-1], out=projected[:-1])
        projected[-1] = 1.0
        return projected

    def _score(self, augmented: NDArray[np.float32]) -> NDArray[np.float32]:
        projected = self._projected(augmented)
        scores: NDArray[np.float32] = -np.maximum.reduce(self._logs(projected), axis=0)
        if self.left_out:
            rest = np.einsum("fn,fn->n", augmented, augmented) - np.einsum("dn,dn->n", projected, projected)
            scores += rest * np.float32(0.5 / self.left_out)
        return scores

    def unlikely(
        self, scores: NDArray[np.float32], requests: Sequence[tuple[int, int]] | None = None
    ) -> NDArray[np.bool_]:
        """Return the mask of unlikely rows [N]: single rows by score, or all rows of a request by their mean.

        Args:
            requests: first and end row of each request; None: all rows are of one.
        """
        flags: NDArray[np.bool_] = scores > np.float32(self.row_limit)
        for start, end in ((0, len(scores)),) if requests is None else requests:
            if (limit := self.request_limit(end - start)) is not None:
                mean = float(np.minimum(scores[start:end], np.float32(self.row_limit)).mean(dtype=np.float64))
                if mean > limit:
                    flags[start:end] = True
        return flags

    def request_limit(self, rows: int) -> float | None:
        """Return the limit of the mean score of a request with ``rows`` rows; None if there are too few."""
        index = bisect_right(self.request_sizes, rows)
        return self.request_limits[index - 1] if index else None

    def conditional(self, augmented: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return conditional means given the other columns, standardised, and distances from them in sd, both [F, N].

        Each row uses the component of the mixture that fits it best; sd are its conditional standard deviations.

        Args:
            augmented: standardised rows [F + 1, N].
        """
        nearest, z = self._logs(self._projected(augmented)).argmax(axis=0), augmented[:-1]
        expected, distance = np.empty_like(z), np.empty_like(z)
        for component in np.flatnonzero(np.bincount(nearest)).tolist():
            chosen = nearest == component
            precision, shift, diagonal = self.conditionals[component]
            gradient = precision @ z[:, chosen] - shift
            expected[:, chosen] = z[:, chosen] - gradient / diagonal
            distance[:, chosen] = gradient / np.sqrt(diagonal)
        return expected, distance

    @cached_property
    def conditionals(self) -> list[tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]]:
        """Precision over columns [F, F], precision times mean [F, 1] and diagonal [F, 1] of each component."""
        conditionals = []
        rest = np.zeros((len(self.mean), len(self.mean)))
        if self.left_out:
            rest = (np.eye(len(self.mean)) - self.projection @ self.projection.T.astype(np.float64)) / self.left_out
        for centre, factor in zip(self.centres, self.factors.astype(np.float64), strict=True):
            inner = self.projection @ factor @ factor.T
            precision = inner @ self.projection.T + rest
            parts = (precision, (inner @ centre)[:, None], np.diag(precision)[:, None])
            conditionals.append(tuple(np.ascontiguousarray(part, np.float32) for part in parts))
        return conditionals  # type: ignore[return-value]


def departures(
    rows: NDArray[np.float32],
    flagged: NDArray[np.intp],
    schema: Schema,
    lower: NDArray[np.float32],
    upper: NDArray[np.float32],
    known: Familiarity | None,
    most: int = 3,
) -> Departures:
    """Return the columns in which flagged rows depart from training, at most ``most`` per row.

    Values outside the training range come first, by their distance from it. Only in a row without such a value is each
    value compared with its conditional mean given the other columns.

    Args:
        rows: rows [N, F] in schema order and units.
        flagged: indices of the rows, ascending [k].
        lower, upper: training range of each column [F].
        known: density of the training inputs; None if the artefact does not have it.
    """
    if not len(flagged):
        return NO_DEPARTURES
    chosen = rows[flagged]
    gone = schema.missing(chosen)
    with np.errstate(invalid="ignore"):  # a missing value is NaN
        beyond = np.maximum(chosen - upper, 0.0) + np.minimum(chosen - lower, 0.0)
    if known is not None:
        beyond /= known.deviation
    beyond[gone] = 0.0
    expected = np.full(chosen.shape, np.nan, np.float32)
    inside = ~(beyond != 0).any(axis=1)
    if known is not None and inside.any():
        means, distances = known.conditional(known.standardised(chosen[inside], gone[inside]))
        beyond[inside] = np.where(gone[inside], np.float32(0), distances.T)
        expected[inside] = means.T * known.deviation + known.mean
    order = np.argsort(-np.abs(beyond), axis=1, kind="stable")[:, :most]
    places = np.arange(len(chosen))[:, None]
    entries, ranks = np.nonzero(beyond[places, order])
    columns = order[entries, ranks]
    deviations = beyond[entries, columns] if known is not None else np.full(len(entries), np.nan, np.float32)
    return Departures(
        flagged[entries], columns, chosen[entries, columns], deviations.astype(np.float32), expected[entries, columns]
    )


def encode(known: Familiarity) -> bytes:
    """Encode a density as the file of an artefact."""
    arrays = {name: np.asarray(getattr(known, name), np.float32) for name in _ARRAYS}
    sizes, limits = np.array(known.request_sizes, np.int32), np.array(known.request_limits, np.float32)
    return npz.encode(arrays | {"request_sizes": sizes, "request_limits": limits})


def decode(content: bytes, columns: int) -> Familiarity:
    """Decode the file of an artefact whose schema has ``columns`` columns.

    Raises:
        BadArrays: an array is missing, has another shape or a value that is not allowed.
    """
    arrays = npz.decode(content, MOST_BYTES)
    names = (*_ARRAYS, "request_sizes", "request_limits")
    if absent := [name for name in names if name not in arrays]:
        raise npz.BadArrays(f"{FILE} has no array {absent[0]!r}")
    shapes = _shapes(arrays, columns)
    for name in names:
        array = arrays[name]
        if array.shape != shapes[name]:
            raise npz.BadArrays(f"{FILE}: {name} has the shape {list(array.shape)}, {list(shapes[name])} is needed")
        if not np.isfinite(array).all():
            raise npz.BadArrays(f"{FILE}: {name} holds a value that is not finite")
    if (arrays["deviation"] <= 0).any() or (arrays["weights"] <= 0).any() or arrays["left_out"] < 0:
        raise npz.BadArrays(f"{FILE}: deviation and weights must be above 0, left_out at least 0")
    plain = {name: arrays[name] for name in _ARRAYS if arrays[name].ndim}
    components, directions = arrays["centres"].shape
    _check_sizes(components, directions, columns, float(arrays["left_out"]))
    return Familiarity(
        **plain,
        left_out=float(arrays["left_out"]),
        row_limit=float(arrays["row_limit"]),
        request_sizes=tuple(arrays["request_sizes"].tolist()),
        request_limits=tuple(arrays["request_limits"].tolist()),
    )


def _check_sizes(components: int, directions: int, columns: int, left_out: float) -> None:
    """Check the sizes of a density.

    Raises:
        BadArrays: there are too few or too many components or directions.
    """
    if components < 1:
        raise npz.BadArrays(f"{FILE}: centres has 0 components, at least 1 is needed")
    least = 1 if left_out else columns
    if not least <= directions <= columns:
        raise npz.BadArrays(
            f"{FILE}: projection has {directions} directions, {least} to {columns} are allowed "
            f"with left_out = {left_out:g}"
        )


def _shapes(arrays: Mapping[str, NDArray[Any]], columns: int) -> dict[str, tuple[int, ...]]:
    """Return the shape that each array must have, from the sizes that the arrays declare."""
    components = arrays["centres"].shape[0] if arrays["centres"].ndim == 2 else 0
    directions = arrays["projection"].shape[1] if arrays["projection"].ndim == 2 else 0
    sizes = arrays["request_sizes"].shape[0] if arrays["request_sizes"].ndim == 1 else 0
    return {
        "mean": (columns,),
        "deviation": (columns,),
        "projection": (columns, directions),
        "left_out": (),
        "weights": (components,),
        "centres": (components, directions),
        "factors": (components, directions, directions),
        "row_limit": (),
        "request_sizes": (sizes,),
        "request_limits": (sizes,),
    }
