"""Messages and stream chunks of tasks whose inputs are rows."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from demur._description import Head
from demur._errors import DemurError, TooLarge, wrong_argument
from demur._exchange import CHUNK_BYTES, A, Part
from demur._options import RequestOptions
from demur._rows.packing import Layout, Rows, Units, check_units, pack
from demur.v1 import common_pb2 as common

STALE_SCHEMA = "schema_mismatch"
"""Code of the error with which a service refuses rows packed for another schema than its own."""

FOREIGN_ANSWERS = 8
"""Number of successive answers with other intervals than described after which the service is described again. Fewer
may come from replicas of which some serve another artefact.
"""


@dataclass(frozen=True)
class RowMessages(Generic[A]):
    """The messages of a task whose inputs are rows, and the decoding of its answers."""

    stub: Callable[[Any], Any]
    """Makes the stub of the task's service on a channel; it has Predict, PredictStream and Describe."""
    request: Callable[..., Any]
    """Message of a unary request."""
    frame: Callable[..., Any]
    """Frame of a stream from the caller: ``begin`` or ``chunk``."""
    chunk: Callable[..., Any]
    """Message of one chunk of a stream."""
    gaussian: Callable[[Any], Iterable[Any]]
    """Returns the answers of a response that may have a table of intervals."""
    decode: Callable[[Any, tuple[Head, ...]], A]
    """Returns the answer of a response, given the heads that the service describes."""
    join: Callable[[Sequence[A]], A]
    """Joins the answers to consecutive parts of a batch, at least one."""

    def is_foreign(self, response: Any, layout: Layout) -> bool:
        """Return whether a response has tables of intervals because they are not those of the layout."""
        return layout.intervals_digest != 0 and any(head.HasField("intervals") for head in self.gaussian(response))


def predict_request(
    messages: RowMessages[Any], rows: NDArray[np.float32], layout: Layout, options: RequestOptions
) -> Any:
    """Return a unary request about packed rows [N, F].

    Raises:
        TooLarge: more rows than the service accepts in one call.
    """
    if 0 < layout.max_rows < len(rows):
        raise TooLarge(
            f"{len(rows)} rows; the service takes at most {layout.max_rows} in one predict. "
            "Use stream, which takes any number",
            code="too_many_rows",
        )
    return messages.request(rows=_packed(rows, layout), **options.fields(), **_intervals(layout))


class RowChunks(Generic[A]):
    """Batches of rows as the chunks of a stream.

    Args:
        chunk_rows: rows of a chunk; None for as many as one call takes.

    Raises:
        InvalidInput: chunks that the service would not accept, or units of columns that do not exist.
    """

    def __init__(
        self,
        messages: RowMessages[A],
        layout: Layout,
        options: RequestOptions,
        units: Units,
        chunk_rows: int | None,
    ) -> None:
        check_units(units, layout)
        largest = CHUNK_BYTES // max(layout.row_bytes, 1)
        if layout.max_rows:
            largest = min(largest, layout.max_rows)
        if chunk_rows is not None and not 1 <= chunk_rows <= largest:
            raise wrong_argument("chunk_rows", chunk_rows, f"1 to {largest}")
        self._messages = messages
        self._layout = layout
        self._units = units
        self._chunk_rows = chunk_rows or largest
        self.stale = False
        """True once the service refused the schema that rows were packed for, or answered with other intervals."""
        self.begin = messages.frame(begin=options.begin(**_intervals(layout)))
        """The first frame to send."""

    def cut(self, rows: Rows) -> list[Part[A]]:
        """Return the chunks of a batch.

        Raises:
            InvalidInput: names, shapes or values do not fit the layout.
        """
        packed = pack(rows, self._layout, self._units)
        step = self._chunk_rows
        return [
            Part(start, partial(self._frame, packed[start : start + step]), self._decode)
            for start in range(0, max(len(packed), 1), step)
        ]

    def join(self, parts: Sequence[A]) -> A:
        """Join the answers to the chunks of a batch."""
        return self._messages.join(parts)

    def failed(self, error: DemurError) -> None:
        """Take note of the error of a batch."""
        self.stale = self.stale or error.code == STALE_SCHEMA

    def _frame(self, rows: NDArray[np.float32], sequence: int) -> Any:
        chunk = self._messages.chunk(sequence=sequence, rows=_packed(rows, self._layout))
        return self._messages.frame(chunk=chunk)

    def _decode(self, answer: Any) -> A:
        self.stale = self.stale or self._messages.is_foreign(answer, self._layout)
        return self._messages.decode(answer, self._layout.heads)


def _intervals(layout: Layout) -> dict[str, Any]:
    """Return the fields that request the tables of intervals, unless they are those of the layout."""
    return {"intervals": True, "known_intervals": layout.intervals_digest}


def _packed(rows: NDArray[np.float32], layout: Layout) -> common.Rows:
    packed = common.PackedRows(row_count=len(rows), values=rows.tobytes(), schema_hash=layout.schema_hash)
    return common.Rows(packed=packed)
