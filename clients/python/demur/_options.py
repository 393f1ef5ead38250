"""Options of a prediction request that all tasks share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from demur._errors import wrong_argument
from demur.v1 import common_pb2 as common

Purpose: TypeAlias = Literal["decide", "explore", "replay"]
"""Purpose of a request: it is acted on, it is hypothetical, or it repeats a past one."""

DeferAbove: TypeAlias = float | Mapping[str, float] | None
"""The caller's stricter thresholds: of the only head, or by name of the head."""

_PURPOSES: dict[str, common.Purpose] = {
    "decide": common.PURPOSE_DECIDE,
    "explore": common.PURPOSE_EXPLORE,
    "replay": common.PURPOSE_REPLAY,
}


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Options that are independent of a request's input.

    Raises:
        InvalidInput: an option has a value that is not allowed.
    """

    purpose: Purpose
    defer_above: DeferAbove
    members: bool = False

    def __post_init__(self) -> None:
        if self.purpose not in _PURPOSES:
            raise wrong_argument("purpose", self.purpose, ", ".join(_PURPOSES))
        limits = self.defer_above
        for limit in limits.values() if isinstance(limits, Mapping) else () if limits is None else (limits,):
            if not _is_limit(limit):
                raise wrong_argument(
                    "defer_above", limits, "a number in the unit of the head's measure, or a mapping from head to such"
                )

    @classmethod
    def of_one_head(cls, purpose: Purpose, defer_above: DeferAbove) -> RequestOptions:
        """Return the options of a task with one head, whose threshold is a plain number.

        Raises:
            InvalidInput: it is a mapping, or an option has a value that is not allowed.
        """
        if isinstance(defer_above, Mapping):
            raise wrong_argument("defer_above", defer_above, "a number in the unit of the measure; there is one head")
        return cls(purpose, defer_above)

    def fields(self) -> dict[str, Any]:
        """Return the fields of requests that carry the options; ``members`` only where it is set."""
        fields: dict[str, Any] = {"purpose": _PURPOSES[self.purpose]}
        if self.members:
            fields["members"] = True
        if isinstance(self.defer_above, Mapping):
            fields["defer_above_by_head"] = {str(head): float(limit) for head, limit in self.defer_above.items()}
        elif self.defer_above is not None:
            fields["defer_above"] = float(self.defer_above)
        return fields

    def begin(self, **more: Any) -> common.StreamBegin:
        """Return the content of the first frame of a stream; ``more`` are further fields of it."""
        return common.StreamBegin(**self.fields(), **more)


def _is_limit(limit: Any) -> bool:
    try:
        return not math.isnan(limit)
    except TypeError:
        return False
