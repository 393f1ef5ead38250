"""What is wrong with a label."""

from __future__ import annotations


class BadLabel(ValueError):
    """The value is no label of this head; the message says what is needed, in which unit."""
