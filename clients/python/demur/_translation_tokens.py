"""What a model knew of each token of a hypothesis, and which words of it are doubtful."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from demur._errors import InvalidInput, wrong_argument
from demur._head_answer import Floats

Doubt: TypeAlias = Literal["total", "data", "knowledge", "surprise"]
"""What makes a word doubtful: an entropy of its tokens, or that they were unlikely (their negative log-probability)."""

_DOUBTS = ("total", "data", "knowledge", "surprise")
_WORD = re.compile(r"[\w\u0300-\u036f]+(?:[-'\u2019][\w\u0300-\u036f]+)*")


class DoubtfulWord(NamedTuple):
    """A word that the model was unsure of, characters [start, stop)."""

    start: int
    stop: int
    value: float
    """The largest of its tokens, nats."""


class Token(NamedTuple):
    """One token of a hypothesis, characters [start, stop) of its text; the end of the sentence stands for none."""

    start: int
    stop: int
    log_probability: float
    """Nats."""
    total: float
    """Entropy of what was expected here, nats."""
    data: float | None
    """What more knowledge would not remove: the members' mean entropy, nats; None for single models."""
    knowledge: float | None
    """What members disagree about: ``total`` less ``data``, nats; None for single models."""


@dataclass(frozen=True, eq=False, repr=False)
class Tokens(Sequence[Token]):
    """The L tokens of a hypothesis in their order, the end of the sentence the last. Arrays are read-only."""

    starts: NDArray[np.uint32]
    """Where each stands in the hypothesis' text, characters [start, stop), uint32 [L]."""
    stops: NDArray[np.uint32]
    """uint32 [L]."""
    log_probabilities: Floats
    """Nats, float32 [L]."""
    total: Floats
    """Entropy of what the members expect together, nats, float32 [L]."""
    data: Floats | None
    """Their mean entropy, nats, float32 [L]; None for single models."""
    knowledge: Floats | None
    """Mutual information: ``total`` less ``data``, nats, float32 [L]; None for single models."""

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, index: int) -> Token: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Token, ...]: ...
    def __getitem__(self, index: int | slice) -> Token | tuple[Token, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(len(self))[index])
        return Token(
            int(self.starts[index]),
            int(self.stops[index]),
            float(self.log_probabilities[index]),
            float(self.total[index]),
            None if self.data is None else float(self.data[index]),
            None if self.knowledge is None else float(self.knowledge[index]),
        )

    def __iter__(self) -> Iterator[Token]:
        return (self[place] for place in range(len(self)))

    def doubts(self, by: Doubt) -> Floats:
        """What makes each token doubtful, nats, float32 [L].

        Raises:
            InvalidInput: there is no such measure, or a single model does not have it.
        """
        if by not in _DOUBTS:
            raise wrong_argument("by", by, ", ".join(_DOUBTS))
        if by == "surprise":
            return -self.log_probabilities
        values: Floats | None = getattr(self, by)
        if values is None:
            raise InvalidInput(
                f"by is {by!r}, which single models do not have; allowed: total, surprise",
                code="invalid_argument",
                field="by",
                value=by,
                allowed="total, surprise",
            )
        return values

    def __repr__(self) -> str:
        return f"<Tokens: {len(self)}>"


def doubtful_words(text: str, tokens: Tokens, above: float, by: Doubt) -> list[DoubtfulWord]:
    """The words of a text of which a token is doubtful: above so many nats, or not a number.

    Punctuation is no word. A token that stands for several words makes all of them doubtful.

    Raises:
        InvalidInput: there is no such measure, or no such limit.
    """
    try:
        limit = float(above)
    except (TypeError, ValueError):
        raise wrong_argument("above", above, "a number, nats") from None
    if np.isnan(limit):
        raise wrong_argument("above", above, "a number, nats")
    values = tokens.doubts(by)
    found = []
    for word in _WORD.finditer(text):
        own = values[(tokens.starts < word.end()) & (tokens.stops > word.start()) & (tokens.stops > tokens.starts)]
        if own.size and not (largest := float(own.max())) <= limit:
            found.append(DoubtfulWord(word.start(), word.end(), largest))
    return found
