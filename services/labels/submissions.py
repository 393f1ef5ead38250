"""Labels of claimed requests: the first one, which is blind but for drafts, and corrections of it.

A label that is given after the prediction was shown is kept and marked as assisted. It never replaces the blind one in
estimates.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, select, update

from services.labels.intake import KEY_REUSED, Outcome, Review, Taken, take
from services.labels.label_validation import LabelRules, Row, SubmittedLabel, stored_key
from services.labels.opinions import Opinions
from services.labels.queue_entries import Entry, find_entry
from services.labels.request_ids import RequestIds
from services.labels.requests import LABEL, SUBMIT, next_state
from services.ledger.contract import Place
from services.ledger.tables import label as labels
from services.ledger.tables import opinion
from services.ledger.unit_ids import Unit
from services.runtime.errors import Conflict


@dataclass(frozen=True, slots=True)
class Answer:
    """Label of a claimed request."""

    request: str
    lease: str
    value: object
    """See ``SubmittedLabel.value``."""
    actor: str
    seconds: float | None = None
    """Time that the reviewer took, s; None: unknown."""
    observed: float | None = None
    """Time at which the quantity was measured or judged, seconds since 1970."""


@dataclass(frozen=True)
class Submissions:
    """Labels of claimed requests; its methods are changes to be run by a ``LedgerWriter``."""

    ids: RequestIds
    opinions: Opinions
    rules: LabelRules

    def submit(
        self, connection: Connection, place: Place, answer: Answer, *, refs: dict[int, str], now: float
    ) -> Outcome:
        """Label a claimed request; label and state in one transaction. Idempotent: the same label again is a duplicate.

        Args:
            refs: reference of a large value in the store, at 0.

        Raises:
            NotFound, Conflict: there is no such request, the lease is lost, or it has given another label already.
            InvalidInput: the value is not a label of its head.
        """
        entry = find_entry(connection, self.ids, answer.request)
        if entry.state != LABEL.target or not entry.held_by(answer.lease):  # else it may be the same label again
            next_state(entry.state, SUBMIT, holds=entry.held_by(answer.lease))
        row = self._row(entry, answer, now)
        if entry.opinion is not None:
            return self._submit_opinion(connection, place, entry, answer, row, refs, now)
        review = Review(assisted=entry.revealed is not None, seconds=answer.seconds)
        outcome = _outcome(take(connection, place, [row], actor=answer.actor, received=now, refs=refs, review=review))
        if outcome is not Outcome.DUPLICATE and not review.assisted:
            self.opinions.draw_second(connection, place, _label_id(connection, row), answer.actor, now)
        return outcome

    def correct(
        self, connection: Connection, place: Place, answer: Answer, *, refs: dict[int, str], now: float
    ) -> Outcome:
        """Replace the label that a lease has given. What comes after the prediction was shown is marked as assisted.

        Raises:
            NotFound, Conflict: there is no such request, the lease has given no label, or another label counts now.
            InvalidInput: the value is not a label of its head.
        """
        entry = find_entry(connection, self.ids, answer.request)
        check_labelled(entry, answer.lease)
        row = self._row(entry, answer, now)
        if entry.opinion in ("second", "known"):
            return _correct_opinion(connection, place, entry, row, refs)
        last = _last_label(connection, entry)
        if not last.key.startswith(f"{_key(answer.lease)}#"):
            raise Conflict("another label of this unit counts now and cannot be corrected here", code="superseded")
        if row.digest == last.digest:
            return Outcome.DUPLICATE
        row = _of_version(row, answer.lease, last.version + 1)
        review = Review(assisted=entry.revealed is not None, seconds=answer.seconds)
        outcome = _outcome(take(connection, place, [row], actor=answer.actor, received=now, refs=refs, review=review))
        if not review.assisted:
            label = _label_id(connection, row)
            if entry.opinion is None:
                self.opinions.relabelled(connection, place, entry.unit, entry.head, label)
            else:
                values = {"label": label} | _content(row, refs)
                connection.execute(update(opinion).where(entry.row).values(values | place.columns))
        return outcome

    def about(self, connection: Connection, request: str) -> tuple[Unit, str]:
        """Return the unit and the head of a request.

        Raises:
            NotFound: there is no such request.
        """
        entry = find_entry(connection, self.ids, request, lock=False)
        return entry.unit, entry.head

    def _row(self, entry: Entry, answer: Answer, now: float) -> Row:
        """Return the validated label of an answer, of version 1 under the key of its lease.

        Raises:
            InvalidInput: the value is not a label of the head.
        """
        key = _key(answer.lease)
        label = SubmittedLabel(entry.unit, answer.value, "requested", entry.head, key, 1, answer.observed)
        rows, rejected = self.rules.check([label], now)
        for rejection in rejected:
            rejection.error.index = -1
            raise rejection.error
        return rows[0]

    def _submit_opinion(
        self,
        connection: Connection,
        place: Place,
        entry: Entry,
        answer: Answer,
        row: Row,
        refs: dict[int, str],
        now: float,
    ) -> Outcome:
        """Keep an opinion; an adjudication becomes the label that counts, too."""
        if entry.state == LABEL.target:
            known = connection.scalar(select(opinion.c.digest).where(entry.row))
            if known != row.digest:
                raise _labelled_already()
            return Outcome.DUPLICATE
        values: dict[str, Any] = {"state": LABEL.target, "holder": None, "lease_until": None, "actor": answer.actor}
        values |= {"received": now, "seconds": answer.seconds, "digest": row.digest}
        values |= _content(row, refs)
        outcome = Outcome.ACCEPTED
        if entry.opinion == "adjudication":
            version = _last_label(connection, entry).version + 1
            row = _of_version(row, answer.lease, version)
            review = Review(seconds=answer.seconds)
            taken = take(connection, place, [row], actor=answer.actor, received=now, refs=refs, review=review)
            outcome = _outcome(taken)
            values["label"] = _label_id(connection, row)
        connection.execute(update(opinion).where(entry.row).values(values | place.columns))
        return outcome


def check_labelled(entry: Entry, lease: str) -> None:
    """Check that a lease has labelled its request.

    Raises:
        Conflict: it has not, or it is not the lease of this request.
    """
    if not entry.held_by(lease):
        raise Conflict("this lease is not the last one of the request", code="lease_lost")
    if entry.state != LABEL.target:
        raise Conflict.about(
            "state", entry.state, "must be labelled: submit a label first", code="wrong_state", allowed=LABEL.target
        )


def _correct_opinion(connection: Connection, place: Place, entry: Entry, row: Row, refs: dict[int, str]) -> Outcome:
    """Keep the correction of an opinion beside its first value, which is the one that is compared.

    Once it is labelled, a reviewer may learn that it is an opinion, and could correct these more carefully than others.
    """
    content = tuple(_content(row, refs).values())
    if content == last_content(connection.execute(select(opinion).where(entry.row)).one()):
        return Outcome.DUPLICATE
    values = dict(zip(("correction", "correction_ref"), content, strict=True))
    connection.execute(update(opinion).where(entry.row).values(values | place.columns))
    return Outcome.CORRECTED


def last_content(row: Any) -> tuple[bytes | None, str | None]:
    """Return the last value of an opinion that its reviewer gave, in the row or as a reference into the store.

    Args:
        row: row of a labelled opinion.
    """
    correction = (row.correction, row.correction_ref)
    return (row.value, row.value_ref) if correction == (None, None) else correction


def _content(row: Row, refs: dict[int, str]) -> dict[str, Any]:
    """Return the columns of a value: the value itself, or its reference into the store where it is large."""
    return {"value": None if refs else row.value, "value_ref": refs.get(0)}


def _last_label(connection: Connection, entry: Entry) -> Any:
    """Return the requested label of a unit with the greatest version."""
    of_unit = and_(labels.c.epoch == entry.unit[0], labels.c.sequence == entry.unit[1], labels.c.head == entry.head)
    newest = (labels.c.version.desc(), labels.c.received.desc(), labels.c.id.desc())
    query = select(labels).where(of_unit, labels.c.source == "requested").order_by(*newest).limit(1)
    return connection.execute(query).one()


def _label_id(connection: Connection, row: Row) -> int:
    of_unit = and_(labels.c.epoch == row.unit[0], labels.c.sequence == row.unit[1], labels.c.head == row.head)
    query = select(labels.c.id).where(of_unit, labels.c.source == row.source, labels.c.key == row.key)
    return int(connection.execute(query).scalar_one())


def _of_version(row: Row, lease: str, version: int) -> Row:
    return row._replace(version=version, key=stored_key(_key(lease), version, row.observed, row.digest))


def _key(lease: str) -> str:
    """Return the idempotency key of the labels that a lease gives."""
    return f"lease:{lease}"


def _outcome(taken: Taken) -> Outcome:
    """Return the outcome of one label.

    Raises:
        Conflict: the lease has labelled the request already, with another value.
        InvalidInput: the label was rejected.
    """
    for rejection in taken.rejected:
        if rejection.error.code == KEY_REUSED:  # its message names the unit, which reviewers must not learn
            raise _labelled_already()
        rejection.error.index = -1
        raise rejection.error
    return taken.outcomes[0]


def _labelled_already() -> Conflict:
    return Conflict(
        "this lease has labelled the request already, with another value; the first one stands",
        code="already_labelled",
        field="value",
    )
