"""What is served, for those who read the ledger: a row for each head, model and numeric profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import msgspec
from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from models.calibration import Calibration
from models.head import Head
from services.ledger.tables import deployment
from services.ledger.writer import Place


@dataclass(frozen=True)
class Deployment:
    """One head as it is served."""

    task: str
    model: str
    """Name of the stream that the head's units are written to: the artefact's tag, and behind an @ the measure where
    it is not the head's own, for scores of different measures are never mixed."""
    head: Head
    profile: str
    members: int
    schema: Sequence[object]
    """Features with names and units; empty where inputs are no rows."""
    calibration: Calibration | None
    policy: object
    """In force at the first start with this head, model and profile."""

    def document(self) -> str:
        """As JSON."""
        found = {
            "head": asdict(self.head),
            "model": self.model,
            "profile": self.profile,
            "members": self.members,
            "schema": list(self.schema),
            "calibration": self.calibration,
            "policy": self.policy,
        }
        return msgspec.json.encode(found).decode()


class Deployments:
    """Writes the rows that are not there yet, before or with the first units."""

    def __init__(self, deployments: Sequence[Deployment], clock: Callable[[], float]) -> None:
        self.known = False
        """True: they are in the ledger for sure."""
        self.current = deployments
        self._clock = clock

    def put(self, deployments: Sequence[Deployment]) -> None:
        """Replaces what is served from now on; to be written with the next units."""
        self.current = deployments
        self.known = False

    def write(self, connection: Connection, place: Place) -> None:
        """Runs in the writer's thread; rows that are there stay as they are."""
        if self.known:
            return
        rows = [
            place.columns
            | {
                "model": one.model,
                "head": one.head.name,
                "profile": one.profile,
                "task": one.task,
                "time": self._clock(),
                "document": one.document(),
            }
            for one in self.current
        ]
        kind = postgresql if connection.dialect.name == "postgresql" else sqlite
        if rows:
            connection.execute(kind.insert(deployment).on_conflict_do_nothing(), rows)


def head_of(document: dict[str, Any]) -> Head:
    """The head that a deployment's document describes.

    Raises:
        KeyError, TypeError: it describes none.
    """
    known = {one.name for one in fields(Head)}
    return Head(**{name: value for name, value in document["head"].items() if name in known})
