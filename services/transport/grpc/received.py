"""Messages as they came from the wire, with their size, which says where they are worked on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from services.runtime.errors import DemurError, InvalidInput
from services.transport.binding import Message
from services.transport.grpc.compression import Compressed, is_compressed

_SPEED = 4
"""Packed numbers are checked at least so many times as fast as the same bytes of text are read."""


class Received(NamedTuple):
    """A decoded message."""

    message: Any
    text_bytes: int
    """Size of a text that takes as long to work on."""

    def checked(self) -> Any:
        """The message.

        Raises:
            InvalidInput: the bytes were none.
            TooLarge: they were compressed, and are more than a message may have.
        """
        if isinstance(self.message, DemurError):
            raise self.message
        return self.message


def receiver(message: Message) -> Callable[[bytes], Received | Compressed]:
    """Bytes that are no message become a typed refusal instead of an INTERNAL error of the library."""

    def receive(data: bytes) -> Received | Compressed:
        return Compressed(data, decode, refuse) if is_compressed(data) else decode(data)

    def refuse(error: DemurError) -> Received:
        return Received(error, 0)

    def decode(data: bytes) -> Received:
        try:
            return Received(message.decode(data), len(data) // _SPEED)
        except Exception:
            refusal = InvalidInput(
                "the bytes of this call are not the request message of the method; regenerate the stubs, and compress"
                " with gzip or not at all",
                code="not_a_message",
            )
            return refuse(refusal)

    return receive
