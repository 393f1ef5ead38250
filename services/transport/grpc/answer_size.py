"""Limit of the size of answers, which callers state in metadata.

gRPC clients have a limit of their own (4 MB by default), which they do not send to the server.
"""

from __future__ import annotations

from typing import Any

from services.runtime.errors import InvalidInput, TooLarge

KEY = "demur-max-response-bytes"
"""Key of the metadata that states the largest message that the client accepts, bytes."""
SMALL_BYTES = 16 << 10
"""Answers up to this size are sent without a check."""
LARGEST_BYTES = 2**31 - 1


def check_size(response: bytes, context: Any, advice: str) -> None:
    """Check an encoded answer against the limit that its caller states, if any.

    Args:
        advice: how to get a smaller answer, as an imperative.

    Raises:
        TooLarge: the answer is larger.
        InvalidInput: the limit is not a number of bytes.
    """
    if len(response) <= SMALL_BYTES:
        return
    limit = _limit(context.invocation_metadata() or ())
    if limit is not None and len(response) > limit:
        raise TooLarge(
            f"the answer has {len(response)} bytes, and {KEY} allows {limit}; {advice}, or raise this limit and that of"
            " the client (grpcurl: -max-msg-sz; grpcio: grpc.max_receive_message_length)",
            code="answer_too_large",
            field=KEY,
            value=str(len(response)),
            unit="bytes",
            allowed=f"[0, {limit}]",
        )


def _limit(metadata: Any) -> int | None:
    """Return the limit that metadata state, None if they do not; raise ``InvalidInput`` if it is not a number."""
    for name, value in metadata:
        if name == KEY:
            text = value.strip()
            if text.isascii() and text.isdecimal() and 0 < int(text[:20]) <= LARGEST_BYTES:
                return int(text)
            raise InvalidInput(
                f"{KEY} = {text[:40]!r}; a whole number of bytes from 1 to {LARGEST_BYTES} is needed",
                code="bad_parameter",
                field=KEY,
                value=text[:40],
                unit="bytes",
                allowed=f"[1, {LARGEST_BYTES}]",
            )
    return None
