"""Translated sentences: hypotheses, tokens, doubtful words."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from demur._decisions import DecidedUnit
from demur._errors import InvalidInput, wrong_argument
from demur._messages import Floats

Doubt: TypeAlias = Literal["total", "data", "knowledge", "surprise"]
"""Measure of doubt: an entropy of the tokens, or their negative log-probability (``surprise``)."""
Span: TypeAlias = tuple[int, int]
"""Characters [start, stop) of a text: ``text[start:stop]``."""

_DOUBTS = ("total", "data", "knowledge", "surprise")
_WORD = re.compile(r"[\w\u0300-\u036f]+(?:[-'\u2019][\w\u0300-\u036f]+)*")

_QUOTED = 40
"""Characters of a text in a line with others."""
_LINE = 90
"""Characters of a text that has its own line."""
_SUMMARY_WORDS = 3
"""Doubtful words in a summary."""


class DoubtfulWord(NamedTuple):
    """Word that the model is unsure of, characters [start, stop)."""

    start: int
    stop: int
    value: float
    """The largest of its tokens, nats."""


class Token(NamedTuple):
    """Token of a hypothesis, characters [start, stop) of its text; none for the end of the sentence."""

    start: int
    stop: int
    log_probability: float
    """Nats."""
    total: float
    """Entropy of the predicted distribution here, nats."""
    data: float | None
    """Uncertainty that more knowledge would not remove: the members' mean entropy, nats; None for single models."""
    knowledge: float | None
    """Disagreement of the members: ``total`` less ``data``, nats; None for single models."""


@dataclass(frozen=True, eq=False, repr=False)
class Tokens(Sequence[Token]):
    """The L tokens of a hypothesis in their order, the end of the sentence the last. Arrays are read-only."""

    starts: NDArray[np.uint32]
    """Position of each in the hypothesis' text, characters [start, stop), uint32 [L]."""
    stops: NDArray[np.uint32]
    """uint32 [L]."""
    log_probabilities: Floats
    """Nats, float32 [L]."""
    total: Floats
    """Entropy of the mean distribution of the members, nats, float32 [L]."""
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
        """Return a measure of doubt of each token, nats, float32 [L].

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


@dataclass(frozen=True, eq=False, repr=False)
class Hypothesis:
    """One candidate translation of a sentence."""

    text: str
    score: float
    """Log-probability over its length with the end of the sentence, nats a token; NaN where the sentence is not English
    and stays untranslated."""
    confidence: float
    """Softmax of the scores over the hypotheses of the sentence; they sum to one."""
    scores: Mapping[str, float] | None
    """The released scores by name, such as ``scr_pe``; None for single models."""
    tokens: Tokens | None
    """None where they were not requested, or nothing was translated."""

    def doubtful(self, above: float, *, by: Doubt = "total") -> list[DoubtfulWord]:
        """Return the words that the model is unsure of, with their positions in ``text``.

        Args:
            above: nats. A word is as doubtful as the most doubtful of its tokens, and listed above this.
            by: ``total``, ``data`` or ``knowledge`` uncertainty, or ``surprise``: how unlikely the tokens were.

        Raises:
            InvalidInput: tokens were not requested, or the model does not have this uncertainty.
        """
        if self.tokens is None and math.isnan(self.score):
            return []  # nothing was translated
        if self.tokens is None:
            raise InvalidInput(
                "tokens of this hypothesis were not requested: ask with tokens='best', or 'all' for those of others",
                code="no_tokens",
                field="tokens",
            )
        return doubtful_words(self.text, self.tokens, above, by)

    def __repr__(self) -> str:
        return f"<Hypothesis: {quoted(self.text)} with {self.confidence:.2f}>"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TranslatedSentence(DecidedUnit):
    """The best hypotheses for one sentence, and the decision.

    A sentence that was deferred still carries its hypotheses, unless the service's policy withholds them: then there
    are none, and the sentence stays untranslated.
    """

    item: int
    """Index of the sentence in its text, or in the document."""
    source: str
    """The sentence in English."""
    source_span: Span
    """Its position in its text."""
    span: Span | None
    """Position of the best hypothesis in the translation (of the sentence itself, if withheld); None as long as the
    text before it is not translated."""
    hypotheses: tuple[Hypothesis, ...]
    """The best first; none where they are withheld."""

    @property
    def best(self) -> Hypothesis | None:
        """The best hypothesis; None where it is withheld."""
        return self.hypotheses[0] if self.hypotheses else None

    @property
    def outcome(self) -> str:
        """Prediction and decision as text, such as ``'Привет!' with 0.62, answered``."""
        if self.best is None:
            return f"{self.verdict}, translation withheld"
        return f"{quoted(self.best.text)} with {self.best.confidence:.2f}, {self.verdict}"

    def summary(self) -> str:
        """Return a summary of some lines: decision, the sentence, hypotheses, doubtful words, remarks."""
        return self._summary(f"sentence {self.item}", "sentences", self._prediction_lines())

    def _prediction_lines(self) -> Iterator[str]:
        yield f"  source: {_shortened(self.source, _LINE)}"
        if self.hypotheses:
            yield "   #  confidence    score   nats a token"
        for number, hypothesis in enumerate(self.hypotheses, 1):
            text = _shortened(hypothesis.text, _LINE)
            yield f"  {number:>2}  {hypothesis.confidence:>10.2f}  {hypothesis.score:>7.2f}   {text}"
        best = self.best
        if best is None:
            yield "  translation withheld"
        elif best.tokens is not None:
            words = sorted(best.doubtful(0.0), key=lambda word: -word.value)[:_SUMMARY_WORDS]
            texts = (
                f"{_shortened(best.text[word.start : word.stop], _QUOTED // 2)} {word.value:.2f}" for word in words
            )
            yield f"  most doubtful words, nats: {', '.join(texts) or 'none'}"

    def __repr__(self) -> str:
        return f"<TranslatedSentence: {quoted(self.source)}, {self.outcome}, model {self.model!r}>"


def doubtful_words(text: str, tokens: Tokens, above: float, by: Doubt) -> list[DoubtfulWord]:
    """Return the words of a text with a doubtful token: above so many nats, or NaN.

    Punctuation is not a word. A token that spans several words makes all of them doubtful.

    Raises:
        InvalidInput: there is no such measure, or ``above`` is not a number.
    """
    try:
        limit = float(above)
    except (TypeError, ValueError):
        limit = math.nan
    if math.isnan(limit):
        raise wrong_argument("above", above, "a number, nats")
    values = tokens.doubts(by)
    doubtful = []
    for word in _WORD.finditer(text):
        own = values[(tokens.starts < word.end()) & (tokens.stops > word.start()) & (tokens.stops > tokens.starts)]
        if own.size and not (largest := float(own.max())) <= limit:
            doubtful.append(DoubtfulWord(word.start(), word.end(), largest))
    return doubtful


def quoted(text: str) -> str:
    """Return the text, or its beginning, on one line: ``'Hello, world!'``."""
    return repr(_shortened(text, _QUOTED))


def _shortened(text: str, characters: int) -> str:
    line = " ".join(text[: 2 * characters].split())
    return line if len(line) <= characters and len(text) <= 2 * characters else f"{line[: characters - 1]}…"
