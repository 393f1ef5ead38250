"""Translations in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from demur._translation_answer import Translation, TranslationFailure, Translations
    from demur._translation_sentence import TranslatedSentence

_QUOTED = 40
"""Characters of a text that a line of others shows."""
_SHOWN = 90
"""Characters of a text that has a line of its own."""
_DOUBTED = 3
"""Words in a summary that the model was most unsure of."""


def quoted(text: str) -> str:
    """The text, or its beginning, on one line: ``'Hello, world!'``."""
    return repr(_short(text, _QUOTED))


def outcome(sentence: TranslatedSentence) -> str:
    """What was found and decided, such as ``'Привет!' with 0.62, answered``."""
    if sentence.best is None:
        return f"{sentence.verdict}, translation withheld"
    return f"{quoted(sentence.best.text)} with {sentence.best.confidence:.2f}, {sentence.verdict}"


def outcome_of(sentences: Sequence[TranslatedSentence], failures: Sequence[TranslationFailure]) -> str:
    """How many sentences there are of each kind, such as ``3 sentences, 1 deferred, 0 shifted, 1 failed``."""
    count = len(sentences) + len(failures)
    deferred, shifted = sum(one.deferred for one in sentences), sum(one.shifted for one in sentences)
    failed = f", {len(failures)} failed" if failures else ""
    return f"{count} sentence{'' if count == 1 else 's'}, {deferred} deferred, {shifted} shifted{failed}"


def text(sentence: TranslatedSentence) -> str:
    """Some lines: decision, the sentence, hypotheses, doubtful words, remarks."""
    return "\n".join(_lines(sentence))


def text_of(translation: Translation) -> str:
    """The lines of each sentence, and of those that failed."""
    failed = [f"sentence {one.item}: failed: {one.error}" for one in translation.failures]
    return "\n".join([*(text(one) for one in translation.sentences), *failed])


def text_of_all(translations: Translations) -> str:
    """The lines of each text, under its number where there are several."""
    if len(translations) == 1:
        return text_of(translations[0])
    lines = []
    for number, one in enumerate(translations):
        lines += [f"text {number}: {one.outcome}", *([text_of(one)] if one.sentences or one.failures else [])]
    return "\n".join(lines)


def _lines(sentence: TranslatedSentence) -> Iterator[str]:
    yield f"sentence {sentence.item}: {sentence.verdict}"
    yield f"  {sentence.comparison}, policy {sentence.policy}"
    if sentence.shifted:
        yield f"  unlike the training sentences: {', '.join(sentence.shift_reasons)}"
    yield f"  source: {_short(sentence.source, _SHOWN)}"
    if sentence.hypotheses:
        yield "   #  confidence    score   nats a token"
    for number, one in enumerate(sentence.hypotheses, 1):
        yield f"  {number:>2}  {one.confidence:>10.2f}  {one.score:>7.2f}   {_short(one.text, _SHOWN)}"
    if sentence.best is None:
        yield "  translation withheld"
    elif sentence.best.tokens is not None:
        words = sorted(sentence.best.doubtful(0.0), key=lambda word: -word.value)[:_DOUBTED]
        said = ", ".join(
            f"{_short(sentence.best.text[word.start : word.stop], _QUOTED // 2)} {word.value:.2f}" for word in words
        )
        yield f"  most doubtful words, nats: {said or 'none'}"
    for remark in sentence.remarks:
        yield f"  {remark.code}: {remark.message}"
    yield f"  {sentence.origin}"


def _short(text: str, characters: int) -> str:
    """The beginning of a text, as one line."""
    line = " ".join(text[: 2 * characters].split())
    return line if len(line) <= characters and len(text) <= 2 * characters else f"{line[: characters - 1]}…"
