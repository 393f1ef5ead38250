"""Intake of labels: each batch is written by a few statements, whatever its size, exactly once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select, update

from services.labels.label_precedence import Rank, rank
from services.labels.label_validation import Rejection, Row
from services.labels.requests import LABEL
from services.labels.statements import insert_new, note, of_units
from services.ledger.contract import Place
from services.ledger.tables import delivery, item, writer
from services.ledger.tables import label as labels
from services.ledger.unit_ids import Unit, unit_text
from services.runtime.errors import InvalidInput

PIECE = 1024
"""Most labels of one change, so that the writer gets to other changes, such as those of waiting answers."""
INLINE_BYTES = 16_384
"""Larger values go to the store."""
KEY_REUSED = "key_reused"
"""Error code for another value under a key that is in use."""
_RESOLVING = ("requested", "census")
"""Sources whose labels resolve a unit; volunteered ones are only shown."""


class Outcome(IntEnum):
    """Outcome of a submitted label, with the values of the wire."""

    ACCEPTED = 1
    DUPLICATE = 2
    """The ledger has it already, under this key or with this content."""
    CORRECTED = 3
    """It counts from now on, instead of an earlier one."""
    SUPERSEDED = 4
    """It is kept, but another one takes precedence."""
    ORPHAN = 5
    """It is kept, and joined if its unit appears later."""
    REJECTED = 6


@dataclass(frozen=True, slots=True)
class Review:
    """How labels came about."""

    assisted: bool = False
    """True: given in sight of the prediction."""
    seconds: float | None = None
    """Time that a person took, s; None: unknown."""


_UNREVIEWED = Review()


class Taken(NamedTuple):
    """Result of a change."""

    outcomes: dict[int, Outcome]
    """Outcomes by index in the batch."""
    rejected: list[Rejection]


class _Known(NamedTuple):
    """Rows of the ledger for the units of a piece."""

    heads: dict[Unit, str]
    """Head of each unit with an item."""
    erased: set[Unit]
    """Erased units; nothing more is kept of them."""
    epochs: set[int]
    digests: dict[tuple[Unit, str, str, str], str]
    """(unit, head, source, key) to the digest of that label."""
    ranks: dict[tuple[Unit, str, str], Rank]
    """(unit, head, source) to the greatest rank."""


def take(
    connection: Connection,
    place: Place,
    rows: Sequence[Row],
    *,
    actor: str,
    received: float,
    refs: Mapping[int, str] | None = None,
    review: Review = _UNREVIEWED,
) -> Taken:
    """Write labels; requested ones also end their request. To be run by a ``LedgerWriter``.

    Args:
        rows: at most ``PIECE``.
        received: seconds since 1970.
        refs: references of values that are in the store instead of the row, by index.
    """
    taken = Taken({}, [])
    known = _known(connection, {row.unit for row in rows})
    fresh: list[Row] = []
    for row in rows:
        _sort(row, known, received, fresh, taken)
    if not fresh:
        return taken
    written = _insert(connection, place, fresh, actor, received, refs or {}, review)
    if written < len(fresh):  # another process wrote the same keys at the same time
        _settle(connection, fresh, taken)
    _answer_requests(connection, place, [row.unit for row in fresh if row.source == "requested"], actor, received)
    _wake_deliveries(connection, [row.unit for row in fresh if row.source in _RESOLVING], received)
    return taken


def pieces(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield parts of at most ``PIECE`` labels, by unit, so that concurrent writers lock rows in one order."""
    ordered = sorted(rows, key=lambda row: row.unit)
    return (ordered[start : start + PIECE] for start in range(0, len(ordered), PIECE))


def _known(connection: Connection, units: set[Unit]) -> _Known:
    epochs = set(connection.scalars(select(writer.c.epoch).where(writer.c.epoch.in_({epoch for epoch, _ in units}))))
    known = _Known({}, set(), epochs, {}, {})
    columns = (item.c.epoch, item.c.sequence, item.c.head, item.c.erased)
    for condition in of_units(item, {unit for unit in units if unit[0] in epochs}):
        for epoch, sequence, head, erased in connection.execute(select(*columns).where(condition)):
            known.heads[epoch, sequence] = head
            if erased is not None:
                known.erased.add((epoch, sequence))
    ranked = (labels.c.version, labels.c.observed, labels.c.received, labels.c.digest)
    named = (labels.c.epoch, labels.c.sequence, labels.c.head, labels.c.source, labels.c.key, labels.c.erased)
    for condition in of_units(labels, units):
        rows = connection.execute(select(*named, *ranked).where(condition))
        for epoch, sequence, head, source, key, erased, *rest in rows:
            unit = (epoch, sequence)
            if erased is not None:
                known.erased.add(unit)
            known.digests[unit, head, source, key] = rest[3]
            place = unit, head, source
            known.ranks[place] = max(known.ranks.get(place, (0, 0.0, 0.0, "")), rank(*rest))
    return known


