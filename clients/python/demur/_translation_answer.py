"""What the service says of texts: the translations, and each of their sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from demur import _translation_text
from demur._errors import DemurError
from demur._ids import PredictionIds
from demur._translation_sentence import Span, TranslatedSentence
from demur._translation_tokens import Doubt, DoubtfulWord

UNDERLINE = ("\x1b[4m", "\x1b[24m")
"""What terminals take for the beginning and end of underlined text."""


@dataclass(frozen=True, slots=True)
class TranslationFailure:
    """A sentence, or a piece of a document, that could not be translated, while others could: it stands as it came."""

    item: int
    """Index among the sentences of its text, or of the document."""
    within: Span
    """It stands within these characters of the source, alone or beside others that failed."""
    error: DemurError


@dataclass(frozen=True, eq=False, repr=False)
class Translation:
    """The translation of one text, which is cut into sentences and joined again.

    What lies between sentences (spaces, line breaks, emoji, bullets) is as it was. So are sentences that failed or that
    the policy withholds.
    """

    text: str
    """The translation, Russian."""
    source: str
    """The text as it came, English."""
    sentences: tuple[TranslatedSentence, ...]
    """In their order."""
    failures: tuple[TranslationFailure, ...]
    model: str
    profile: str
    """Name of the numeric profile that computed the scores, such as ``cpu-fp32-stacked``; empty where the service does
    not tell."""

    @property
    def deferred(self) -> bool:
        """Whether the service leaves any sentence to somebody else."""
        return any(one.deferred for one in self.sentences)

    @property
    def answered(self) -> bool:
        """Whether no sentence was deferred and none failed."""
        return not self.failures and not self.deferred

    @property
    def prediction_ids(self) -> PredictionIds:
        """Identity of each sentence, as ``commit`` and ``erase`` take them."""
        return PredictionIds.joined(one.prediction_ids for one in self.sentences)

    def check(self) -> Translation:
        """Itself, if no sentence failed.

        Raises:
            DemurError: of the first that did.
        """
        for one in self.failures:
            raise one.error
        return self

    def doubtful(self, above: float, *, by: Doubt = "total") -> list[DoubtfulWord]:
        """The words that the model was unsure of, with their places in ``text``: what an editor would underline.

        Args:
            above: nats. A word is as doubtful as the most doubtful of its tokens, and listed above this.
            by: ``total``, ``data`` or ``knowledge`` uncertainty, or ``surprise``: how unlikely the tokens were.

        Raises:
            InvalidInput: tokens were not asked for, or the model does not have this uncertainty.
        """
        return [
            DoubtfulWord(one.span[0] + word.start, one.span[0] + word.stop, word.value)
            for one in self.sentences
            if one.best is not None and one.span is not None
            for word in one.best.doubtful(above, by=by)
        ]

    def underlined(self, above: float, *, by: Doubt = "total", marks: tuple[str, str] = UNDERLINE) -> str:
        """``text`` with marks before and after each doubtful word.

        Args:
            above: as for :meth:`doubtful`.
            by: as for :meth:`doubtful`.
            marks: what to write before and after; by default what terminals underline. ``("**", "**")`` for Markdown.
        """
        parts, place = [], 0
        for word in self.doubtful(above, by=by):
            parts += [self.text[place : word.start], marks[0], self.text[word.start : word.stop], marks[1]]
            place = word.stop
        return "".join([*parts, self.text[place:]])

    @property
    def outcome(self) -> str:
        """How many sentences were translated, deferred, shifted and failed, in words."""
        return _translation_text.outcome_of(self.sentences, self.failures)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON takes."""
        return {
            "text": self.text,
            "source": self.source,
            "model": self.model,
            "profile": self.profile,
            "sentences": [one.to_dict() for one in self.sentences],
            "failures": [
                {"item": one.item, "within": list(one.within), "error": str(one.error)} for one in self.failures
            ],
        }

    def summary(self) -> str:
        """All that matters of each sentence, in some lines of text."""
        return _translation_text.text_of(self)

    def __repr__(self) -> str:
        return f"<Translation: {_translation_text.quoted(self.text)}, {self.outcome}, model {self.model!r}>"


@dataclass(frozen=True, eq=False, repr=False)
class Translations(Sequence[Translation]):
    """The translations of the texts of one question: a sequence, in their order."""

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
        return tuple(sentence for one in self.translations for sentence in one.sentences)

    @property
    def failures(self) -> tuple[TranslationFailure, ...]:
        """Those of all texts, in their order."""
        return tuple(failure for one in self.translations for failure in one.failures)

    @property
    def deferred(self) -> bool:
        """Whether the service leaves any sentence to somebody else."""
        return any(one.deferred for one in self.translations)

    @property
    def answered(self) -> bool:
        """Whether no sentence was deferred and none failed."""
        return all(one.answered for one in self.translations)

    @property
    def prediction_ids(self) -> PredictionIds:
        """Identity of each sentence, as ``commit`` and ``erase`` take them."""
        return PredictionIds.joined(one.prediction_ids for one in self.translations)

    def check(self) -> Translations:
        """Itself, if no sentence failed.

        Raises:
            DemurError: of the first that did.
        """
        for one in self.translations:
            one.check()
        return self

    @property
    def outcome(self) -> str:
        """How many sentences were translated, deferred, shifted and failed, in words."""
        return _translation_text.outcome_of(self.sentences, self.failures)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON takes."""
        translations = [one.to_dict() for one in self.translations]
        return {"model": self.model, "profile": self.profile, "translations": translations}

    def summary(self) -> str:
        """All that matters of each sentence, in some lines of text."""
        return _translation_text.text_of_all(self)

    def __repr__(self) -> str:
        texts = f"{len(self)} text{'' if len(self) == 1 else 's'}"
        return f"<Translations: {texts}, {self.outcome}, model {self.model!r}>"
