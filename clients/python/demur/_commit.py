"""Acting on explored units: they become decided ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from demur._answer import Answer
from demur._label import Ids, runs
from demur.v1 import labels_pb2


@dataclass(frozen=True, slots=True)
class Committed:
    """What became of units that were committed to."""

    units: int
    """Now decided, durably; with those of earlier, equal calls."""
    unknown: tuple[str, ...]
    """Not held any more, or never explored: ask again with the purpose ``decide``."""


def commit_request(units: Answer | Ids) -> Any:
    """
    Raises:
        InvalidInput: one is no id.
    """
    ids = units.prediction_ids if isinstance(units, Answer) else units
    return labels_pb2.CommitRequest(units=runs(ids))


def committed(response: labels_pb2.CommitResponse) -> Committed:
    return Committed(response.units, tuple(response.unknown))
