"""Decoding as the scheduler's work: one step of many sentences is a quantum, which requests share."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from models.tasks.translation.inference.decoding.decoder import Batch
from models.tasks.translation.inference.decoding.search import settled
from models.tasks.translation.inference.translator import Asked, Translation, Translator

_NEWEST = 0.1  # weight of the newest measurement


@dataclass(frozen=True, slots=True)
class Question:
    """A sentence of a request."""

    item: int
    asked: Asked


@dataclass(frozen=True, slots=True)
class Turn:
    """What a request wants to have decoded one token further: sentences under way, and some that begin."""

    batches: tuple[Batch, ...] = ()
    new: tuple[Question, ...] = ()

    @property
    def size(self) -> int:
        """Sentences."""
        return sum(map(len, self.batches)) + len(self.new)


@dataclass(frozen=True, slots=True)
class Turned:
    """What became of a turn."""

    turn: Turn
    """What goes on."""
    done: tuple[tuple[int, Translation, int], ...]
    """Items that are done, with what was said and the steps that it took."""


@dataclass
class Stepping:
    """``SharingExecutor`` that runs turns in one pass over the step graph; sizes are sentences."""

    translator: Translator
    quantum_size: int
    fixed_seconds: float = 2e-3
    """Of a pass, whatever its size."""
    sentence_seconds: float = 1e-3
    """Of each sentence in it."""

    def seconds(self, size: int) -> float:
        """Expected duration of a pass."""
        return self.fixed_seconds + self.sentence_seconds * size

    def together(self, contents: Sequence[Turn]) -> list[Turned]:
        """All sentences of all turns one token further; those that are done, in presentation."""
        begun = iter(self._read([turn.new for turn in contents if turn.new]))
        every = [[*turn.batches, *([next(begun)] if turn.new else [])] for turn in contents]
        stepped = iter(self.translator.decoder.together([batch for batches in every for batch in batches]))
        return [self._settled([next(stepped) for _ in batches]) for batches in every]

    def measure(self, texts: Sequence[str], repeats: int = 3) -> None:
        """Learns the durations of passes from the first steps of one sentence and of many."""
        questions = [Question(item, self.translator.asked(text)) for item, text in enumerate(texts)]
        fast, slow = (min(self._timed(some) for _ in range(repeats)) for some in (questions[:1], questions))
        self.sentence_seconds = max((slow - fast) / max(len(questions) - 1, 1), 1e-5)
        self.fixed_seconds = max(fast - self.sentence_seconds, 1e-4)

    def _timed(self, questions: Sequence[Question]) -> float:
        (turned,) = self.together([Turn(new=tuple(questions))])
        start = time.perf_counter()
        self.together([turned.turn])
        return time.perf_counter() - start

    def _read(self, parts: Sequence[Sequence[Question]]) -> list[Batch]:
        """Return a batch of each part; all sentences are read in one pass."""
        sources = [self.translator.source(question, question.asked) for part in parts for question in part]
        if not sources:
            return []
        whole = self.translator.decoder.read(sources)
        stops = list(accumulate(map(len, parts)))
        return [whole.part(stop - len(part), stop) for part, stop in zip(parts, stops, strict=True)]

    def _settled(self, batches: Iterable[Batch]) -> Turned:
        left, done = [], []
        for batch in batches:
            rest, ended = settled(batch)
            if rest is not None:
                left.append(rest)
            steps = int(batch.beams.lengths.max(initial=0))
            for question, hypotheses in ended:
                done.append((question.item, self.translator.translation(question.asked, hypotheses), steps))
        return Turned(Turn(tuple(left)), tuple(done))


@dataclass
class Pace:
    """How many steps sentences take, by experience."""

    steps_per_token: float = 1.2
    """Of a sentence."""
    _noted: int = field(default=0, repr=False)

    def steps(self, tokens: int) -> float:
        """Expected steps of a sentence of so many tokens."""
        return 2 + self.steps_per_token * tokens

    def note(self, tokens: int, steps: int) -> None:
        """A sentence of so many tokens took so many steps."""
        if tokens > 0:
            self._noted += 1
            self.steps_per_token += max(_NEWEST, 1 / self._noted) * (steps / tokens - self.steps_per_token)
