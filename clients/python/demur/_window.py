"""How much of a stream may be unanswered at once."""

from __future__ import annotations

from typing import Any

from demur._errors import ServiceFailure, wrong_argument


class Window:
    """As many questions on their way as the service reads ahead, or fewer at the caller's wish; None: no wish.

    Raises:
        InvalidInput: less than one.
    """

    def __init__(self, wished: int | None) -> None:
        if wished is not None and wished < 1:
            raise wrong_argument("window", wished, "1 or more")
        self._size = wished

    def accept(self, frame: Any) -> None:
        """Take the service's first frame, or None for its end; the former bounds the window.

        Raises:
            ServiceFailure: it is not that frame.
        """
        if frame is None or frame.WhichOneof("frame") != "accepted":
            raise ServiceFailure("the service did not accept the stream", code="malformed")
        offered = max(frame.accepted.window_chunks, 1)
        self._size = offered if self._size is None else min(self._size, offered)

    def filled(self, unanswered: int) -> bool:
        """Whether so many leave no room."""
        return unanswered >= (self._size or 1)