def _sort(row: Row, known: _Known, received: float, fresh: list[Row], taken: Taken) -> None:
    """Decide the outcome of a label, and note the label for the next one of its unit."""
    head = known.heads.get(row.unit)
    if head is not None and head != row.head:
        taken.rejected.append(_wrong_head(row, head))
        return
    if row.unit in known.erased:
        taken.rejected.append(_erased(row))
        return
    identity = (row.unit, row.head, row.source, row.key)
    if (digest := known.digests.get(identity)) is not None:
        if digest == row.digest:
            taken.outcomes[row.at] = Outcome.DUPLICATE
        else:
            taken.rejected.append(_key_reused(row))
        return
    own = rank(row.version, row.observed, received, row.digest)
    greatest = known.ranks.get(identity[:3])
    known.digests[identity] = row.digest
    known.ranks[identity[:3]] = own if greatest is None else max(own, greatest)
    fresh.append(row)
    if head is None and (row.source == "requested" or row.unit[0] not in known.epochs):
        taken.outcomes[row.at] = Outcome.ORPHAN
    elif greatest is None:
        taken.outcomes[row.at] = Outcome.ACCEPTED
    else:
        taken.outcomes[row.at] = Outcome.CORRECTED if own > greatest else Outcome.SUPERSEDED


def _insert(
    connection: Connection,
    place: Place,
    rows: list[Row],
    actor: str,
    received: float,
    refs: Mapping[int, str],
    review: Review,
) -> int:
    """Insert labels and return how many were new."""
    count = len(rows)
    columns: dict[str, list[Any]] = {name: [value] * count for name, value in place.columns.items()}
    columns |= {
        "epoch": [row.unit[0] for row in rows],
        "sequence": [row.unit[1] for row in rows],
        "head": [row.head for row in rows],
        "source": [row.source for row in rows],
        "actor": [actor] * count,
        "key": [row.key for row in rows],
        "version": [row.version for row in rows],
        "observed": [row.observed for row in rows],
        "received": [received] * count,
        "value": [None if row.at in refs else row.value for row in rows],
        "value_ref": [refs.get(row.at) for row in rows],
        "digest": [row.digest for row in rows],
        "assisted": [int(review.assisted)] * count,
        "seconds": [review.seconds] * count,
    }
    return insert_new(connection, labels, columns)


def _settle(connection: Connection, rows: list[Row], taken: Taken) -> None:
    """Correct outcomes after a race of two processes for the same keys."""
    known = _known(connection, {row.unit for row in rows})
    for row in rows:
        if known.digests.get((row.unit, row.head, row.source, row.key)) != row.digest:
            del taken.outcomes[row.at]
            taken.rejected.append(_key_reused(row))


def _answer_requests(connection: Connection, place: Place, units: list[Unit], actor: str, now: float) -> None:
    """End the requests of these units."""
    values = {"state": LABEL.target, "holder": None, "lease_until": None}
    ended: list[Unit] = []
    for condition in of_units(item, units):
        change = (
            update(item)
            .where(condition, item.c.state.in_(LABEL.sources))
            .values(values)
            .returning(item.c.epoch, item.c.sequence)
        )
        ended += [(epoch, sequence) for epoch, sequence in connection.execute(change)]
    note(connection, place, ended, LABEL.target, now, actor, "")


def _wake_deliveries(connection: Connection, units: list[Unit], now: float) -> None:
    """Release deliveries that wait for these units."""
    if not units or connection.scalar(select(delivery.c.id).where(delivery.c.state == "waiting").limit(1)) is None:
        return
    pending = update(delivery).values(state="pending", next_time=bindparam("at"))
    for condition in of_units(delivery, units):
        connection.execute(pending.where(condition, delivery.c.state == "waiting"), {"at": now})


def _wrong_head(row: Row, head: str) -> Rejection:
    error = InvalidInput.about(
        "head",
        row.head,
        f"must be {head}, the head of the unit {unit_text(row.unit)}",
        code="wrong_head",
        allowed=head,
        index=row.at,
    )
    return Rejection(row.at, error)


def _erased(row: Row) -> Rejection:
    error = InvalidInput.about(
        "unit", unit_text(row.unit), "was erased; no labels of it are kept", code="unit_erased", index=row.at
    )
    return Rejection(row.at, error)


def _key_reused(row: Row) -> Rejection:
    error = InvalidInput.about(
        "key",
        row.key.rpartition("#")[0],
        f"version {row.version} of the unit {unit_text(row.unit)} has another value already",
        code=KEY_REUSED,
        advice="a correction needs a greater version",
        index=row.at,
    )
    return Rejection(row.at, error)
