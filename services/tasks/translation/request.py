"""Translation requests, and the detail of tokens in their answers."""

from dataclasses import dataclass
from typing import Literal, get_args

from services.runtime.errors import InvalidInput

Detail = Literal["best", "none", "all"]
"""Hypotheses whose tokens are returned: the best, none, or all."""


@dataclass(frozen=True, slots=True)
class TranslationRequest:
    """Translation request: the texts of a call, whose sentences are units."""

    texts: tuple[str, ...]
    tokens: Detail = "best"


def detail(text: str | None) -> Detail:
    """Return the detail of tokens; None stands for ``best``.

    Raises:
        InvalidInput: the text is not a detail.
    """
    if text is None:
        return "best"
    for known in get_args(Detail):
        if text == known:
            return known  # type: ignore[no-any-return]
    raise InvalidInput.about("tokens", text[:40], code="unknown_detail", allowed=", ".join(get_args(Detail)))
