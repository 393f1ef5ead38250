"""Reading of opinions about units that have another label, from which the error of reviewers is estimated."""

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select

from models.label_errors import LabelRule
from models.live.reviewers import HeadKey, Opinion
from services.labels.requests import LABEL
from services.ledger.tables import label, opinion
from services.monitor.label_join import Flushes

_COLUMNS = (
    *(opinion.c.request, opinion.c.epoch, opinion.c.sequence, opinion.c.head, opinion.c.kind, opinion.c.author),
    *(opinion.c.actor, opinion.c.received, opinion.c.value, opinion.c.difference, opinion.c.seconds),
    label.c.value.label("other_value"),
    label.c.source.label("other_source"),
)


def read_opinions(
    connection: Connection, flushes: Flushes, tasks: Mapping[int, str], rules: Mapping[HeadKey, LabelRule]
) -> dict[HeadKey, list[Opinion]]:
    """Return the opinions that were given or compared in the flushes, by head.

    Known units with an adjudicated label are left out: two labels differed there, so that labels err more often than on
    other units.

    Args:
        tasks: tasks of writers by epoch.
        rules: label rules by head; labels of other heads have no values.
    """
    query = (
        select(*_COLUMNS)
        .outerjoin_from(opinion, label, label.c.id == opinion.c.label)
        .where(flushes.of(opinion), opinion.c.kind.in_(("second", "known")), opinion.c.state == LABEL.target)
        .where(opinion.c.difference.is_not(None))
    )
    opinions: dict[HeadKey, list[Opinion]] = defaultdict(list)
    for row in connection.execute(query):
        if row.kind == "known" and row.other_source == "requested":
            continue
        place = tasks.get(row.epoch, ""), row.head
        opinions[place].append(_opinion(row, rules.get(place)))
    return opinions


def _opinion(row: Any, rule: LabelRule | None) -> Opinion:
    return Opinion(
        request=row.request,
        unit=(row.epoch, row.sequence),
        known=row.kind == "known",
        reviewer=row.actor or "",
        other=row.author,
        received=row.received,
        difference=row.difference if row.difference >= 0 else math.nan,
        value=_number(row.value, rule),
        other_value=_number(row.other_value, rule),
        seconds=math.nan if row.seconds is None else row.seconds,
    )


def _number(content: bytes | None, rule: LabelRule | None) -> float | None:
    """Return a label that is one number or class; None for others, and for erased ones."""
    if content is None or rule is None:
        return None
    value = rule.value(content)
    return float(value) if isinstance(value, int | float) else None
