"""Limits of calls: size of their metadata, time until their message, size of their answer.

The library does not always bound the metadata of the first calls of a connection, waits for the message of a call for
as long as the connection lasts, and knows nothing of the limit that a client has for answers.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

import grpc

from services.runtime.errors import DeadlineExceeded, InvalidInput, TooLarge
from services.transport.grpc.status import abort

LIMIT_KEY = "demur-max-response-bytes"
"""Metadata key of the largest message that the client accepts, in bytes. gRPC clients have a limit of their own (4 MB
by default), which they do not send to the server.
"""
UNCHECKED_BYTES = 16 << 10
"""Answers up to this size are sent without a check."""
LARGEST_BYTES = 2**31 - 1
_ENTRY_BYTES = 32
"""Overhead of an entry of the metadata beside its name and value (RFC 9113, section 6.5.2)."""
_SWEEP_SECONDS = 1.0


@dataclass(frozen=True)
class Limits:
    """Limits of a call before its handler runs."""

    message_seconds: float
    """Time from the metadata of a call to its message."""
    metadata_bytes: int
    message_bytes: int
    """Largest message after decompression."""

    def excess(self, metadata: Any) -> TooLarge | None:
        """Return the error of metadata that are too large; None if they are within the limit."""
        size = sum(len(name) + len(value) + _ENTRY_BYTES for name, value in metadata or ())
        if size <= self.metadata_bytes:
            return None
        return TooLarge.about(
            "metadata",
            size,
            code="header_too_large",
            unit="bytes",
            allowed=f"[0, {self.metadata_bytes}]",
            advice="send less, or raise DEMUR_MAX_HEADER_BYTES",
        )


class MessageDeadlines:
    """Calls whose request message has not arrived yet.

    The library waits for the message of a call for as long as the connection lasts.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: dict[asyncio.Task[Any], float] = {}
        """Deadline of each call's task, in the time of the loop."""
        self._late: set[asyncio.Task[Any]] = set()
        """Tasks that were cancelled because they passed their deadline."""
        self._timer: asyncio.TimerHandle | None = None

    async def first(self, context: Any) -> Any:
        """Return the one message of a call; refuse the call if there is none, or not in time."""
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        self._waiting[task] = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_later(self._interval, self._sweep)
        try:
            message = await context.read()
        except asyncio.CancelledError:
            if task not in self._late:  # the caller disconnected, or the server stops
                raise
            task.uncancel()
            await abort(context, _message_late(self._seconds))
        finally:
            self._waiting.pop(task, None)
            self._late.discard(task)
        if message is grpc.aio.EOF:
            await abort(context, _MESSAGE_MISSING)
        return message

    @property
    def _interval(self) -> float:
        return min(_SWEEP_SECONDS, self._seconds)

    def _sweep(self) -> None:
        """Cancel late calls; run again as long as any call waits."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for task, end in list(self._waiting.items()):
            if end <= now:
                del self._waiting[task]
                self._late.add(task)
                task.cancel()
        self._timer = loop.call_later(self._interval, self._sweep) if self._waiting else None


def check_size(response: bytes, context: Any, advice: str) -> None:
    """Check an encoded answer against the limit that its caller states in the metadata, if any.

    Args:
        advice: how to get a smaller answer, as an imperative.

    Raises:
        TooLarge: the answer is larger.
        InvalidInput: the limit is not a number of bytes.
    """
    if len(response) <= UNCHECKED_BYTES:
        return
    text = next((value.strip() for name, value in context.invocation_metadata() or () if name == LIMIT_KEY), None)
    if text is None:
        return
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:20]) <= LARGEST_BYTES):
        raise InvalidInput.about(
            LIMIT_KEY,
            text[:40],
            f"must be a whole number from 1 to {LARGEST_BYTES}",
            code="bad_parameter",
            unit="bytes",
            allowed=f"[1, {LARGEST_BYTES}]",
        )
    limit = int(text)
    if len(response) > limit:
        raise TooLarge(
            f"the answer has {len(response)} bytes, and {LIMIT_KEY} allows {limit}; {advice}, or raise this limit and"
            " that of the client (grpcurl: -max-msg-sz; grpcio: grpc.max_receive_message_length)",
            code="answer_too_large",
            field=LIMIT_KEY,
            value=str(len(response)),
            unit="bytes",
            allowed=f"[0, {limit}]",
        )


_MESSAGE_MISSING = InvalidInput(
    "the call ended without its message; send one message, or use a method that streams", code="not_a_message"
)


def _message_late(seconds: float) -> DeadlineExceeded:
    return DeadlineExceeded(
        f"the message of this call did not arrive within {seconds:g} s of its metadata (DEMUR_MESSAGE_SECONDS)",
        code="deadline_exceeded",
    )
