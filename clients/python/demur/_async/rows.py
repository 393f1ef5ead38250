"""Services whose inputs are rows: vessel, weather, and models of your own."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Generic, Literal, overload

import numpy as np
from numpy.typing import NDArray

from demur._async.calls import AsyncCalls
from demur._async.service import AsyncService
from demur._description import Description
from demur._errors import InvalidInput, WrongAddress
from demur._event_loop import Items, each
from demur._exchange import A, ChunkError, Exchange, OnError
from demur._options import DeferAbove, Purpose, RequestOptions
from demur._retry import Deadline
from demur._rows.answers import ROWS, VESSEL, WEATHER, Answer, RowsAnswer, WeatherAnswer, check_deviations, cost
from demur._rows.packing import Layout, Rows, Units, pack
from demur._rows.requests import FOREIGN_ANSWERS, STALE_SCHEMA, RowChunks, RowMessages, predict_request


class AsyncRowService(AsyncService, Generic[A]):
    """Asynchronous client of a service whose inputs are rows, for any number of tasks of its event loop.

    ``A`` is the type of the task's answers.
    """

    def __init__(self, calls: AsyncCalls, messages: RowMessages[A]) -> None:
        super().__init__(calls, messages.stub)
        self._messages = messages
        self._known: Layout | None = None
        self._foreign_answers = 0

    async def predict(
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
                ``describe()`` lists names, order and units. Missing values are NaN, null or ``pandas.NA``; metadata
                columns may come along by name. Booleans are accepted in columns that are 0 or 1 only.
            purpose: ``decide`` for a request that is acted on, ``explore`` for a hypothetical one, ``replay`` to repeat
                a past one. Only ``decide`` is audited.
            timeout: seconds for everything this call does, retries included; None for the client's own.
            defer_above: defer above this uncertainty even where the policy would answer: a number, in the unit of
                the head's measure, or a mapping from head to number. Several heads need the mapping.
            members: also return the predictions of each member of the ensemble.
            units: units of plain columns that are not in the declared ones, by name, such as ``{"stw": "m/s"}``; they
                are converted. Quantities of astropy and pint, arrays of xarray with an attribute ``units``, and
                durations carry theirs.

        Raises:
            InvalidInput: wrong names, shapes, units or ranges, detected by the client before sending or by the service.
            TooLarge: more rows than the service accepts in one call; use :meth:`stream`.
            DemurError: any other of the tree in :mod:`demur`.
        """
        deadline = self._calls.deadline(timeout)
        options = RequestOptions(purpose, defer_above, members)
        layout = await self._layout(deadline)
        request = predict_request(self._messages, pack(rows, layout, units), layout, options)
        try:
            response = await self._calls.unary(self._stub.Predict, request, deadline)
        except InvalidInput as error:
            if error.code == STALE_SCHEMA:
                self._known = None
            raise
        self._foreign_answers = self._foreign_answers + 1 if self._messages.is_foreign(response, layout) else 0
        if self._foreign_answers >= FOREIGN_ANSWERS:
            self._known, self._foreign_answers = None, 0
        return self._messages.decode(response, layout.heads)

    @overload
    def stream(
        self,
        batches: Items[Rows],
        *,
        purpose: Purpose = ...,
        timeout: float | None = ...,
        defer_above: DeferAbove = ...,
        members: bool = ...,
        units: Units = ...,
        chunk_rows: int | None = ...,
        window: int | None = ...,
        on_error: Literal["raise"] = ...,
    ) -> AsyncGenerator[A, None]: ...
    @overload
    def stream(
        self,
        batches: Items[Rows],
        *,
        purpose: Purpose = ...,
        timeout: float | None = ...,
        defer_above: DeferAbove = ...,
        members: bool = ...,
        units: Units = ...,
        chunk_rows: int | None = ...,
        window: int | None = ...,
        on_error: OnError,
    ) -> AsyncGenerator[A | ChunkError, None]: ...
    def stream(
        self,
        batches: Items[Rows],
        *,
        purpose: Purpose = "explore",
        timeout: float | None = None,
        defer_above: DeferAbove = None,
        members: bool = False,
        units: Units = None,
        chunk_rows: int | None = None,
        window: int | None = None,
        on_error: OnError = "raise",
    ) -> AsyncGenerator[A, None] | AsyncGenerator[A | ChunkError, None]:
        """Predict batch after batch over one stream: one answer for each, in order, for any number of them.

        Batches are drawn ahead of the answers by no more than the window, which bounds memory. With ``window=1`` each
        batch is drawn after the answer to the one before. Closing the generator cancels what is not finished;
        leaving the loop of an asynchronous one closes it at once only inside ``contextlib.aclosing(...)``.

        Args:
            batches: inputs as for ``predict``, any number of rows each. A batch beyond a message or ``max_rows`` is
                sent in several chunks, and their answers are joined.
            purpose: as for ``predict``, but ``explore`` by default.
            timeout: seconds for the whole stream; None for no limit.
            defer_above: as for ``predict``.
            members: as for ``predict``.
            units: as for ``predict``, for every batch.
            chunk_rows: split batches above this; None for as many rows as one call takes.
            window: chunks in flight at once; None for as many as the service reads ahead.
            on_error: ``raise`` at the batch that failed, or ``yield`` a :class:`ChunkError` in its place and
                go on. A failure of the stream itself is always raised. The opening is retried, as ``predict``
                is; once the service has accepted the stream nothing is.

        Raises:
            DemurError: as ``predict``, while the stream is read; invalid options at once.
        """
        options = RequestOptions(purpose, defer_above, members)
        return self._stream(batches, options, units, Deadline(timeout), chunk_rows, window, on_error)

    async def _stream(
        self,
        batches: Items[Rows],
        options: RequestOptions,
        units: Units,
        deadline: Deadline,
        chunk_rows: int | None,
        window: int | None,
        on_error: OnError,
    ) -> AsyncGenerator[Any, None]:
        chunks = RowChunks(self._messages, await self._layout(deadline), options, units, chunk_rows)
        exchange = Exchange(chunks, window=window, on_error=on_error)
        try:
            async with aclosing(self._converse(exchange, each(batches), deadline)) as outcomes:
                async for outcome in outcomes:
                    yield outcome
        finally:
            if chunks.stale:
                self._known = None

    async def _layout(self, deadline: Deadline) -> Layout:
        known = self._known
        return Layout.of(await self._describe(deadline)) if known is None else known

    async def _describe(self, deadline: Deadline) -> Description:
        described = await super()._describe(deadline)
        self._known = Layout.of(described)
        return described


