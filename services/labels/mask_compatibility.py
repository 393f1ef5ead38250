"""Compatibility of labels with predictions: a mask of other voxels is rejected on intake."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, select

from models.label_errors import BadLabel, FittedLabelRule
from services.labels.label_types import ContentStore
from services.labels.label_validation import Rejection, Row
from services.labels.statements import of_units
from services.ledger.tables import item
from services.ledger.unit_ids import Unit
from services.runtime.errors import InvalidInput
from services.runtime.logging import get_logger

_log = get_logger(__name__)


class Evidence(NamedTuple):
    """Evidence of a prediction, as the ledger keeps it."""

    head: str
    inline: bytes | None
    reference: str | None
    """Reference of a content in the store."""


@dataclass(frozen=True)
class MaskCompatibility:
    """Check of labels against evidence, for heads whose labels fit some predictions only; others pass unchecked."""

    judgings: Mapping[str, FittedLabelRule]
    """Judging by head, for heads whose labels fit some predictions only."""
    store: ContentStore
    read: Callable[[Callable[[Connection], dict[Unit, Evidence]]], Awaitable[dict[Unit, Evidence]]]
    """Run a query of the ledger, as ``LedgerWriter.read`` does."""

    async def check(self, rows: Sequence[Row]) -> tuple[list[Row], list[Rejection]]:
        """Return the labels that fit and the rejected ones. Labels of units without evidence fit: they are not judged.

        Raises:
            LedgerUnavailable: it cannot be read now.
        """
        if not self.judgings:  # as for all tabular services, whose labels come by the hundred thousand
            return list(rows), []
        units = {row.unit for row in rows if row.head in self.judgings}
        by_unit = await self.read(lambda connection: _evidence(connection, units))
        fitting, rejected = [], []
        for row in rows:
            evidence = by_unit.get(row.unit)
            reason = "" if evidence is None else await asyncio.to_thread(self._misfit, row, evidence)
            if reason:
                rejected.append(Rejection(row.at, _refusal(row, reason)))
            else:
                fitting.append(row)
        return fitting, rejected

    def _misfit(self, row: Row, evidence: Evidence) -> str:
        """Return why a label does not fit; empty where it does, or where that is unknown."""
        if evidence.head != row.head or row.head not in self.judgings:
            return ""
        try:
            content = evidence.inline if evidence.reference is None else self.store.get(evidence.reference)
        except (LookupError, ValueError, OSError) as error:  # the label is kept all the same
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
    by_unit: dict[Unit, Evidence] = {}
    for condition in of_units(item, units):
        for epoch, sequence, *evidence in connection.execute(select(*columns).where(condition)):
            by_unit[epoch, sequence] = Evidence(*evidence)
    return by_unit


def _refusal(row: Row, reason: str) -> InvalidInput:
    return InvalidInput(reason, code="label_misfit", field="value", value=f"{len(row.value)} bytes", index=row.at)
