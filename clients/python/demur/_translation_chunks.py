"""Texts as the chunks of a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from demur._errors import DemurError, InvalidInput, TooLarge
from demur._exchange import Part
from demur._question import Purpose
from demur._translation_answer import Translations
from demur._translation_question import Detail, detail, manner, request
from demur._translation_reading import translations
from demur.v1 import translation_pb2 as wire
from demur.v1.common_pb2 import StreamBegin

Heard: TypeAlias = Callable[[wire.TranslationSaid], None]
"""Called with each sentence that is told before its chunk is done."""


class TranslationChunks:
    """What is asked about texts and how, and what it is answered. A question is one chunk.

    Raises:
        InvalidInput: wishes that mean nothing.
    """

    def __init__(self, purpose: Purpose, defer_above: float | None, tokens: Detail, heard: Heard | None = None) -> None:
        self._manner = manner(purpose, defer_above)
        self._tokens = detail(tokens)
        self._heard = heard
        self.begin = wire.TranslationStreamRequest(begin=StreamBegin(**self._manner.fields()))
        """The first frame to send."""

    def unary(self, texts: Sequence[str]) -> wire.TranslationPredictRequest:
        """A whole question in one message."""
        fields = self._manner.fields()
        del fields["members"]  # of rows only
        whole = request(texts, self._tokens)
        whole.MergeFrom(wire.TranslationPredictRequest(**fields))
        return whole

    def cut(self, question: tuple[str, ...] | InvalidInput | TooLarge) -> list[Part[Translations]]:
        """The chunk of a question that was read.

        Raises:
            InvalidInput, TooLarge: it could not be.
        """
        if isinstance(question, DemurError):
            raise question
        asked = _Asked(question, self._tokens, self._heard)
        return [Part(0, asked.frame, asked.decode, asked.tell)]

    def join(self, parts: Sequence[Translations]) -> Translations:
        """The answer of the only chunk of a question."""
        (whole,) = parts
        return whole

    def refused(self, error: DemurError) -> None:
        """Nothing is remembered of a question that failed."""


class _Asked:
    """A question on its way, and what was said of it so far."""

    def __init__(self, texts: tuple[str, ...], tokens: wire.TranslationDetail, heard: Heard | None) -> None:
        self._texts, self._tokens, self._heard = texts, tokens, heard
        self._told: list[wire.TranslatedSentence] = []

    def frame(self, sequence: int) -> wire.TranslationStreamRequest:
        chunk = wire.TranslationChunk(sequence=sequence, request=request(self._texts, self._tokens))
        return wire.TranslationStreamRequest(chunk=chunk)

    def tell(self, said: wire.TranslationSaid) -> None:
        self._told.append(said.sentence)
        if self._heard is not None:
            self._heard(said)

    def decode(self, response: wire.TranslationPredictResponse) -> Translations:
        return translations(response, self._texts, self._told)
