"""Documents of any length: cut into pieces, translated over one stream, joined again."""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from demur._errors import DemurError, InvalidInput
from demur._exchange import ChunkError, Exchange
from demur._options import Purpose
from demur._translation.answer import Translation, TranslationFailure, Translations
from demur._translation.decoding import sentence
from demur._translation.request import Detail, TranslationChunks, check_text
from demur._translation.sentence import Span, TranslatedSentence
from demur.v1 import translation_pb2 as wire

PIECE_CHARACTERS = 16_000
"""Largest piece: some hundred sentences, so that the first translations come soon."""
PIECE_ENDS = 400
"""Largest number of possible sentence ends in a piece. A call takes 1024 sentences; long ones are cut further."""

_MAY_END = re.compile(
    r"\s{2,}|[\t\n\v\f\x1c-\x1e\x85\u2028\u2029]"
    r"|(?<![.!?\u2026\u203d])[.!?\u2026\u203d]++[\"'\u201d\u2019\u00bb)\]]*+\s+"
)
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")
_LINE = re.compile(r"[\n\x85\u2028\u2029]")
_SENTENCE = re.compile(
    r"(?:(?<=[^\W\d_]{5})\.|[!?\u2026\u203d])[\"'\u201d\u2019\u00bb)\]]*\s+(?=[\"'\u201c\u2018\u00ab(\[]*[^\W\d_a-z])"
)
"""End of a sentence; a full stop only after a longer word, because short ones may be abbreviations."""
_SPACE = re.compile(r"\s+")


def pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the pieces of a text, characters [start, stop), in their order; none for an empty text.

    Cuts are made after the last empty line in the second half of what a piece may hold, else after the last line break
    there, the last end of a sentence, the last space, or anywhere.
    """
    start = 0
    while start < len(text):
        stop = _stop(text, start)
        yield start, stop
        start = stop


def _stop(text: str, start: int) -> int:
    limit = min(start + PIECE_CHARACTERS, len(text))
    last = next(islice(_MAY_END.finditer(text, start, limit), PIECE_ENDS - 1, None), None)
    if last is not None:
        limit = last.end()
    if limit == len(text):
        return limit
    half = start + (limit - start + 1) // 2
    for ending in (_PARAGRAPH, _LINE, _SENTENCE, _SPACE):
        stops = [match.end() for match in ending.finditer(text, half, limit)]
        if stops:
            return stops[-1]
    return limit


class DocumentExchange:
    """State of one stream: pieces of a document in, frames out; response frames in, sentences out as they are done.

    Positions are counted in the document. Early sentences of a piece wait until the pieces before it are done, because
    only then it is known how many sentences those have. A piece that the service refuses stays untranslated.

    Raises:
        InvalidInput: the document is not text, or an option has a value that is not allowed.
    """

    def __init__(
        self, text: str, purpose: Purpose, defer_above: float | None, tokens: Detail, window: int | None
    ) -> None:
        check_text(text, "text")
        chunks = TranslationChunks(purpose, defer_above, tokens, self._add_early)
        self._exchange: Exchange[Any, Translations] = Exchange(chunks, window=window, on_error="yield")
        self._text = text
        self._spans: list[Span] = []  # of the pieces that are in flight or done
        self._early: defaultdict[int, deque[wire.TranslatedSentence]] = defaultdict(deque)  # by piece
        self._yielded: set[int] = set()  # sentences of the first piece that is not done
        self._ready: deque[TranslatedSentence] = deque()
        self._done: list[Translation] = []  # pieces, with their positions in the document
        self._items = 0  # sentences in them
        self._length = 0  # characters of their translations
        self._model = self._profile = ""
        self._scores: tuple[str, ...] | None = None
        self.begin = self._exchange.begin
        """The first frame to send."""

    def pieces(self) -> Iterator[Span]:
        """Yield the requests: the spans of the pieces of the document."""
        return pieces(self._text)

    @property
    def open(self) -> bool:
        """True while the service may still send frames."""
        return self._exchange.open

    def accept(self, frame: Any) -> None:
        """Take the service's first frame, or None for its end.

        Raises:
            ServiceFailure: it is another frame.
        """
        self._exchange.accept(frame)
        self._model, self._profile = frame.accepted.model, frame.accepted.profile

    @property
    def full(self) -> bool:
        """True if an answer must be received before the next piece is sent."""
        return self._exchange.full

    @property
    def finishing(self) -> bool:
        """Always False: a piece that fails does not end the stream, unless its error is raised."""
        return False

    def offer(self, piece: Span) -> Iterator[Any]:
        """Yield the frame of the next piece."""
        self._spans.append(piece)
        return self._exchange.offer((self._text[slice(*piece)],))

    def receive(self, frame: Any) -> None:
        """Take a frame of the service, or None for its end.

        Raises:
            ServiceFailure: it breaks the contract.
            DemurError: a piece failed for another reason than its text, or all pieces failed.
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
        """Yield the sentences that are done."""
        while self._ready:
            yield self._ready.popleft()

    def result(self) -> Translation:
        """Return the translation of the whole document.

        Raises:
            DemurError: nothing could be translated.
            RuntimeError: the stream was not read to its end.
        """
        if self.open:
            raise RuntimeError("the document is not translated to its end: it was closed, or its stream failed")
        self._check()
        return Translation(
            text="".join(piece.text for piece in self._done),
            source=self._text,
            sentences=tuple(sentence for piece in self._done for sentence in piece.sentences),
            failures=tuple(failure for piece in self._done for failure in piece.failures),
            model=_in_order(piece.model for piece in self._done) or self._model,
            profile=_in_order(piece.profile for piece in self._done) or self._profile,
        )

    def _check(self) -> None:
        if self._done and all(piece.failures and not piece.sentences for piece in self._done):
            raise self._done[0].failures[0].error

    def _add_early(self, message: wire.TranslationSaid) -> None:
        """Take a sentence of a piece that is not done."""
        self._scores = tuple(message.scores) or self._scores
        self._early[message.sequence].append(message.sentence)
        if message.sequence == len(self._done):
            self._release_early()

    def _release_early(self) -> None:
        """Make early sentences of the first piece that is not done ready to be yielded."""
        waiting = self._early[len(self._done)]
        text = self._text[slice(*self._spans[len(self._done)])] if waiting else ""
        while waiting:
            message = waiting.popleft()
            origin = {"model": self._model, "profile": self._profile}
            early = sentence(message, text, item=message.item, span=None, **origin, scores=self._scores)
            if message.item not in self._yielded:
                self._yielded.add(message.item)
                self._ready.append(self._placed(early))

    def _finish(self, answer: Translations) -> None:
        (piece,) = answer
        for translated in piece.sentences:
            if translated.best is not None and translated.best.scores is not None:
                self._scores = tuple(translated.best.scores)
                break
        placed = [self._placed(translated) for translated in piece.sentences]
        self._ready.extend(
            there for here, there in zip(piece.sentences, placed, strict=True) if here.item not in self._yielded
        )
        begin = self._spans[len(self._done)][0]
        failures = [
            replace(
                failure,
                item=self._items + failure.item,
                within=(begin + failure.within[0], begin + failure.within[1]),
            )
            for failure in piece.failures
        ]
        self._append(replace(piece, sentences=tuple(placed), failures=tuple(failures)))

    def _refuse(self, error: DemurError) -> None:
        """Leave a piece that the service refuses untranslated."""
        span = self._spans[len(self._done)]
        if self._yielded or not isinstance(error, InvalidInput):
            error.add_note(f"in characters {span[0]} to {span[1]} of the document")
            raise error
        text = self._text[slice(*span)]
        self._append(Translation(text, text, (), (TranslationFailure(self._items, span, error),), "", ""))

    def _append(self, piece: Translation) -> None:
        self._items += len(piece.sentences) + len(piece.failures)
        self._length += len(piece.text)
        self._early.pop(len(self._done), None)
        self._yielded.clear()
        self._done.append(piece)
        self._release_early()

    def _placed(self, part: TranslatedSentence) -> TranslatedSentence:
        """Return a sentence of the first piece that is not done, with its positions in the document."""
        begin = self._spans[len(self._done)][0]
        start, stop = part.source_span
        span = None if part.span is None else (self._length + part.span[0], self._length + part.span[1])
        return replace(part, item=self._items + part.item, source_span=(begin + start, begin + stop), span=span)


def _in_order(names: Iterable[str]) -> str:
    """Return different names in their order, such as ``a, then b``; empty ones are left out."""
    return ", then ".join(dict.fromkeys(filter(None, names)))
