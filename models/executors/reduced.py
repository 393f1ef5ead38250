"""Members reduced to sufficient statistics: a row executor over any executor of members.

Statistics are computed in float64 and returned in float32, rows along the last axis, so that the scheduler can cut
and join passes. Values beyond half of float32's largest number are clipped to that half: variances of 1e37 stay
comparable, and the sum of two of them is finite in float32, and so in JSON.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.executors.members import MemberExecutor, Members
from models.executors.pace import Pace
from models.executors.statistics import Array, Arrays, Statistics
from models.head import Head
from models.predictive import Categorical, Gaussian, Predictive
from models.uncertainty import categorical, gaussian

QUANTUM_SECONDS = 0.03
"""Longest quantum: interactive work may have to wait for it."""
MOST_ROWS = 1024
_LARGEST = float(np.finfo(np.float32).max) / 2


class Reduced:
    """Executor from rows [n, F] to statistics of all heads and, on request, outputs of each member.

    ``outputs`` names the arrays of a call, see ``models.executors.statistics``.
    """

    def __init__(
        self, executor: MemberExecutor, heads: Sequence[Head], *, ensemble: bool, members: bool = False
    ) -> None:
        self._executor = executor
        self._statistics = Statistics.of(heads, ensemble=ensemble, members=members)
        self._pace = Pace()
        self.outputs = self._statistics.outputs
        self.quantum_rows = MOST_ROWS
        """Number of rows of one quantum; ``measure`` reduces it if a row takes long."""

    def __call__(self, rows: Array) -> Arrays:
        outputs = self._executor(rows)
        heads = self._statistics.heads
        arrays = [array for head in heads for array in self._reduced(head, outputs)]
        if self._statistics.members:
            arrays += [array for head in heads for array in _own(head, outputs)]
        return tuple(arrays)

    def seconds(self, rows: int) -> float:
        """Return the expected duration for a number of rows."""
        return self._pace.seconds(rows)

    def measure(self, rows: Array, many: int = 64) -> None:
        """Warm up with rows [n, F], fit the model of the duration, and bound the quantum."""
        self._pace.measure(self, rows, many, repeats=3)
        self.quantum_rows = self._pace.rows_within(QUANTUM_SECONDS, MOST_ROWS)

    def run(self, inputs: Mapping[str, NDArray[Any]], outputs: tuple[str, ...]) -> list[Array]:
        """Return named outputs of ``inputs["rows"]``, as a graph returns them (``models.executors.golden``)."""
        arrays = dict(zip(self.outputs, self(np.asarray(inputs["rows"], np.float32)), strict=True))
        return [arrays[name] for name in outputs]

    def read(self, arrays: Arrays) -> tuple[dict[str, Predictive], dict[str, Arrays]]:
        """Return predictives, and members' arrays if any, by head, from the arrays of a call."""
        return self._statistics.read(arrays)

    def _reduced(self, head: Head, outputs: Members) -> Iterator[Array]:
        members = outputs[head.name]
        statistics = _gaussian(members) if head.kind == "gaussian" else _categorical(members)
        return (_float32(getattr(statistics, name).T) for name in self._statistics.names[head.name])


def _own(head: Head, outputs: Members) -> tuple[Array, ...]:
    """Return the outputs of each member, rows along the last axis."""
    members = outputs[head.name]
    if head.kind == "gaussian":
        return _float32(members[..., 0]), _float32(members[..., 1])
    return (_float32(members.transpose(0, 2, 1)),)


def _gaussian(members: Array) -> Gaussian:
    return gaussian.predictive(members[..., 0], members[..., 1])


def _categorical(members: Array) -> Categorical:
    """Return the predictive as ``categorical.predictive`` does, without statistics that no policy uses."""
    p = members.astype(np.float64)
    logs = np.log(p + categorical.LOG_EPSILON)
    return Categorical(p.mean(axis=0), -(p * logs).sum(axis=2).mean(axis=0), logs.mean(axis=0))


def _float32(values: NDArray[Any]) -> Array:
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(np.clip(values, -_LARGEST, _LARGEST), np.float32)
