"""Reading of an HTTP request: the task's request, options, answer format and deadline; its end if the caller leaves."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from types import TracebackType
from typing import Any, Literal, NamedTuple

from starlette.requests import Request

from services.runtime.errors import Cancelled, DeadlineExceeded, InvalidInput
from services.runtime.settings import Settings
from services.transport.binding import Options
from services.transport.http.body import FORM, JSON, PROTOBUF, media_type, read_body
from services.transport.http.form import read_form
from services.transport.served_model import ServedModel

ZIP = "application/zip"
AnswerFormat = Literal["json", "protobuf", "zip"]
TIMEOUT_HEADER = "demur-timeout-seconds"
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
"""Pattern of a plain number; ``float`` would also accept 1_0, digits of other scripts, and blanks."""
PATIENCE_SECONDS = 0.02
"""Delay, in seconds, before a call is watched: watching a shorter call costs more than its cancellation saves."""


class Question(NamedTuple):
    """Contents of a request."""

    request: Any
    """Request of the task."""
    options: Options
    answer_format: AnswerFormat
    """Format of the answer."""
    nbytes: int
    """Size of the body, in bytes; the answer is assumed to be about as large."""


async def read_request(request: Request, tenant: ServedModel, settings: Settings) -> Question:
    """Read the body of a request.

    Raises:
        InvalidInput, TooLarge, UnsupportedMediaType, Cancelled: the body is not valid for the route.
    """
    form = tenant.http.form
    kind = media_type(request.headers.get("content-type", JSON), forms=form is not None)
    if form is not None and kind == FORM:
        fields = await read_form(request, form.fields, settings.max_upload_bytes)
        question, options = form.read(fields)
        return Question(
            question,
            options,
            answer_format(request.headers.get("accept", ""), tenant, JSON),
            sum(map(len, fields.values())),
        )
    body = await read_body(request, settings.max_message_bytes)
    question, options = await tenant.pipeline.offload.run(len(body), read_content, kind, tenant, body)
    return Question(question, options, answer_format(request.headers.get("accept", ""), tenant, kind), len(body))


def answer_format(accept: str, tenant: ServedModel, kind: str) -> AnswerFormat:
    """Return the answer format: that of the body, unless the caller accepts an archive of files, or protobuf."""
    accepted = accept.lower()
    if ZIP in accepted and tenant.http.files is not None:
        return "zip"
    return "protobuf" if kind == PROTOBUF or PROTOBUF in accepted else "json"


def read_content(kind: str, tenant: ServedModel, body: bytes) -> tuple[Any, Options]:
    """Return the task's request and the options in a body of JSON or protobuf.

    Raises:
        InvalidInput, TooLarge: the body is not valid for the route.
    """
    if kind != PROTOBUF:
        return tenant.http.read_json(body)
    try:
        message = tenant.grpc.request.decode(body)
    except Exception as error:
        raise InvalidInput("the body is not the protobuf message of this route", code="not_a_message") from error
    return tenant.grpc.read(message)


def timeout_seconds(text: str | None, default: float) -> float:
    """Return the time that a caller waits for the answer, in seconds.

    Args:
        text: header ``TIMEOUT_HEADER``.

    Raises:
        InvalidInput: not a number of seconds within (0, 3600].
    """
    if text is None:
        return default
    seconds = float(text) if _NUMBER.fullmatch(text) else 0.0
    if not 0 < seconds <= 3600:
        raise InvalidInput.about(TIMEOUT_HEADER, text, code="bad_timeout", unit="s", allowed="(0, 3600]")
    return seconds


def number(name: str, text: str) -> float:
    """Return a number of a query parameter.

    Raises:
        InvalidInput: the text is not a number.
    """
    if not _NUMBER.fullmatch(text):
        raise InvalidInput.about(name, text[:40], "must be a number", code="not_a_number", unit="s")
    return float(text)


def within(seconds: float | None) -> AbstractAsyncContextManager[None]:
    """Return a context that cancels its block when its time is over; None for no limit.

    Raises:
        DeadlineExceeded: the block was cancelled.
    """
    return nullcontext() if seconds is None else _within(seconds)


@asynccontextmanager
async def _within(seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as late:
        raise DeadlineExceeded(f"no answer within {seconds:g} s", code="deadline_exceeded") from late


class DisconnectWatch:
    """Async context manager that cancels the call inside it when the caller disconnects.

    Use it after the body was read. A call that ends soon costs one timer only.

    Raises:
        Cancelled: the caller disconnected.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._watch: asyncio.Task[None] | None = None
        self._gone = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._call = task
        self._timer = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, self._begin)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._watch is not None:
            self._watch.cancel()
        if self._gone and self._call.uncancel() == 0 and kind is asyncio.CancelledError:
            raise Cancelled("the caller went away before the answer", code="disconnected") from error

    def _begin(self) -> None:
        self._watch = asyncio.create_task(self._wait())

    async def _wait(self) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        self._call.cancel()