class AsyncVessel(AsyncRowService[Answer]):
    """Asynchronous client of the vessel service, for any number of tasks of its event loop.

    Answers are the shaft power of a cargo ship in kW; uncertainties, and ``defer_above``, are in kW².
    """

    def __init__(self, calls: AsyncCalls) -> None:
        super().__init__(calls, VESSEL)

    async def cost(
        self,
        rows: Rows,
        k: float = 2.0,
        *,
        purpose: Purpose = "explore",
        timeout: float | None = None,
        defer_above: DeferAbove = None,
        units: Units = None,
    ) -> NDArray[np.float64]:
        """Return the cost that an optimiser minimises: mean + k standard deviations in kW, infinite for deferred rows.

        Args:
            rows: as for :meth:`predict`.
            k: standard deviations of the predictive that are added; 0 for the mean alone.
            purpose: ``explore`` by default, unlike :meth:`predict`: an optimiser evaluates far more rows than are
                sailed, and explored rows are neither audited nor labelled. :meth:`predict` the chosen rows to act on
                them.
            timeout: as for :meth:`predict`.
            defer_above: as for :meth:`predict`.
            units: as for :meth:`predict`.

        Returns:
            Float64 [N], in the order of the rows.

        Raises:
            InvalidInput: ``k`` is not a finite number from 0 up, or as for :meth:`predict`.
            DemurError: as for :meth:`predict`.
        """
        check_deviations(k)
        answer = await self.predict(rows, purpose=purpose, timeout=timeout, defer_above=defer_above, units=units)
        return cost(answer, k)


class AsyncWeather(AsyncRowService[WeatherAnswer]):
    """Asynchronous client of the weather service, for any number of tasks of its event loop.

    ``defer_above`` is a mapping such as ``{"temperature": 2.5, "precipitation": -0.4}``, each number in the unit of
    the head's measure (``describe().heads``): °C² for variances, none for a negated confidence, nats for entropies.
    """

    def __init__(self, calls: AsyncCalls) -> None:
        super().__init__(calls, WEATHER)


class AsyncRowModel(AsyncRowService[RowsAnswer]):
    """Asynchronous client of a model of your own, for any number of tasks of its event loop.

    Columns, heads and units are the model's; ``print(await client.rows("churn").describe())`` shows them. Categorical
    columns take texts, and their codes in arrays [N, F].
    """

    def __init__(self, calls: AsyncCalls, name: str = "") -> None:
        super().__init__(calls, ROWS)
        self._name = name

    async def _describe(self, deadline: Deadline) -> Description:
        described = await super()._describe(deadline)
        if self._name and described.task != self._name:
            raise WrongAddress(
                f"{self._name!r} is not served here, but {described.task!r} (model {described.model}); connect to the "
                f"port that `demur status` shows for {self._name}"
            )
        return described
