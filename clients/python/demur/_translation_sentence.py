"""What the service says of one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from demur import _translation_text
from demur._decided import DecidedUnit, plain
from demur._errors import InvalidInput
from demur._translation_tokens import Doubt, DoubtfulWord, Tokens, doubtful_words

Span: TypeAlias = tuple[int, int]
"""Characters [start, stop) of a text: ``text[start:stop]``."""


@dataclass(frozen=True, eq=False, repr=False)
class Hypothesis:
    """One translation of a sentence that the model imagined."""

    text: str
    score: float
    """Log-probability over its length with the end of the sentence, nats a token; NaN where the sentence is not English
    and stands as it came."""
    confidence: float
    """Softmax of the scores over the hypotheses of the sentence; they sum to one."""
    scores: Mapping[str, float] | None
    """The released scores by name, such as ``scr_pe``; None for single models."""
    tokens: Tokens | None
    """None where they were not asked for, or nothing was translated."""

    def doubtful(self, above: float, *, by: Doubt = "total") -> list[DoubtfulWord]:
        """The words that the model was unsure of, with their places in ``text``: what an editor would underline.

        Args:
            above: nats. A word is as doubtful as the most doubtful of its tokens, and listed above this.
            by: ``total``, ``data`` or ``knowledge`` uncertainty, or ``surprise``: how unlikely the tokens were.

        Raises:
            InvalidInput: tokens were not asked for, or the model does not have this uncertainty.
        """
        if self.tokens is None and math.isnan(self.score):
            return []  # nothing was translated
        if self.tokens is None:
            raise InvalidInput(
                "tokens of this hypothesis were not asked for: ask with tokens='best', or 'all' for those of others",
                code="no_tokens",
                field="tokens",
            )
        return doubtful_words(self.text, self.tokens, above, by)

    def __repr__(self) -> str:
        return f"<Hypothesis: {_translation_text.quoted(self.text)} with {self.confidence:.2f}>"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TranslatedSentence(DecidedUnit):
    """The best hypotheses for one sentence, and whether the service answers for them.

    A sentence that was deferred still carries its hypotheses, unless the service's policy withholds them: then there
    are none, and the sentence stands in the translation as it came.
    """

    item: int
    """Index of the sentence in its text, or in the document."""
    source: str
    """The sentence as it came."""
    source_span: Span
    """Where it stands in its text."""
    span: Span | None
    """Where the best hypothesis stands in the translation (the sentence itself, where that is withheld); None as long
    as what stands before it is not translated."""
    hypotheses: tuple[Hypothesis, ...]
    """The best first; none where they are withheld."""

    @property
    def best(self) -> Hypothesis | None:
        """The best hypothesis; None where it is withheld."""
        return self.hypotheses[0] if self.hypotheses else None

    @property
    def outcome(self) -> str:
        """What was found and decided, in words."""
        return _translation_text.outcome(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON takes; arrays are lists."""
        found = {field.name: plain(getattr(self, field.name)) for field in fields(self)}
        return found | {"deferred": self.deferred, "reason": self.reason, "shifted": self.shifted}

    def summary(self) -> str:
        """All that matters, in some lines of text."""
        return _translation_text.text(self)

    def __repr__(self) -> str:
        return f"<TranslatedSentence: {_translation_text.quoted(self.source)}, {self.outcome}, model {self.model!r}>"
