"""What is wrong with a label."""

from __future__ import annotations


class BadLabel(ValueError):
    """The value is no label of this head; the message says what is needed, in which unit."""


def shown(value: object, characters: int = 80) -> str:
    """A value as words of a refusal may quote it."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits
        return f"a {type(value).__name__} of many digits"
    return text if len(text) <= characters else text[: characters - 3] + "..."
