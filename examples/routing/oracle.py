"""Interface to the service: batches of rows in, power and its uncertainty out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from routing.geodesy import Floats
from routing.ship import Rows


class PowerAnswer(Protocol):
    """Used fields of an answer; arrays float32 [N], power in kW. Answers of the client's vessel service have them."""

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
    """Oracle of powers, such as `client.vessel` of the Demur client; tests use a substitute."""

    def stream(self, batches: Iterable[Rows], /) -> Iterator[PowerAnswer]:
        """Yield one answer per batch, in order."""
        ...


@dataclass(frozen=True)
class Power:
    """Answer in double precision, kW. All arrays have one shape: [N], or [edges, positions on an edge]."""

    mean: Floats
    sd: Floats
    """Total standard deviation."""
    knowledge_sd: Floats
    """Part of ``sd`` that more data would remove. A model without it gets all of `sd`, which is the cautious choice."""
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
    """Return the answer to one set of rows, sent as batches of at most `at_once`."""
    batches = [rows[start : start + at_once] for start in range(0, len(rows), at_once)]
    parts = [Power.of(answer) for answer in oracle.stream(batches)]
    return Power(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("mean", "sd", "knowledge_sd", "deferred", "shifted")
        )
    )
