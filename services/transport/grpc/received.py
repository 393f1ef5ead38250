"""Messages as they came from the wire, with their size, which says where they are worked on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from services.errors import InvalidInput
from services.transport.binding import Message


class Received(NamedTuple):
    """A decoded message."""

    message: Any
    nbytes: int
    """Of its encoded form."""

    def checked(self) -> Any:
        """The message.

        Raises:
            InvalidInput: the bytes were none.
        """
        if isinstance(self.message, InvalidInput):
            raise self.message
        return self.message


def receiver(message: Message) -> Callable[[bytes], Received]:
    """Bytes that are no message become a typed refusal instead of an INTERNAL error of the library."""

    def decode(data: bytes) -> Received:
        try:
            return Received(message.decode(data), len(data))
        except Exception:
            refusal = InvalidInput(
                "the bytes of this call are not the request message of the method; regenerate the stubs",
                code="not_a_message",
            )
            return Received(refusal, 0)

    return decode
