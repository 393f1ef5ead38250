"""The stream of one document from the caller's side, without input or output: pieces out, sentences in."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from demur._errors import DemurError, InvalidInput
from demur._exchange import ChunkError, Exchange
from demur._question import Purpose
from demur._translation_answer import Translation, TranslationFailure, Translations
from demur._translation_chunks import TranslationChunks
from demur._translation_cuts import pieces
from demur._translation_question import Detail, check
from demur._translation_reading import sentence
from demur._translation_sentence import Span, TranslatedSentence
from demur.v1 import translation_pb2 as wire


class DocumentExchange:
    """State of one stream: pieces of a document in, frames out; response frames in, sentences out as they are done.

    Places are counted in the document. What is told of a piece waits until those before it are done, because only then
    it is known how many sentences they have. A piece that the service refuses stands as it came.

    Raises:
        InvalidInput: the document is no text, or wishes mean nothing.
    """

    def __init__(
        self, text: str, purpose: Purpose, defer_above: float | None, tokens: Detail, window: int | None
    ) -> None:
        check(text, "text")
        chunks = TranslationChunks(purpose, defer_above, tokens, self._hear)
        self._exchange: Exchange[Any, Translations] = Exchange(chunks, window=window, on_error="yield")
        self._text = text
        self._spans: list[Span] = []  # of the pieces that are on their way or done
        self._early: defaultdict[int, deque[wire.TranslatedSentence]] = defaultdict(deque)  # by piece
        self._told: set[int] = set()  # sentences of the first piece that is not done, which were handed over
        self._ready: deque[TranslatedSentence] = deque()
        self._done: list[Translation] = []  # pieces, with their places in the document
        self._items = 0  # sentences in them
        self._length = 0  # characters of their translations
        self._model = self._profile = ""
        self._scores: tuple[str, ...] | None = None
        self.begin = self._exchange.begin
        """The first frame to send."""

    def pieces(self) -> Iterator[Span]:
        """The questions: where the pieces of the document lie."""
        return pieces(self._text)

    @property
    def open(self) -> bool:
        """Whether the service may still send frames."""
        return self._exchange.open

    def accept(self, frame: Any) -> None:
        """Take the service's first frame, or None for its end.

        Raises:
            ServiceFailure: it is not that frame.
        """
        self._exchange.accept(frame)
        self._model, self._profile = frame.accepted.model, frame.accepted.profile

    @property
    def full(self) -> bool:
        """Whether an answer must be received before the next piece is sent."""
        return self._exchange.full

    @property
    def finishing(self) -> bool:
        """Never: a piece that fails does not end the stream, unless its error is raised."""
        return False

    def offer(self, piece: Span) -> Iterator[Any]:
        """The frame of the next piece."""
        self._spans.append(piece)
        return self._exchange.offer((self._text[slice(*piece)],))

    def receive(self, frame: Any) -> None:
        """Take a frame of the service, or None for its end.

        Raises:
            ServiceFailure: it breaks the contract.
            DemurError: a piece failed for another reason than what stands in it, or all pieces did.
        """
        self._exchange.receive(frame)
        for outcome in self._exchange.outcomes():
            if isinstance(outcome, ChunkError):
                self._refuse(outcome.error)
            else:
                self._finish(outcome)
        if frame is None:
            self._check()

    def outcomes(self) -> Iterator[TranslatedSentence]:
        """Hand over the sentences that are done."""
        while self._ready:
            yield self._ready.popleft()

    def result(self) -> Translation:
        """The whole document.

        Raises:
            DemurError: nothing could be translated.
            RuntimeError: the stream was not read to its end.
        """
        if self.open:
            raise RuntimeError("the document is not translated to its end: it was closed, or its stream failed")
        self._check()
        return Translation(
            text="".join(one.text for one in self._done),
            source=self._text,
            sentences=tuple(sentence for one in self._done for sentence in one.sentences),
            failures=tuple(failure for one in self._done for failure in one.failures),
            model=", then ".join(dict.fromkeys(one.model for one in self._done if one.model)) or self._model,
            profile=", then ".join(dict.fromkeys(one.profile for one in self._done if one.profile)) or self._profile,
        )

    def _check(self) -> None:
        if self._done and all(one.failures and not one.sentences for one in self._done):
            raise self._done[0].failures[0].error

    def _hear(self, said: wire.TranslationSaid) -> None:
        """Take a sentence of a piece that is not done."""
        self._scores = tuple(said.scores) or self._scores
        self._early[said.sequence].append(said.sentence)
        if said.sequence == len(self._done):
            self._tell()

    def _tell(self) -> None:
        """Hand over what was said early of the first piece that is not done."""
        waiting = self._early[len(self._done)]
        text = self._text[slice(*self._spans[len(self._done)])] if waiting else ""
        while waiting:
            message = waiting.popleft()
            origin = {"model": self._model, "profile": self._profile}
            said = sentence(message, text, item=message.item, span=None, **origin, scores=self._scores)
            if message.item not in self._told:
                self._told.add(message.item)
                self._ready.append(self._placed(said))

    def _finish(self, answer: Translations) -> None:
        (piece,) = answer
        for one in piece.sentences:
            if one.best is not None and one.best.scores is not None:
                self._scores = tuple(one.best.scores)
                break
        placed = [self._placed(one) for one in piece.sentences]
        self._ready.extend(
            there for here, there in zip(piece.sentences, placed, strict=True) if here.item not in self._told
        )
        begin = self._spans[len(self._done)][0]
        failures = [
            TranslationFailure(self._items + one.item, (begin + one.within[0], begin + one.within[1]), one.error)
            for one in piece.failures
        ]
        self._append(replace(piece, sentences=tuple(placed), failures=tuple(failures)))

    def _refuse(self, error: DemurError) -> None:
        """Let a piece that cannot be translated stand as it came."""
        span = self._spans[len(self._done)]
        if self._told or not isinstance(error, InvalidInput):
            error.add_note(f"in characters {span[0]} to {span[1]} of the document")
            raise error
        text = self._text[slice(*span)]
        self._append(Translation(text, text, (), (TranslationFailure(self._items, span, error),), "", ""))

    def _append(self, piece: Translation) -> None:
        self._items += len(piece.sentences) + len(piece.failures)
        self._length += len(piece.text)
        self._early.pop(len(self._done), None)
        self._told.clear()
        self._done.append(piece)
        self._tell()

    def _placed(self, said: TranslatedSentence) -> TranslatedSentence:
        """A sentence of the first piece that is not done, with its places in the document."""
        begin = self._spans[len(self._done)][0]
        start, stop = said.source_span
        span = None if said.span is None else (self._length + said.span[0], self._length + said.span[1])
        return replace(said, item=self._items + said.item, source_span=(begin + start, begin + stop), span=span)
