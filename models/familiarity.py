"""How familiar rows of inputs are: their joint density in training, and which columns set a row apart.

Ranges of single columns do not see a value that is possible alone and odd beside the others, such as a speed in the
wrong unit. The density is a Gaussian mixture over standardised columns; of wide schemas over their principal
components, with what these leave out as one more term. A score is the negative log-density of the component that fits
a row best, nats up to a constant: larger is less familiar.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
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
"""Share of in-domain rows that are not called unlikely by themselves."""
REQUEST_LEVEL = 0.98
"""Share of runs of consecutive training rows that are not called unlikely together."""
MOST_BYTES = 64 << 20
_CHUNK_ROWS = 2048
_FARTHEST = np.float32(5)
"""Standard deviations that a value counts at most: columns with long tails, such as rain, would drown the others."""
_ARRAYS = ("mean", "deviation", "projection", "left_out", "weights", "centres", "factors", "row_limit")


class _Quadratic(NamedTuple):
    """Quadratic forms of places [D], which a one is put behind."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    """Factors of each product [P]."""
    weights: NDArray[np.float32]
    """Of the products, for each component [K, P]."""


@dataclass(frozen=True, slots=True)
class Departures:
    """Columns that set rows apart from training: S entries, by row, the worst column of a row first."""

    rows: NDArray[np.intp]
    """Row of each entry [S], ascending."""
    columns: NDArray[np.intp]
    """Position of each column in the schema [S]."""
    values: NDArray[np.float32]
    """[S], in the column's unit."""
    deviations: NDArray[np.float32]
    """Standard deviations of the column in training by which a value lies beyond the range that was seen there, above
    it or (negative) below [S]. Of a value within the range: conditional standard deviations from ``expected``. NaN
    where the artefact does not know them."""
    expected: NDArray[np.float32]
    """What the other columns lead one to expect, in the column's unit; NaN of a value outside the range [S]."""

    def __len__(self) -> int:
        return len(self.rows)


_INDICES: NDArray[np.intp] = np.zeros(0, np.intp)
_NUMBERS: NDArray[np.float32] = np.zeros(0, np.float32)
NO_DEPARTURES = Departures(_INDICES, _INDICES, _NUMBERS, _NUMBERS, _NUMBERS)


