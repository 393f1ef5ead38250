"""How a question about rows is asked, and its messages on the wire, whatever the task."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from demur._describe import Head
from demur._errors import TooLarge, wrong_argument
from demur._exchange import A
from demur._rows import Layout
from demur.v1.common_pb2 import (
    PURPOSE_DECIDE,
    PURPOSE_EXPLORE,
    PURPOSE_REPLAY,
    PackedRows,
    StreamBegin,
)
from demur.v1.common_pb2 import Purpose as PurposeValue
from demur.v1.common_pb2 import Rows as RowsMessage

Purpose: TypeAlias = Literal["decide", "explore", "replay"]
"""Why is asked: a real question, a hypothetical one, or a past one again."""

DeferAbove: TypeAlias = float | Mapping[str, float] | None
"""The caller's stricter thresholds: of the only head, or by name of the head."""

_PURPOSES: dict[str, PurposeValue] = {
    "decide": PURPOSE_DECIDE,
    "explore": PURPOSE_EXPLORE,
    "replay": PURPOSE_REPLAY,
}


@dataclass(frozen=True)
class RowMessages(Generic[A]):
    """The messages of a task whose questions are rows, and what its answers are to callers."""

    stub: Callable[[Any], Any]
    """Makes the stub of the task's service on a channel; it has Predict, PredictStream and Describe."""
    question: Callable[..., Any]
    """Message of a unary question."""
    frame: Callable[..., Any]
    """Frame of a stream from the caller: ``begin`` or ``chunk``."""
    chunk: Callable[..., Any]
    """Message of one chunk of a stream."""
    decode: Callable[[Any, tuple[Head, ...]], A]
    """The answer in a response, given the heads that the service describes."""
    join: Callable[[Sequence[A]], A]
    """One answer for consecutive parts of a batch, at least one."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a question is asked, whatever its rows."""

    purpose: Purpose
    defer_above: DeferAbove
    members: bool

    def __post_init__(self) -> None:
        if self.purpose not in _PURPOSES:
            raise wrong_argument("purpose", self.purpose, ", ".join(_PURPOSES))
        limits = self.defer_above
        for limit in limits.values() if isinstance(limits, Mapping) else () if limits is None else (limits,):
            if not _is_limit(limit):
                raise wrong_argument(
                    "defer_above", self.defer_above, "a number in the unit of the head's measure, or such by head"
                )

    def fields(self) -> dict[str, Any]:
        """Fields of the messages that carry it."""
        found: dict[str, Any] = {"purpose": _PURPOSES[self.purpose], "members": self.members}
        if isinstance(self.defer_above, Mapping):
            found["defer_above_by_head"] = {str(head): float(limit) for head, limit in self.defer_above.items()}
        elif self.defer_above is not None:
            found["defer_above"] = float(self.defer_above)
        return found


def predict_request(messages: RowMessages[Any], rows: NDArray[np.float32], layout: Layout, manner: Manner) -> Any:
    """A unary question about packed rows [N, F].

    Raises:
        TooLarge: more rows than the service takes in one call.
    """
    if 0 < layout.max_rows < len(rows):
        raise TooLarge(
            f"{len(rows)} rows; the service takes at most {layout.max_rows} in one predict. "
            "Use stream, which takes any number",
            code="too_many_rows",
        )
    return messages.question(rows=_packed(rows, layout), **manner.fields())


def stream_begin(messages: RowMessages[Any], manner: Manner) -> Any:
    """The first frame of a stream."""
    return messages.frame(begin=StreamBegin(**manner.fields()))


def stream_chunk(messages: RowMessages[Any], rows: NDArray[np.float32], layout: Layout, sequence: int) -> Any:
    """A further frame of a stream: packed rows [N, F]."""
    return messages.frame(chunk=messages.chunk(sequence=sequence, rows=_packed(rows, layout)))


def _packed(rows: NDArray[np.float32], layout: Layout) -> RowsMessage:
    return RowsMessage(packed=PackedRows(row_count=len(rows), values=rows.tobytes(), schema_hash=layout.schema_hash))


def _is_limit(limit: Any) -> bool:
    try:
        return not math.isnan(limit)
    except TypeError:
        return False
