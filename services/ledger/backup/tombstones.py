"""Lists of erased units, to be kept beside backups: a restore brings back what was erased after the backup."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TextIO

from sqlalchemy import Connection, select, union

from models.label_errors import LabelRule, label_rule
from services.ledger.backup.maintenance_writer import MaintenanceWriter
from services.ledger.deployments import head_of
from services.ledger.erasure import Erasure
from services.ledger.store import Store
from services.ledger.tables import deployment, item, label
from services.ledger.unit_ids import Unit, parse_unit, unit_text
from services.runtime.errors import InvalidInput

HEADER = "unit,erased"
"""Header of a list: unit ids as in answers, and the time of erasure (seconds since 1970, may be missing)."""


def erased(connection: Connection, since: float) -> Iterator[tuple[Unit, float]]:
    """Yield units that were erased at a time or later, with their time of erasure, in its order."""
    rows = union(
        *(
            select(table.c.epoch, table.c.sequence, table.c.erased).where(table.c.erased >= since)
            for table in (item, label)
        )
    ).subquery()
    seen = set()
    for epoch, sequence, when in connection.execute(select(rows).order_by(rows.c.erased)):
        if (epoch, sequence) not in seen:
            seen.add((epoch, sequence))
            yield (epoch, sequence), when


def write(units: Iterable[tuple[Unit, float]], file: TextIO) -> int:
    """Write a list; return the number of units."""
    count = 0
    file.write(f"{HEADER}\n")
    for unit, when in units:
        file.write(f"{unit_text(unit)},{when!r}\n")
        count += 1
    return count


def read(path: Path) -> list[Unit]:
    """Read the units of a list, which may also be a file with one id per line.

    Raises:
        ValueError: a line does not begin with a unit id; the message names it.
        OSError: it cannot be read.
    """
    units = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        word = line.partition(",")[0].strip()
        if not word or (number == 1 and line.strip() == HEADER):
            continue
        try:
            units.append(parse_unit(word))
        except InvalidInput as error:
            raise ValueError(f"{path}, line {number}: {error.message}") from error
    return units


async def again(
    writer: MaintenanceWriter, store: Store, clock: float, units: Iterable[Unit], before: float
) -> tuple[int, int]:
    """Erase units again; return how many of a list, and of those decided before a time, had anything to erase.

    Args:
        clock: now, seconds since 1970.
    """
    rules = await writer.read(_judging)
    erasure = Erasure(writer, rules, store, lambda: clock)
    listed = await erasure.erase(units, "restore", "erased before, as a list says")
    return listed, await erasure.retire(before)


def _judging(connection: Connection) -> Mapping[str, LabelRule | None]:
    """Return the judging by head: errors of labels are computed before these are erased."""
    rules: dict[str, LabelRule | None] = {}
    for document in connection.scalars(select(deployment.c.document)):
        try:
            head = head_of(json.loads(document))
            rules[head.name] = label_rule(head)
        except (ValueError, TypeError, KeyError, LookupError):
            continue
    return rules