@dataclass(frozen=True)
class Familiarity:
    """Moments and joint density of training inputs with F columns."""

    mean: NDArray[np.float32]
    """Of each column without missing values [F]."""
    deviation: NDArray[np.float32]
    """Standard deviation of each column [F], in its unit; 1 of a constant one."""
    projection: NDArray[np.float32]
    """Principal directions of standardised columns [F, D]; the identity where D is F."""
    left_out: float
    """Mean square that the directions leave out of a column; 0 where D is F."""
    weights: NDArray[np.float32]
    """Of the components of the mixture [K]."""
    centres: NDArray[np.float32]
    """Of the components, in the directions [K, D]."""
    factors: NDArray[np.float32]
    """Of the components' precisions [K, D, D]: P = factor factorᵀ."""
    row_limit: float
    """Scores above it are of unlikely rows."""
    request_sizes: tuple[int, ...]
    request_limits: tuple[float, ...]
    """Limit of the mean score of a request with at least so many rows; scores count up to ``row_limit``."""

    @cached_property
    def _quadratic(self) -> _Quadratic:
        """The components' log-densities as quadratic forms of directions: one matrix product for all."""
        precisions = np.einsum("kde,kfe->kdf", self.factors, self.factors, dtype=np.float64)
        k, d, _ = precisions.shape
        lines = np.einsum("kdf,kf->kd", precisions, self.centres)
        constants = np.log(self.weights, dtype=np.float64) - 0.5 * np.einsum("kd,kd->k", lines, self.centres)
        constants += np.log(np.einsum("kdd->kd", self.factors), dtype=np.float64).sum(axis=1)
        forms = np.zeros((k, d + 1, d + 1))
        forms[:, :d, :d], forms[:, :d, d], forms[:, d, d] = -precisions, lines, constants
        first, second = np.triu_indices(d + 1)
        halved = np.where((first == second) & (first < d), 0.5, 1.0)
        return _Quadratic(first, second, np.ascontiguousarray(forms[:, first, second] * halved, np.float32))

    def score(self, rows: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> NDArray[np.float32]:
        """Return the scores [N] of rows [N, F].

        Args:
            missing: values [N, F] that are missing; one counts as the mean of its column. None: there are none.
        """
        if len(rows) <= _CHUNK_ROWS:
            return self._score(self.standardised(rows, missing))
        scores = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _CHUNK_ROWS):
            part = slice(start, start + _CHUNK_ROWS)
            scores[part] = self._score(self.standardised(rows[part], None if missing is None else missing[part]))
        return scores

    def standardised(self, rows: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> NDArray[np.float32]:
        """Return rows [N, F] in standard deviations from the mean, columns first, and ones behind: [F + 1, N].

        They are at most 5; a missing value is 0.
        """
        mean, scale = self._moments
        ended = np.empty((rows.shape[1] + 1, len(rows)), np.float32)
        z = ended[:-1]
        if missing is not None:
            rows = np.where(missing, np.float32(0), rows)
        np.subtract(rows.T, mean, out=z, casting="same_kind")
        z *= scale
        if missing is not None:
            z[missing.T] = 0.0
        np.minimum(np.maximum(z, -_FARTHEST, out=z), _FARTHEST, out=z)
        ended[-1] = 1.0
        return ended

    @cached_property
    def _moments(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Means and inverse standard deviations of the columns [F, 1]."""
        return self.mean[:, None].copy(), (1.0 / self.deviation)[:, None].astype(np.float32)

    def _logs(self, along: NDArray[np.float32]) -> NDArray[np.float32]:
        """Weighted log-densities of the components [K, N], up to one constant, at places [D + 1, N] that end in one."""
        form = self._quadratic
        found: NDArray[np.float32] = form.weights @ (along[form.first] * along[form.second])
        return found

    def _along(self, ended: NDArray[np.float32]) -> NDArray[np.float32]:
        """Standardised rows [F + 1, N] in the directions [D + 1, N], both with ones behind."""
        if not self.left_out:
            return ended
        along = np.empty((self.projection.shape[1] + 1, ended.shape[1]), np.float32)
        np.matmul(self.projection.T, ended[:-1], out=along[:-1])
        along[-1] = 1.0
        return along

    def _score(self, ended: NDArray[np.float32]) -> NDArray[np.float32]:
        along = self._along(ended)
        found: NDArray[np.float32] = -np.maximum.reduce(self._logs(along), axis=0)
        if self.left_out:
            rest = np.einsum("fn,fn->n", ended, ended) - np.einsum("dn,dn->n", along, along)
            found += rest * np.float32(0.5 / self.left_out)
        return found

    def unlikely(self, scores: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return which rows [N] of one request are unlikely: each by itself, or all because of their mean."""
        flags: NDArray[np.bool_] = scores > np.float32(self.row_limit)
        if (limit := self.request_limit(len(scores))) is not None:
            mean = float(np.minimum(scores, np.float32(self.row_limit)).mean(dtype=np.float64))
            if mean > limit:
                flags[:] = True
        return flags

    def request_limit(self, rows: int) -> float | None:
        """Return the limit of the mean score of a request of so many rows; None of few."""
        index = bisect_right(self.request_sizes, rows)
        return self.request_limits[index - 1] if index else None

    def conditional(self, ended: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return, of standardised rows [F + 1, N], the values that the other columns lead one to expect [F, N],
        standardised, and the distance from them in conditional standard deviations [F, N].

        Given by the component of the mixture that fits each row best.
        """
        nearest, z = self._logs(self._along(ended)).argmax(axis=0), ended[:-1]
        expected, distance = np.empty_like(z), np.empty_like(z)
        for component in np.flatnonzero(np.bincount(nearest)).tolist():
            chosen = nearest == component
            precision, shift, diagonal = self._conditionals[component]
            gradient = precision @ z[:, chosen] - shift
            expected[:, chosen] = z[:, chosen] - gradient / diagonal
            distance[:, chosen] = gradient / np.sqrt(diagonal)
        return expected, distance

    @cached_property
    def _conditionals(self) -> list[tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]]:
        """Of each component its precision over columns [F, F], precision times centre [F, 1], diagonal [F, 1]."""
        found = []
        rest = np.zeros((len(self.mean), len(self.mean)))
        if self.left_out:
            rest = (np.eye(len(self.mean)) - self.projection @ self.projection.T.astype(np.float64)) / self.left_out
        for centre, factor in zip(self.centres, self.factors.astype(np.float64), strict=True):
            inner = self.projection @ factor @ factor.T
            precision = inner @ self.projection.T + rest
            parts = (precision, (inner @ centre)[:, None], np.diag(precision)[:, None])
            found.append(tuple(np.ascontiguousarray(part, np.float32) for part in parts))
        return found  # type: ignore[return-value]


def departures(
    rows: NDArray[np.float32],
    flagged: NDArray[np.intp],
    schema: Schema,
    lower: NDArray[np.float32],
    upper: NDArray[np.float32],
    known: Familiarity | None,
    most: int = 3,
) -> Departures:
    """Return the columns that set flagged rows apart, at most ``most`` a row.

    Values outside the training range come first, by their distance from it; only a row without one is compared with
    what its other columns lead one to expect.

    Args:
        rows: [N, F] in schema order and units.
        flagged: rows to look at, ascending [k].
        lower, upper: training range of each column [F].
    """
    if not len(flagged):
        return NO_DEPARTURES
    chosen = rows[flagged]
    gone = missing(chosen, schema)
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
    found, place = np.nonzero(beyond[places, order])
    columns = order[found, place]
    deviations = beyond[found, columns] if known is not None else np.full(len(found), np.nan, np.float32)
    return Departures(
        flagged[found], columns, chosen[found, columns], deviations.astype(np.float32), expected[found, columns]
    )


def missing(rows: NDArray[Any], schema: Schema) -> NDArray[np.bool_]:
    """Return which values of rows [N, F] are missing: NaN, or a documented sentinel."""
    gone: NDArray[np.bool_] = np.isnan(rows)
    for position, value in schema.sentinels:
        gone[:, position] |= rows[:, position] == value
    return gone


def encode(known: Familiarity) -> bytes:
    """Return the file of an artefact."""
    arrays = {name: np.asarray(getattr(known, name), np.float32) for name in _ARRAYS}
    sizes, limits = np.array(known.request_sizes, np.int32), np.array(known.request_limits, np.float32)
    return npz.encode(arrays | {"request_sizes": sizes, "request_limits": limits})


def decode(content: bytes, columns: int) -> Familiarity:
    """Return what a file holds, for a schema of so many columns.

    Raises:
        BadArrays: an array is missing, of another shape, or not finite.
    """
    arrays = npz.decode(content, MOST_BYTES)
    names = (*_ARRAYS, "request_sizes", "request_limits")
    if absent := [name for name in names if name not in arrays]:
        raise npz.BadArrays(f"{FILE} holds no array {absent[0]!r}")
    known = _shapes(arrays, columns)
    for name in names:
        array = arrays[name]
        if array.shape != known[name]:
            raise npz.BadArrays(f"{FILE}: {name} has the shape {list(array.shape)}, {list(known[name])} is needed")
        if not np.isfinite(array).all():
            raise npz.BadArrays(f"{FILE}: {name} holds a value that is not finite")
    if (arrays["deviation"] <= 0).any() or (arrays["weights"] <= 0).any() or arrays["left_out"] < 0:
        raise npz.BadArrays(f"{FILE}: deviation and weights must be above 0, and left_out not below")
    plain = {name: arrays[name] for name in _ARRAYS if arrays[name].ndim}
    return Familiarity(
        **plain,
        left_out=float(arrays["left_out"]),
        row_limit=float(arrays["row_limit"]),
        request_sizes=tuple(arrays["request_sizes"].tolist()),
        request_limits=tuple(arrays["request_limits"].tolist()),
    )


def _shapes(arrays: Mapping[str, NDArray[Any]], columns: int) -> dict[str, tuple[int, ...]]:
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
