"""Schema of ledgers, for SQLite and PostgreSQL.

Every row that a reader follows carries the place at which it was written: the epoch of its writer and the number of
the flush (one transaction). A writer commits its flushes in order, so that (epoch, flush) is a cursor without holes.

There are no foreign keys: a writer's row is there before anything of its own, and the check of a row costs more than
the row. Times are seconds since 1970; epoch and sequence are the identity of a unit (see ``services.ledger.unit_ids``).
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()

PROFILE_CHARACTERS = 64
"""Longest name of a numeric profile."""
OPEN = ("requested", "claimed")
"""``item.state`` of requests that can still be answered."""
UNASKED = "unasked"
"""``item.state`` of a unit that is kept for a census only, without a label request."""


def _place() -> tuple[Column[int], Column[int]]:
    """Return the columns of the place of a row: writer and flush."""
    return (
        Column("writer", BigInteger, nullable=False),
        Column("flush", BigInteger, nullable=False),
    )


schema_version = Table(
    "schema_version",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("applied", Double, nullable=False),
)

writer = Table(
    "writer",
    metadata,
    Column("epoch", BigInteger, primary_key=True, autoincrement=False),
    Column("task", String(32), nullable=False),
    Column("host", String(255), nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started", Double, nullable=False),
    Column("secret", LargeBinary, nullable=False),  # keys the audit draws of this epoch; never leaves the ledger
    Column("flush", BigInteger, nullable=False),  # the last one
    Column("journal_end", BigInteger, nullable=False),  # bytes of its journal that are in segments
    Column("heartbeat", Double, nullable=False),  # everything decided before this is in the ledger, or in a gap
    Column("ended", Double),  # after a drain, or when the journal of one that was killed is in segments
)

deployment = Table(
    "deployment",
    metadata,
    *_place(),
    Column("model", String(255), primary_key=True),
    Column("head", String(64), primary_key=True),
    Column("profile", String(PROFILE_CHARACTERS), primary_key=True),
    Column("task", String(32), nullable=False),
    Column("time", Double, nullable=False),
    Column("document", Text, nullable=False),  # JSON: head, members, calibration, quality, for the monitor
)

policy = Table(
    "policy",
    metadata,
    *_place(),
    Column("task", String(32), primary_key=True),
    Column("head", String(64), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # 1, 2, ...: compare-and-set by uniqueness
    Column("version", String(96), nullable=False),
    Column("model", String(255), nullable=False),  # and profile: what the policy is bound to
    Column("profile", String(PROFILE_CHARACTERS), nullable=False),
    Column("time", Double, nullable=False),
    Column("author", String(128), nullable=False),
    Column("reason", Text, nullable=False),
    Column("document", Text, nullable=False),  # JSON of services.policy.decision.Policy
)

segment = Table(
    "segment",
    metadata,
    Column("writer", BigInteger, primary_key=True, autoincrement=False),
    Column("flush", BigInteger, primary_key=True, autoincrement=False),
    Column("part", Integer, primary_key=True, autoincrement=False),  # one for each head, model, policy, purpose
    Column("head", String(64), nullable=False),
    Column("model", String(255), nullable=False),
    Column("policy", String(96), nullable=False),
    Column("purpose", String(8), nullable=False),
    Column("count", Integer, nullable=False),
    Column("deferred", Integer, nullable=False),
    Column("first_time", Double, nullable=False),
    Column("last_time", Double, nullable=False),
    Column("body", LargeBinary),  # see services.ledger.segments
)

item = Table(
    "item",
    metadata,
    Column("epoch", BigInteger, primary_key=True, autoincrement=False),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    *_place(),
    Column("head", String(64), nullable=False),
    Column("model", String(255), nullable=False),
    Column("policy", String(96), nullable=False),
    Column("time", Double, nullable=False),
    Column("uncertainty", Double),  # null: NaN; infinite where the prediction is impossible
    Column("raw_uncertainty", Double),  # the measure as it was computed, where the prediction is impossible; else null
    Column("decision", Integer, nullable=False),
    Column("propensity", Double, nullable=False),
    Column("census", Integer, nullable=False),  # 1: every unit that was decided like this one has an item
    Column("evidence", LargeBinary),
    Column("evidence_ref", String(80)),  # of what is too large for a row, in the store
    Column("payload", LargeBinary),
    Column("payload_ref", String(80)),
    Column("payload_type", String(64)),
    Column("erased", Double),
    # the request for a label; what changes goes to request_event, too
    Column("state", String(16), nullable=False),
    Column("priority", Double, nullable=False),  # smaller first; independent of the decision
    Column("due", Double),
    Column("holder", String(128)),
    Column("lease", String(32)),
    Column("lease_until", Double),
    Column("revealed", Double),  # when its prediction was shown to the holder of the lease; later labels are assisted
    Index("item_place", "writer", "flush"),
    Index("item_feed", "head", "state", "priority"),
    Index(
        "item_lease", "lease_until", sqlite_where=text("state = 'claimed'"), postgresql_where=text("state = 'claimed'")
    ),
    sqlite_with_rowid=False,
)

request_event = Table(
    "request_event",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    *_place(),
    Column("epoch", BigInteger, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("time", Double, nullable=False),
    Column("state", String(16), nullable=False),  # the new one
    Column("actor", String(128), nullable=False),
    Column("reason", String(255), nullable=False),
    Column("propensity", Double),  # of a second-phase draw
    Index("request_event_place", "writer", "flush"),
    Index("request_event_unit", "epoch", "sequence"),
)

label = Table(
    "label",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    *_place(),
    Column("epoch", BigInteger, nullable=False),  # of the unit, known here or not
    Column("sequence", BigInteger, nullable=False),
    Column("head", String(64), nullable=False),
    Column("source", String(16), nullable=False),
    Column("actor", String(128), nullable=False),
    Column("key", String(64), nullable=False),  # the caller's own, or a digest of the content: makes it idempotent
    Column("version", Integer, nullable=False),
    Column("observed", Double),
    Column("received", Double, nullable=False),
    Column("value", LargeBinary),  # as models.label_errors wrote it; null once erased
    Column("value_ref", String(80)),
    Column("digest", String(64), nullable=False),  # sha256 of the value, the tie-breaker among labels
    Column("error", Double),  # kept of what was erased
    Column("erased", Double),
    Column("assisted", Integer, nullable=False, server_default=text("0")),  # 1: given in sight of the prediction
    Column("seconds", Double),  # that a person took
    UniqueConstraint("epoch", "sequence", "head", "source", "key", name="label_once"),
    Index("label_place", "writer", "flush"),
)

opinion = Table(
    "opinion",
    metadata,
    Column("request", String(32), primary_key=True),  # random; looks like the id of any request
    *_place(),  # of the transaction that wrote the difference, or the last change before
    Column("epoch", BigInteger, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("head", String(64), nullable=False),
    Column("kind", String(16), nullable=False),  # second, known, adjudication
    Column("number", Integer, nullable=False),  # 0, 1, ... where reviewers get one each, or it has a new id
    Column("time", Double, nullable=False),  # from when it waits
    Column("state", String(16), nullable=False),
    Column("holder", String(128)),
    Column("lease", String(32)),
    Column("lease_until", Double),
    Column("revealed", Double),
    Column("label", BigInteger),  # id of the label that it is compared with
    Column("author", String(128), nullable=False),  # of that label, who does not get this request
    Column("other_author", String(128), nullable=False),  # adjudication: of the second opinion; else empty
    Column("actor", String(128)),
    Column("received", Double),
    Column("seconds", Double),
    Column("value", LargeBinary),
    Column("value_ref", String(80)),
    Column("digest", String(64)),
    Column("correction", LargeBinary),  # a later value, given in sight of the prediction
    Column("correction_ref", String(80)),
    Column("difference", Double),  # from the label, see models.label_errors; null: not compared; -1: not comparable
    Column("erased", Double),
    Column("shown_epoch", BigInteger),  # of the open request whose times and place in the list its claim shows
    Column("shown_sequence", BigInteger),
    Column("handed_to", Text, nullable=False, server_default=text("''")),  # all who have had it, the last one last
    UniqueConstraint("epoch", "sequence", "head", "kind", "number", name="opinion_once"),
    Index("opinion_place", "writer", "flush"),
    Index("opinion_feed", "state", "difference", "head", "kind"),
)

flag = Table(
    "flag",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    *_place(),
    Column("epoch", BigInteger, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("time", Double, nullable=False),
    Column("actor", String(128), nullable=False),
    Column("note", Text, nullable=False),  # empty once erased
    Index("flag_place", "writer", "flush"),
    Index("flag_unit", "epoch", "sequence"),
)

gap = Table(
    "gap",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    *_place(),
    Column("from_time", Double, nullable=False),
    Column("to_time", Double, nullable=False),
    Column("units", BigInteger, nullable=False),  # answered or deferred with recorded = false
    Column("reason", String(255), nullable=False),
    Index("gap_place", "writer", "flush"),
)

delivery = Table(
    "delivery",
    metadata,
    Column("id", String(32), primary_key=True),  # also the idempotency key that the receiver sees
    *_place(),
    Column("kind", String(16), nullable=False),  # request, resolution
    Column("epoch", BigInteger, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("url", Text, nullable=False),
    Column("state", String(16), nullable=False),  # waiting, pending, delivered, failed
    Column("attempts", Integer, nullable=False),
    Column("next_time", Double, nullable=False),
    Column("status", Text, nullable=False),  # result of the last attempt
    Column("time", Double, nullable=False),
    Index("delivery_due", "state", "next_time"),
    Index("delivery_unit", "epoch", "sequence"),
)

erasure = Table(
    "erasure",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    *_place(),
    Column("time", Double, nullable=False),
    Column("actor", String(128), nullable=False),
    Column("reason", String(255), nullable=False),
    Column("units", BigInteger, nullable=False),
    Index("erasure_place", "writer", "flush"),
)

secret = Table(
    "secret",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", LargeBinary, nullable=False),  # 32 random bytes, one for all writers; never leaves the services
)
