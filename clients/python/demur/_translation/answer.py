"""Translations of texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from demur._errors import DemurError
from demur._ids import PredictionIds
from demur._translation.sentence import Doubt, DoubtfulWord, Span, TranslatedSentence, quoted

UNDERLINE = ("\x1b[4m", "\x1b[24m")
"""Escape sequences with which terminals begin and end underlined text."""


@dataclass(frozen=True, slots=True)
class TranslationFailure:
    """Sentence, or piece of a document, that could not be translated while others could; it stays untranslated."""

    item: int
    """Index among the sentences of its text, or of the document."""
    within: Span
    """Characters of the source that contain it, alone or beside others that failed."""
    error: DemurError


@dataclass(frozen=True, eq=False, repr=False)
class Translation:
    """The translation of one text, which is cut into sentences and joined again.

    Text between sentences (spaces, line breaks, emoji, bullets) is kept. Sentences that failed or that the policy
    withholds stay untranslated.
    """

    text: str
    """The translation, Russian."""
    source: str
    """The original text, English."""
    sentences: tuple[TranslatedSentence, ...]
    """In their order."""
    failures: tuple[TranslationFailure, ...]
    model: str
    profile: str
    """Name of the numeric profile that computed the scores, such as ``cpu-fp32-stacked``; empty where the service does
    not tell."""

    @property
    def deferred(self) -> bool:
        """True if the service leaves any sentence to somebody else."""
        return any(sentence.deferred for sentence in self.sentences)

    @property
    def answered(self) -> bool:
        """True if no sentence was deferred and none failed."""
        return not self.failures and not self.deferred

    @property
    def prediction_ids(self) -> PredictionIds:
        """Identity of each sentence, as ``commit`` and ``erase`` take them."""
        return PredictionIds.joined(sentence.prediction_ids for sentence in self.sentences)

    def check(self) -> Translation:
        """Return itself if no sentence failed.

        Raises:
            DemurError: of the first sentence that failed.
        """
        for failure in self.failures:
            raise failure.error
        return self

    def doubtful(self, above: float, *, by: Doubt = "total") -> list[DoubtfulWord]:
        """Return the words that the model is unsure of, with their positions in ``text``.

        Args:
            above: nats. A word is as doubtful as the most doubtful of its tokens, and listed above this.
            by: ``total``, ``data`` or ``knowledge`` uncertainty, or ``surprise``: how unlikely the tokens were.

        Raises:
            InvalidInput: tokens were not requested, or the model does not have this uncertainty.
        """
        return [
            DoubtfulWord(sentence.span[0] + word.start, sentence.span[0] + word.stop, word.value)
            for sentence in self.sentences
            if sentence.best is not None and sentence.span is not None
            for word in sentence.best.doubtful(above, by=by)
        ]

    def underlined(self, above: float, *, by: Doubt = "total", marks: tuple[str, str] = UNDERLINE) -> str:
        """Return ``text`` with marks before and after each doubtful word.

        Args:
            above: as for :meth:`doubtful`.
            by: as for :meth:`doubtful`.
            marks: text before and after, such as ``("**", "**")`` for Markdown; by default underlining in terminals.
        """
        parts, place = [], 0
        for word in self.doubtful(above, by=by):
            parts += [self.text[place : word.start], marks[0], self.text[word.start : word.stop], marks[1]]
            place = word.stop
        return "".join([*parts, self.text[place:]])

    @property
    def outcome(self) -> str:
        """Numbers of sentences as text, such as ``3 sentences, 1 deferred, 0 shifted, 1 failed``."""
        return _outcome(self.sentences, self.failures)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON takes."""
        return {
            "text": self.text,
            "source": self.source,
            "model": self.model,
            "profile": self.profile,
            "sentences": [sentence.to_dict() for sentence in self.sentences],
            "failures": [
                {"item": failure.item, "within": list(failure.within), "error": str(failure.error)}
                for failure in self.failures
            ],
        }

    def summary(self) -> str:
        """Return the summary of each sentence, and a line for each that failed."""
        failed = [f"sentence {failure.item}: failed: {failure.error}" for failure in self.failures]
        return "\n".join([*(sentence.summary() for sentence in self.sentences), *failed])

    def __repr__(self) -> str:
        return f"<Translation: {quoted(self.text)}, {self.outcome}, model {self.model!r}>"


@dataclass(frozen=True, eq=False, repr=False)
class Translations(Sequence[Translation]):
    """The translations of the texts of one call: a sequence, in their order."""

    translations: tuple[Translation, ...]
    model: str
    profile: str
    """Name of the numeric profile that computed the scores, such as ``cpu-fp32-stacked``; empty where the service does
    not tell."""

    def __len__(self) -> int:
        return len(self.translations)

    @overload
    def __getitem__(self, index: int) -> Translation: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Translation, ...]: ...
    def __getitem__(self, index: int | slice) -> Translation | tuple[Translation, ...]:
        return self.translations[index]

    def __iter__(self) -> Iterator[Translation]:
        return iter(self.translations)

    @property
    def sentences(self) -> tuple[TranslatedSentence, ...]:
        """Those of all texts, in their order."""
        return tuple(sentence for translation in self for sentence in translation.sentences)

    @property
    def failures(self) -> tuple[TranslationFailure, ...]:
        """Those of all texts, in their order."""
        return tuple(failure for translation in self for failure in translation.failures)

    @property
    def deferred(self) -> bool:
        """True if the service leaves any sentence to somebody else."""
        return any(translation.deferred for translation in self)

    @property
    def answered(self) -> bool:
        """True if no sentence was deferred and none failed."""
        return all(translation.answered for translation in self)

    @property
    def prediction_ids(self) -> PredictionIds:
        """Identity of each sentence, as ``commit`` and ``erase`` take them."""
        return PredictionIds.joined(translation.prediction_ids for translation in self)

    def check(self) -> Translations:
        """Return itself if no sentence failed.

        Raises:
            DemurError: of the first sentence that failed.
        """
        for translation in self:
            translation.check()
        return self

    @property
    def outcome(self) -> str:
        """Numbers of sentences as text, such as ``3 sentences, 1 deferred, 0 shifted, 1 failed``."""
        return _outcome(self.sentences, self.failures)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON takes."""
        translations = [translation.to_dict() for translation in self]
        return {"model": self.model, "profile": self.profile, "translations": translations}

    def summary(self) -> str:
        """Return the summary of each text, under its number where there are several."""
        if len(self) == 1:
            return self[0].summary()
        lines = []
        for number, translation in enumerate(self):
            lines.append(f"text {number}: {translation.outcome}")
            if translation.sentences or translation.failures:
                lines.append(translation.summary())
        return "\n".join(lines)

    def __repr__(self) -> str:
        texts = f"{len(self)} text{'' if len(self) == 1 else 's'}"
        return f"<Translations: {texts}, {self.outcome}, model {self.model!r}>"


def _outcome(sentences: Sequence[TranslatedSentence], failures: Sequence[TranslationFailure]) -> str:
    count = len(sentences) + len(failures)
    deferred = sum(sentence.deferred for sentence in sentences)
    shifted = sum(sentence.shifted for sentence in sentences)
    failed = f", {len(failures)} failed" if failures else ""
    return f"{count} sentence{'' if count == 1 else 's'}, {deferred} deferred, {shifted} shifted{failed}"
