"""How a question is asked, and its messages on the wire."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from demur._errors import TooLarge, wrong_argument
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
from demur.v1.vessel_pb2 import VesselChunk, VesselPredictRequest, VesselStreamRequest

Purpose: TypeAlias = Literal["decide", "explore", "replay"]
"""Why is asked: a real question, a hypothetical one, or a past one again."""

_PURPOSES: dict[str, PurposeValue] = {
    "decide": PURPOSE_DECIDE,
    "explore": PURPOSE_EXPLORE,
    "replay": PURPOSE_REPLAY,
}


@dataclass(frozen=True, slots=True)
class Manner:
    """How a question is asked, whatever its rows."""

    purpose: Purpose
    defer_above: float | None
    members: bool

    def __post_init__(self) -> None:
        if self.purpose not in _PURPOSES:
            raise wrong_argument("purpose", self.purpose, ", ".join(_PURPOSES))
        if self.defer_above is not None and math.isnan(self.defer_above):
            raise wrong_argument("defer_above", self.defer_above, "a number, in the square of the head's unit")


def predict_request(rows: NDArray[np.float32], layout: Layout, manner: Manner) -> VesselPredictRequest:
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
    return VesselPredictRequest(
        rows=_packed(rows, layout),
        purpose=_PURPOSES[manner.purpose],
        defer_above=manner.defer_above,
        members=manner.members,
    )


def stream_begin(manner: Manner) -> VesselStreamRequest:
    """The first frame of a stream."""
    return VesselStreamRequest(
        begin=StreamBegin(purpose=_PURPOSES[manner.purpose], defer_above=manner.defer_above, members=manner.members)
    )


def stream_chunk(rows: NDArray[np.float32], layout: Layout, sequence: int) -> VesselStreamRequest:
    """A further frame of a stream: packed rows [N, F]."""
    return VesselStreamRequest(chunk=VesselChunk(sequence=sequence, rows=_packed(rows, layout)))


def _packed(rows: NDArray[np.float32], layout: Layout) -> RowsMessage:
    return RowsMessage(packed=PackedRows(row_count=len(rows), values=rows.tobytes(), schema_hash=layout.schema_hash))
