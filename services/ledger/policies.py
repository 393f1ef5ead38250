"""Log of policy changes; the latest one for an artefact and profile is in force."""

from collections.abc import Collection, Mapping

from sqlalchemy import Connection, func, insert, select

from services.ledger.contract import Place
from services.ledger.tables import policy as table
from services.policy.changes import from_json, to_json
from services.policy.decision import Policy, split_profile
from services.policy.log import Bound, Entry


def latest(connection: Connection, bound: Bound) -> Mapping[str, Entry]:
    """Return the last change for this artefact and profile, by head."""
    numbers = (
        select(table.c.head, func.max(table.c.number).label("number"))
        .where(table.c.task == bound.task, table.c.model == bound.model, table.c.profile == bound.profile)
        .group_by(table.c.head)
        .subquery()
    )
    rows = connection.execute(
        select(table)
        .join(numbers, (table.c.head == numbers.c.head) & (table.c.number == numbers.c.number))
        .where(table.c.task == bound.task)
    )
    return {row.head: _entry(row) for row in rows}


def under_other_profiles(connection: Connection, bound: Bound, besides: Collection[str]) -> Mapping[str, Entry]:
    """Return the last change for this artefact under another numeric profile with the same measures, by head.

    Args:
        besides: authors whose changes are ignored.
    """
    measures = split_profile(bound.profile)[1]
    rows = connection.execute(
        select(table)
        .where(table.c.task == bound.task, table.c.model == bound.model, table.c.profile != bound.profile)
        .where(table.c.author.not_in(besides))
        .order_by(table.c.number)
    )
    return {row.head: _entry(row) for row in rows if split_profile(row.profile)[1] == measures}


def history(connection: Connection, task: str, head: str, most: int) -> list[Entry]:
    """Return the last changes of a head, for any artefact, the newest first."""
    rows = connection.execute(
        select(table).where(table.c.task == task, table.c.head == head).order_by(table.c.number.desc()).limit(most)
    )
    return [_entry(row) for row in rows]


def append(
    connection: Connection, place: Place, bound: Bound, policy: Policy, *, time: float, author: str, reason: str
) -> Entry:
    """Append a change.

    Raises:
        sqlalchemy.exc.IntegrityError: another replica wrote one at this moment.
    """
    last = connection.scalar(
        select(func.max(table.c.number)).where(table.c.task == bound.task, table.c.head == policy.head)
    )
    entry = Entry((last or 0) + 1, time, author, reason, policy)
    connection.execute(
        insert(table).values(
            writer=place.writer,
            flush=place.flush,
            task=bound.task,
            head=policy.head,
            number=entry.number,
            version=policy.version,
            model=bound.model,
            profile=bound.profile,
            time=time,
            author=author,
            reason=reason,
            document=to_json(policy),
        )
    )
    return entry


def _entry(row: object) -> Entry:
    columns = row._mapping  # type: ignore[attr-defined]
    return Entry(
        columns["number"], columns["time"], columns["author"], columns["reason"], from_json(columns["document"])
    )
