"""Queries for predictions that reviewers see: after their label was given, and as drafts to be edited."""

from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, and_, select, update

from services.labels.queue_entries import find_entry, is_item
from services.labels.request_ids import RequestIds
from services.labels.requests import LABEL
from services.labels.submissions import check_labelled, last_content
from services.ledger.contract import Place
from services.ledger.tables import item, opinion
from services.ledger.tables import label as labels
from services.ledger.tables import policy as policies
from services.policy.decision import Decision


@dataclass(frozen=True, slots=True)
class Revealed:
    """Prediction of a unit as the ledger keeps it, with its decision and a label."""

    head: str
    evidence: bytes | None
    evidence_ref: str | None
    uncertainty: float | None
    """In the unit of the measure; None: not a number."""
    deferred: bool
    measure: str
    """Empty where the policy is not in the ledger."""
    threshold: float | None
    """In the unit of the measure; None where the policy is not in the ledger."""
    label: bytes | None
    """Canonical label of the caller."""
    label_ref: str | None


def deferred_units() -> ColumnElement[bool]:
    """Return the condition for units of the queue of drafts: those that were deferred, and thus are no audits."""
    return item.c.decision != Decision.ANSWER.value


def draft_evidence(connection: Connection, ids: RequestIds, request: str) -> tuple[bytes | None, str | None]:
    """Return the evidence of a claimed draft, in the row or as a reference into the store."""
    unit = ids.unit(request)
    if unit is None:
        return None, None
    query = select(item.c.evidence, item.c.evidence_ref).where(is_item(unit), item.c.revealed.is_not(None))
    row = connection.execute(query).one_or_none()
    return (None, None) if row is None else (row.evidence, row.evidence_ref)


def differing_labels(connection: Connection, request: str) -> list[tuple[bytes | None, str | None]]:
    """Return the label and the second opinion that an adjudication decides between."""
    own = connection.execute(select(opinion).where(opinion.c.request == request)).one()
    same = and_(opinion.c.epoch == own.epoch, opinion.c.sequence == own.sequence, opinion.c.head == own.head)
    queries = (
        select(labels.c.value, labels.c.value_ref).where(labels.c.id == own.label),
        select(opinion.c.value, opinion.c.value_ref).where(
            same, opinion.c.kind == "second", opinion.c.state == LABEL.target
        ),
    )
    rows = [connection.execute(query).one_or_none() for query in queries]
    return [(row.value, row.value_ref) for row in rows if row is not None]


def reveal(connection: Connection, place: Place, ids: RequestIds, request: str, lease: str, *, now: float) -> Revealed:
    """Note that the prediction is shown to the holder of a lease, who has labelled the unit, and return it.

    Raises:
        NotFound, Conflict: there is no such request, or this lease has not labelled it.
    """
    entry = find_entry(connection, ids, request)
    check_labelled(entry, lease)
    if entry.revealed is None:
        connection.execute(update(entry.table).where(entry.row).values(revealed=now))
    row = connection.execute(select(item).where(is_item(entry.unit))).one()
    measure, threshold = _policy(connection, row)
    value, reference = _own_label(connection, entry.opinion is not None, entry.row, f"lease:{lease}", row)
    return Revealed(
        head=row.head,
        evidence=row.evidence,
        evidence_ref=row.evidence_ref,
        uncertainty=row.uncertainty,
        deferred=row.decision != Decision.ANSWER.value,
        measure=measure,
        threshold=threshold,
        label=value,
        label_ref=reference,
    )


def _policy(connection: Connection, row: Row[Any]) -> tuple[str, float | None]:
    """Return measure and threshold of the policy that decided a unit; empty and None where it is not in the ledger."""
    same = and_(policies.c.head == row.head, policies.c.version == row.policy, policies.c.model == row.model)
    document = connection.scalar(select(policies.c.document).where(same).order_by(policies.c.time.desc()).limit(1))
    if document is None:
        return "", None
    fields = msgspec.json.decode(document)
    threshold = fields.get("threshold")
    return str(fields.get("measure", "")), threshold if isinstance(threshold, int | float) else None


def _own_label(
    connection: Connection, is_opinion: bool, of_entry: ColumnElement[bool], key: str, row: Row[Any]
) -> tuple[bytes | None, str | None]:
    if is_opinion:
        return last_content(connection.execute(select(opinion).where(of_entry)).one())
    of_unit = and_(labels.c.epoch == row.epoch, labels.c.sequence == row.sequence, labels.c.head == row.head)
    own = and_(of_unit, labels.c.source == "requested", labels.c.key.startswith(f"{key}#", autoescape=True))
    query = select(labels.c.value, labels.c.value_ref).where(own).order_by(labels.c.version.desc()).limit(1)
    label = connection.execute(query).one_or_none()
    return (None, None) if label is None else (label.value, label.value_ref)
