"""How texts become tokens for GLEU: by Moses' script as in the paper, where the extra ``released`` is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True)
class Tokenisation:
    """Of Russian text, into tokens between spaces."""

    name: str
    words: str
    """For the page."""
    of: Callable[[str], str]


WHITESPACE = Tokenisation("whitespace", "what whitespace separates (Moses' script was not there)", str)


def tokenisation() -> Tokenisation:
    """Moses' where it is there, else what whitespace separates."""
    try:
        moses = import_module("models.tasks.translation.text.moses")
        import_module("sacremoses")
    except ImportError:
        return WHITESPACE
    return Tokenisation(
        "moses",
        "Moses' on both sides, dashes split, as in the paper",
        lambda text: str(moses.tokenised(text, moses.RUSSIAN)),
    )
