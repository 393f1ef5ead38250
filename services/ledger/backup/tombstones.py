"""Which units were erased: a list to be kept beside backups, since a restore brings back what was erased after one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TextIO

from sqlalchemy import Connection, select, union

from models.label_errors import LabelRule, label_rule
from services.labels.identity import Unit, parse_unit, unit_text
from services.ledger.backup.hand import Hand
from services.ledger.deployments import head_of
from services.ledger.erasure import Erasure
from services.ledger.store import Store
from services.ledger.tables import deployment, item, label
from services.runtime.errors import InvalidInput

HEADER = "unit,erased"
"""Of a list: ids of units as answers give them, and when each was erased (seconds since 1970, may be missing)."""


def erased(connection: Connection, since: float) -> Iterator[tuple[Unit, float]]:
    """Units that were erased at a time or later, with that time, in its order."""
    found = union(
        *(
            select(table.c.epoch, table.c.sequence, table.c.erased).where(table.c.erased >= since)
            for table in (item, label)
        )
    ).subquery()
    seen = set()
    for epoch, sequence, when in connection.execute(select(found).order_by(found.c.erased)):
        if (epoch, sequence) not in seen:
            seen.add((epoch, sequence))
            yield (epoch, sequence), when


def write(units: Iterable[tuple[Unit, float]], file: TextIO) -> int:
    """Writes a list; how many units."""
    count = 0
    file.write(f"{HEADER}\n")
    for unit, when in units:
        file.write(f"{unit_text(unit)},{when!r}\n")
        count += 1
    return count


def read(path: Path) -> list[Unit]:
    """The units of a list; a file with one id in each line is one, too.

    Raises:
        ValueError: a line begins with no unit id; names it.
        OSError: it cannot be read.
    """
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        word = line.partition(",")[0].strip()
        if not word or (number == 1 and line.strip() == HEADER):
            continue
        try:
            found.append(parse_unit(word))
        except InvalidInput as error:
            raise ValueError(f"{path}, line {number}: {error.message}") from error
    return found


async def again(hand: Hand, store: Store, clock: float, units: Iterable[Unit], before: float) -> tuple[int, int]:
    """Erases again; how many units of a list, and of those decided before a time, had anything to erase.

    Args:
        clock: now, seconds since 1970.
    """
    rules = await hand.read(_judging)
    erasure = Erasure(hand, rules, store, lambda: clock)
    listed = await erasure.erase(units, "restore", "erased before, as a list says")
    return listed, await erasure.retire(before)


def _judging(connection: Connection) -> Mapping[str, LabelRule | None]:
    """By head: errors of labels are computed before these are erased."""
    found: dict[str, LabelRule | None] = {}
    for document in connection.scalars(select(deployment.c.document)):
        try:
            head = head_of(json.loads(document))
            found[head.name] = label_rule(head)
        except (ValueError, TypeError, KeyError, LookupError):
            continue
    return found
