"""Batches of rows as the chunks of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Generic

from demur._errors import DemurError, wrong_argument
from demur._exchange import CHUNK_BYTES, A, Part
from demur._question import Manner, RowMessages, stream_begin, stream_chunk
from demur._rows import Layout, Rows, Units, check_units, pack

STALE_SCHEMA = "schema_mismatch"
"""Word of the error with which a service refuses rows packed for another schema than its own."""


class RowChunks(Generic[A]):
    """What a stream of rows asks and is answered; chunks have ``chunk_rows`` rows, None for as many as one call takes.

    Raises:
        InvalidInput: chunks that the service would not take, or units of columns that do not exist.
    """

    def __init__(
        self, messages: RowMessages[A], layout: Layout, manner: Manner, units: Units, chunk_rows: int | None
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
        """Whether the service said that its schema is not the one that was packed for."""
        self.begin = stream_begin(messages, manner)
        """The first frame to send."""

    def cut(self, rows: Rows) -> list[Part[A]]:
        """The chunks of a batch.

        Raises:
            InvalidInput: names, shapes or values that are no rows of the layout.
        """
        packed = pack(rows, self._layout, self._units)
        step = self._chunk_rows
        return [
            Part(
                start,
                partial(stream_chunk, self._messages, packed[start : start + step], self._layout),
                self._decode,
            )
            for start in range(0, max(len(packed), 1), step)
        ]

    def join(self, parts: Sequence[A]) -> A:
        """One answer for the chunks of a batch."""
        return self._messages.join(parts)

    def refused(self, error: DemurError) -> None:
        """Take note of why a batch failed."""
        self.stale = self.stale or error.code == STALE_SCHEMA

    def _decode(self, answer: Any) -> A:
        return self._messages.decode(answer, self._layout.heads)
