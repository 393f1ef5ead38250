"""Deployments: a row for each head, model and numeric profile that was served, for readers of the ledger."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import msgspec
from sqlalchemy import Connection

from models.calibration import Calibration
from models.head import Head
from services.ledger.contract import Place
from services.ledger.database import insert_missing
from services.ledger.tables import deployment


@dataclass(frozen=True)
class Deployment:
    """Head as it is served."""

    task: str
    model: str
    """Name of the stream of the head's units: the artefact's tag, and after an @ the measure where it is not the head's
    own, since scores of different measures are never mixed."""
    head: Head
    profile: str
    members: int
    schema: Sequence[object]
    """Features with names and units; empty where inputs are not rows."""
    calibration: Calibration | None
    policy: object
    """Policy in force at the first start with this head, model and profile."""

    def document(self) -> str:
        """Return the deployment as JSON."""
        document = {
            "head": asdict(self.head),
            "model": self.model,
            "profile": self.profile,
            "members": self.members,
            "schema": list(self.schema),
            "calibration": self.calibration,
            "policy": self.policy,
        }
        return msgspec.json.encode(document).decode()


class Deployments:
    """Writer of missing rows, before or with the first units."""

    def __init__(self, deployments: Sequence[Deployment], clock: Callable[[], float]) -> None:
        self.known = False
        """True: the ledger has the rows."""
        self.current = deployments
        self._clock = clock

    def put(self, deployments: Sequence[Deployment]) -> None:
        """Replace the deployments; they are written with the next units."""
        self.current = deployments
        self.known = False

    def write(self, connection: Connection, place: Place) -> None:
        """Write missing rows; runs in the writer's thread."""
        if self.known:
            return
        rows = [
            place.columns
            | {
                "model": served.model,
                "head": served.head.name,
                "profile": served.profile,
                "task": served.task,
                "time": self._clock(),
                "document": served.document(),
            }
            for served in self.current
        ]
        if rows:
            connection.execute(insert_missing(connection, deployment), rows)


def head_of(document: dict[str, Any]) -> Head:
    """Return the head that a deployment's document describes.

    Raises:
        KeyError, TypeError: the document is invalid.
    """
    known = {field.name for field in fields(Head)}
    return Head(**{name: value for name, value in document["head"].items() if name in known})
