"""Labels held against the predictions that they judge: a mask of other voxels is refused when it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, select

from models.label_errors import BadLabel, FittedLabelRule
from services.labels.given import Rejection, Row
from services.labels.identity import Unit
from services.labels.intake import of_units
from services.labels.words import Blobs
from services.ledger.tables import item
from services.runtime.errors import InvalidInput
from services.runtime.logging import get_logger

_log = get_logger(__name__)


class Evidence(NamedTuple):
    """What the ledger keeps of a prediction."""

    head: str
    inline: bytes | None
    reference: str | None
    """In the store."""


@dataclass(frozen=True)
class Fit:
    """Looks whether labels fit, of the heads where that is a question; labels of others pass as they are."""

    judgings: Mapping[str, FittedLabelRule]
    """By head, of the heads whose labels fit some predictions only."""
    store: Blobs
    read: Callable[[Callable[[Connection], dict[Unit, Evidence]]], Awaitable[dict[Unit, Evidence]]]
    """Runs a query of the ledger, as ``Writer.read``."""

    async def check(self, rows: Sequence[Row]) -> tuple[list[Row], list[Rejection]]:
        """Those that fit, and the others. What has no evidence, as a unit that was answered, fits: nobody judges it.

        Raises:
            LedgerUnavailable: it cannot be read now.
        """
        if not self.judgings:  # as of all services of rows, whose labels come by the hundred thousand
            return list(rows), []
        asked = {row.unit for row in rows if row.head in self.judgings}
        found = await self.read(lambda connection: _evidence(connection, asked))
        fitting, rejected = [], []
        for row in rows:
            evidence = found.get(row.unit)
            reason = "" if evidence is None else await asyncio.to_thread(self._misfit, row, evidence)
            if reason:
                rejected.append(Rejection(row.at, _refusal(row, reason)))
            else:
                fitting.append(row)
        return fitting, rejected

    def _misfit(self, row: Row, evidence: Evidence) -> str:
        """Why a label does not fit; empty if it does, or nobody can tell."""
        if evidence.head != row.head or row.head not in self.judgings:
            return ""
        try:
            content = evidence.inline if evidence.reference is None else self.store.get(evidence.reference)
        except (LookupError, ValueError, OSError) as error:  # the label is worth keeping all the same
            _log.error("evidence cannot be read: %s", error)
            return ""
        try:
            if content is not None:
                self.judgings[row.head].check_fit(content, row.value)
        except BadLabel as error:
            return str(error)
        except Exception:
            _log.exception("evidence cannot be understood", extra={"fields": {"head": row.head}})
        return ""


def _evidence(connection: Connection, units: set[Unit]) -> dict[Unit, Evidence]:
    columns = (item.c.epoch, item.c.sequence, item.c.head, item.c.evidence, item.c.evidence_ref)
    found: dict[Unit, Evidence] = {}
    for condition in of_units(item, units):
        for epoch, sequence, *evidence in connection.execute(select(*columns).where(condition)):
            found[epoch, sequence] = Evidence(*evidence)
    return found


def _refusal(row: Row, reason: str) -> InvalidInput:
    return InvalidInput(reason, code="label_misfit", field="value", value=f"{len(row.value)} bytes", index=row.at)
