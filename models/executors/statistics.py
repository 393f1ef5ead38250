"""Statistics of heads as named arrays of an executor: what ensembles of rows are reduced to, and how it is read.

A name consists of head and statistic, such as ``temperature.mean`` [n], ``precipitation.probabilities`` [C, n] or
``temperature.member_mean`` [M, n]: rows lie along the last axis.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.head import Head
from models.predictive import Categorical, Gaussian, Predictive

Array = NDArray[np.float32]
Arrays = tuple[Array, ...]


@dataclass(frozen=True)
class _Kind:
    """Names of the statistics of a kind of head."""

    always: tuple[str, ...]
    ensemble: tuple[str, ...]
    members: tuple[str, ...]

    def of(self, ensemble: bool) -> tuple[str, ...]:
        return (*self.always, *(self.ensemble if ensemble else ()))


_KINDS = {
    "gaussian": _Kind(("mean", "mvar"), ("varm", "epkl"), ("member_mean", "member_var")),
    "categorical": _Kind(("probabilities",), ("expected_entropy", "expected_log"), ("member_probabilities",)),
}
_OPTIONAL = ("epkl", "expected_log")
"""Statistics that a graph may leave out; measures that need them do not exist then."""


@dataclass(frozen=True)
class Statistics:
    """Statistics of some heads, and their order in the arrays of a call."""

    heads: tuple[Head, ...]
    names: Mapping[str, tuple[str, ...]]
    """Head name to the names of its statistics."""
    members: bool
    """True if outputs of each member follow."""

    @classmethod
    def of(
        cls, heads: Sequence[Head], *, ensemble: bool, members: bool = False, graph: Collection[str] | None = None
    ) -> "Statistics":
        """Return the statistics of heads.

        Args:
            ensemble: whether there is more than one member.
            members: whether the outputs of each member are returned as well.
            graph: names of the outputs of a graph, which may lack optional statistics; None for all statistics.
        """
        names = {
            head.name: tuple(
                name
                for name in _KINDS[head.kind].of(ensemble)
                if graph is None or name not in _OPTIONAL or f"{head.name}.{name}" in graph
            )
            for head in heads
        }
        return cls(tuple(heads), names, members)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the arrays of a call, in order."""
        own = {head.name: _KINDS[head.kind].members for head in self.heads if self.members}
        return tuple(f"{head}.{name}" for table in (self.names, own) for head, names in table.items() for name in names)

    def read(self, arrays: Arrays) -> tuple[dict[str, Predictive], dict[str, Arrays]]:
        """Return predictives, and members' arrays if any, by head, from the arrays of a call."""
        left = iter(arrays)
        predictives = {
            head.name: _predictive(head, {name: next(left) for name in self.names[head.name]}) for head in self.heads
        }
        rest = list(left)
        widths = {head.name: len(_KINDS[head.kind].members) if rest else 0 for head in self.heads}
        return predictives, {name: tuple(rest.pop(0) for _ in range(width)) for name, width in widths.items()}


def _predictive(head: Head, arrays: Mapping[str, Array]) -> Predictive:
    if head.kind == "gaussian":
        return Gaussian(**arrays)
    columns = {name: array.T if array.ndim == 2 else array for name, array in arrays.items()}
    return Categorical(**columns)
