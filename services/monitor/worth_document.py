"""JSON of the worth of waiting labels; missing and infinite values are null."""

import math
from typing import Any

from models.evaluation.evaluate import plain
from models.live.request_worth import RequestWorth
from models.live.units import StreamKey
from services.ledger.unit_ids import unit_text

MOST_UNITS = 1000
"""Most units that are listed."""


def worth_document(key: StreamKey, figure: str, worth: RequestWorth) -> dict[str, Any]:
    """Return what a label of each kind of waiting request is worth, and the units, the most valuable and oldest first.

    Only for operators: a reviewer could learn from it what kind of request waits.
    """
    strata = [
        {
            "decision": "answer" if stratum.answered else "defer",
            "propensity": list(stratum.propensity),
            "waiting": stratum.waiting,
            "narrowing": stratum.narrowing,
            "narrowing_share": _share(stratum.narrowing, worth),
        }
        for stratum in worth.strata
    ]
    units = worth.units
    columns = (units.epoch, units.sequence, worth.time, worth.narrowing)
    rows = zip(*(column[:MOST_UNITS].tolist() for column in columns), strict=True)
    listed = [
        {"unit": unit_text((epoch, sequence)), "time": time, "narrowing": narrowing}
        for epoch, sequence, time, narrowing in rows
    ]
    document = {**key._asdict(), "figure": figure, "half_width": worth.half_width, "strata": strata}
    return plain(document | {"waiting": len(units), "units": listed})


def kinds_document(worth: RequestWorth) -> dict[str, Any]:
    """Return the share of the interval that one more label takes away, by decision, whether any waits or not."""
    return plain({"answer": _share(worth.of_answered, worth), "defer": _share(worth.of_deferred, worth)})


def _share(narrowing: float, worth: RequestWorth) -> float:
    if not math.isfinite(narrowing):
        return math.nan
    return narrowing / worth.half_width if worth.half_width else 0.0
