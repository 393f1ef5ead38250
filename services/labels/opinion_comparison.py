"""Comparison of opinions with the labels of their units, in the background: masks take a while."""

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, exists, select, update

from models.label_errors import LabelRule
from services.labels.label_types import ContentStore
from services.labels.opinions import request_adjudication
from services.labels.requests import LABEL
from services.ledger.contract import LedgerWriter, Place
from services.ledger.tables import label as labels
from services.ledger.tables import opinion
from services.runtime.logging import get_logger

_log = get_logger(__name__)
PIECE = 100
"""Most opinions that one round compares."""
INCOMPARABLE = -1.0
"""Difference of labels that cannot be compared."""
_UNCOMPARED = and_(
    opinion.c.state == LABEL.target,
    opinion.c.difference.is_(None),
    opinion.c.erased.is_(None),
    opinion.c.kind != "adjudication",
)


@dataclass(frozen=True)
class OpinionComparison:
    """Comparison of second opinions, known units and adjudications with the labels that they are about."""

    ledger: LedgerWriter
    rules: Mapping[str, LabelRule]
    store: ContentStore
    adjudicate: Mapping[str, float]
    """Largest difference by head; second opinions that differ more are adjudicated."""

    async def compare(self, now: float) -> int:
        """Compare a piece of the opinions that have not been compared; return how many.

        Raises:
            LedgerUnavailable: the rest is left for the next call.
        """
        pairs = await self.ledger.read(_uncompared)
        differences = [await asyncio.to_thread(self._difference, pair) for pair in pairs]
        if pairs:
            await self.ledger.run(lambda connection, place: self._write(connection, place, pairs, differences, now))
        return len(pairs)

    def _difference(self, pair: Any) -> float:
        """Return the difference of an opinion from its label, in the unit of the head's difference."""
        try:
            own = self._content(pair.value, pair.value_ref)
            other = self._content(pair.label_value, pair.label_ref)
            if own is None or other is None or pair.head not in self.rules:
                return INCOMPARABLE
            difference = self.rules[pair.head].difference(other, own)
        except Exception:
            _log.exception("an opinion cannot be compared with its label", extra={"fields": {"head": pair.head}})
            return INCOMPARABLE
        return difference if math.isfinite(difference) else INCOMPARABLE

    def _content(self, inline: bytes | None, reference: str | None) -> bytes | None:
        return inline if reference is None else self.store.get(reference)

    def _write(
        self, connection: Connection, place: Place, pairs: list[Any], differences: list[float], now: float
    ) -> None:
        for pair, difference in zip(pairs, differences, strict=True):
            same = and_(
                opinion.c.request == pair.request, opinion.c.digest == pair.digest, opinion.c.label == pair.label
            )
            change = update(opinion).where(same, opinion.c.difference.is_(None))
            written = connection.execute(change.values({"difference": difference} | place.columns)).rowcount
            limit = self.adjudicate.get(pair.head)
            if written and pair.kind == "second" and limit is not None and difference > limit:
                request_adjudication(connection, place, pair, pair.actor, now)


def anything_uncompared(connection: Connection) -> bool:
    """Return whether any opinion has not been compared yet."""
    return bool(connection.scalar(select(exists().where(_UNCOMPARED))))


def _uncompared(connection: Connection) -> list[Any]:
    """Return opinions with their labels that have not been compared yet."""
    columns = (
        *(opinion.c.request, opinion.c.epoch, opinion.c.sequence, opinion.c.head, opinion.c.kind, opinion.c.label),
        *(opinion.c.author, opinion.c.actor, opinion.c.value, opinion.c.value_ref, opinion.c.digest),
        *(labels.c.value.label("label_value"), labels.c.value_ref.label("label_ref")),
    )
    query = select(*columns).outerjoin_from(opinion, labels, labels.c.id == opinion.c.label)
    return list(connection.execute(query.where(_UNCOMPARED).limit(PIECE)))
