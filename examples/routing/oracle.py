"""The seam to the service: whoever answers batches of rows with power and its uncertainty."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from routing.geodesy import Floats
from routing.ship import Rows


class PowerAnswer(Protocol):
    """What is read of an answer; arrays float32 [N], power in kW. The client's answer of a vessel service is one."""

    @property
    def mean(self) -> NDArray[np.float32]: ...
    @property
    def total(self) -> NDArray[np.float32]: ...
    @property
    def knowledge(self) -> NDArray[np.float32] | None: ...
    @property
    def deferred(self) -> NDArray[np.bool_]: ...
    @property
    def shifted(self) -> NDArray[np.bool_]: ...


class PowerOracle(Protocol):
    """`client.vessel` of the Demur client is one; tests bring a stand-in."""

    def stream(self, batches: Iterable[Rows], /) -> Iterator[PowerAnswer]:
        """One answer per batch, in order."""
        ...


@dataclass(frozen=True)
class Power:
    """An answer in double precision, kW. All arrays have one shape: [N], or [edges, places on an edge]."""

    mean: Floats
    sd: Floats
    """Standard deviation in total."""
    knowledge_sd: Floats
    """The part that more data would remove. A model without it gets all of `sd`: the cautious reading."""
    deferred: NDArray[np.bool_]
    shifted: NDArray[np.bool_]

    @classmethod
    def of(cls, answer: PowerAnswer) -> Power:
        total = np.asarray(answer.total, np.float64)
        knowledge = total if answer.knowledge is None else np.asarray(answer.knowledge, np.float64)
        return cls(
            np.asarray(answer.mean, np.float64),
            np.sqrt(total),
            np.sqrt(np.minimum(knowledge, total)),
            np.asarray(answer.deferred, bool),
            np.asarray(answer.shifted, bool),
        )

    def reshape(self, *shape: int) -> Power:
        return Power(
            self.mean.reshape(shape),
            self.sd.reshape(shape),
            self.knowledge_sd.reshape(shape),
            self.deferred.reshape(shape),
            self.shifted.reshape(shape),
        )

    @property
    def data_sd(self) -> Floats:
        return np.sqrt(np.maximum(self.sd**2 - self.knowledge_sd**2, 0.0))


def ask(oracle: PowerOracle, rows: Rows, at_once: int = 32_768) -> Power:
    """The answer to one set of rows, sent as batches of at most `at_once`."""
    batches = [rows[start : start + at_once] for start in range(0, len(rows), at_once)]
    parts = [Power.of(answer) for answer in oracle.stream(batches)]
    return Power(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("mean", "sd", "knowledge_sd", "deferred", "shifted")
        )
    )
