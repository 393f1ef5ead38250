"""Acting on explored units: they become decided ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from demur._ids import PredictionIds
from demur._label import Ids, runs
from demur.v1 import labels_pb2


class Identified(Protocol):
    """An answer, or what one head answered."""

    @property
    def prediction_ids(self) -> PredictionIds:
        """Identity of each of its units."""
        ...


@dataclass(frozen=True, slots=True)
class Committed:
    """What became of units that were committed to."""

    units: int
    """Now decided, durably; with those of earlier, equal calls."""
    unknown: tuple[str, ...]
    """Not held any more, or never explored: ask again with the purpose ``decide``."""


def commit_request(units: Identified | Ids) -> Any:
    """
    Raises:
        InvalidInput: one is no id.
    """
    ids: Ids = getattr(units, "prediction_ids", units)  # type: ignore[arg-type]
    return labels_pb2.CommitRequest(units=runs(ids))


def committed(response: labels_pb2.CommitResponse) -> Committed:
    return Committed(response.units, tuple(response.unknown))
