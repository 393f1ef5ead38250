"""Questions about rows and their answers, blocking, whatever the task."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, Generic, Literal, overload

from demur._calls import Calls
from demur._describe import Description
from demur._errors import InvalidInput
from demur._exchange import A, ChunkError, Exchange, OnError
from demur._question import DeferAbove, Manner, Purpose, RowMessages, predict_request
from demur._retry import Deadline
from demur._row_chunks import STALE_SCHEMA, RowChunks
from demur._rows import Layout, Rows, Units, pack
from demur._service import Service


class RowService(Service, Generic[A]):
    """Asks a service of rows, blocking; for any number of threads. A task says what its answers ``A`` are."""

    def __init__(self, calls: Calls, messages: RowMessages[A]) -> None:
        super().__init__(calls, messages.stub)
        self._messages = messages
        self._known: Layout | None = None

    def predict(
        self,
        rows: Rows,
        *,
        purpose: Purpose = "decide",
        timeout: float | None = None,
        defer_above: DeferAbove = None,
        members: bool = False,
        units: Units = None,
    ) -> A:
        """Predict N rows in one call.

        Args:
            rows: columns by name (a mapping or a data frame; each a scalar, list, array or series; scalars are
                repeated), or an array [N, F] or [F] in the declared order, best as C-contiguous float32.
                ``describe()`` tells names, order and units. Missing values are NaN, null or ``pandas.NA``; metadata
                columns may come along by name. Booleans are taken in columns that are 0 or 1 only.
            purpose: ``decide`` for a real question, ``explore`` for a hypothetical one, ``replay`` for a past
                one again. Only real ones are audited.
            timeout: seconds for everything this call does, retries included; None for the client's own.
            defer_above: defer above this uncertainty even where the policy would answer: a number, in the unit of
                the head's measure, or a mapping from head to number. Several heads need the mapping.
            members: also return what each member of the ensemble says.
            units: units of plain columns that are not in the declared ones, by name, such as ``{"stw": "m/s"}``; they
                are converted. Quantities of astropy and pint, arrays of xarray with an attribute ``units``, and
                durations bring theirs along.

        Raises:
            InvalidInput: names, shapes, units, ranges: said by the client before sending, or by the service.
            TooLarge: more rows than the service takes in one call; use :meth:`stream`.
            DemurError: any other of the tree in :mod:`demur`.
        """
        deadline = self._calls.deadline(timeout)
        manner = Manner(purpose, defer_above, members)
        layout = self._layout(deadline)
        request = predict_request(self._messages, pack(rows, layout, units), layout, manner)
        try:
            response = self._calls.unary(self._stub.Predict, request, deadline)
        except InvalidInput as error:
            if error.code == STALE_SCHEMA:
                self._known = None
            raise
        return self._messages.decode(response, layout.heads)

    @overload
    def stream(
        self,
        batches: Iterable[Rows],
        *,
        purpose: Purpose = ...,
        timeout: float | None = ...,
        defer_above: DeferAbove = ...,
        members: bool = ...,
        units: Units = ...,
        chunk_rows: int | None = ...,
        window: int | None = ...,
        on_error: Literal["raise"] = ...,
    ) -> Generator[A, None, None]: ...
    @overload
    def stream(
        self,
        batches: Iterable[Rows],
        *,
        purpose: Purpose = ...,
        timeout: float | None = ...,
        defer_above: DeferAbove = ...,
        members: bool = ...,
        units: Units = ...,
        chunk_rows: int | None = ...,
        window: int | None = ...,
        on_error: OnError,
    ) -> Generator[A | ChunkError, None, None]: ...
    def stream(
        self,
        batches: Iterable[Rows],
        *,
        purpose: Purpose = "explore",
        timeout: float | None = None,
        defer_above: DeferAbove = None,
        members: bool = False,
        units: Units = None,
        chunk_rows: int | None = None,
        window: int | None = None,
        on_error: OnError = "raise",
    ) -> Generator[A, None, None] | Generator[A | ChunkError, None, None]:
        """Predict batch after batch over one stream: one answer for each, in order, for any number of them.

        Batches are drawn in the caller's thread, ahead of the answers by no more than the window; at most so
        much is held in memory. With ``window=1`` each batch is drawn after the answer to the one before.
        Closing the generator, or leaving its loop, cancels what is not finished.

        Args:
            batches: what ``predict`` takes, any number of rows each. One beyond a message or ``max_rows`` goes
                in several chunks and is put together again.
            purpose: as for ``predict``, but ``explore`` by default.
            timeout: seconds for the whole stream; None for no limit.
            defer_above: as for ``predict``.
            members: as for ``predict``.
            units: as for ``predict``, of every batch.
            chunk_rows: split batches above this; None for as many as one call takes.
            window: chunks on their way at once; None for as many as the service reads ahead.
            on_error: ``raise`` at the batch that failed, or ``yield`` a :class:`ChunkError` in its place and
                go on. A failure of the stream itself is always raised. The opening is retried, as ``predict``
                is; once the service has accepted the stream nothing is.

        Raises:
            DemurError: as ``predict``, while the stream is read; wrong options at once.
        """
        manner = Manner(purpose, defer_above, members)
        return self._stream(batches, manner, units, Deadline(timeout), chunk_rows, window, on_error)

    def _stream(
        self,
        batches: Iterable[Rows],
        manner: Manner,
        units: Units,
        deadline: Deadline,
        chunk_rows: int | None,
        window: int | None,
        on_error: OnError,
    ) -> Generator[Any, None, None]:
        chunks = RowChunks(self._messages, self._layout(deadline), manner, units, chunk_rows)
        exchange = Exchange(chunks, window=window, on_error=on_error)
        try:
            yield from self._converse(exchange, batches, deadline)
        finally:
            if chunks.stale:
                self._known = None

    def _layout(self, deadline: Deadline) -> Layout:
        known = self._known
        return Layout.of(self._describe(deadline)) if known is None else known

    def _describe(self, deadline: Deadline) -> Description:
        described = super()._describe(deadline)
        self._known = Layout.of(described)
        return described
