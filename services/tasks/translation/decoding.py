"""Decoding as work of the scheduler: a step of many sentences is a quantum, which requests share."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from models.tasks.translation.inference.decoding.decoder import Batch, settled
from models.tasks.translation.inference.translator import SourceSentence, Translation, Translator

_NEWEST = 0.1  # weight of the newest measurement


@dataclass(frozen=True, slots=True)
class Question:
    """Sentence to translate."""

    item: int
    sentence: SourceSentence


@dataclass(frozen=True, slots=True)
class Turn:
    """Sentences of a request to decode one token further: running batches, and new sentences."""

    batches: tuple[Batch, ...] = ()
    new: tuple[Question, ...] = ()

    @property
    def size(self) -> int:
        """Number of sentences."""
        return sum(map(len, self.batches)) + len(self.new)


@dataclass(frozen=True, slots=True)
class Turned:
    """Result of a turn."""

    turn: Turn
    """Remaining sentences."""
    done: tuple[tuple[int, Translation, int], ...]
    """Finished items, each with its translation and its number of steps."""


@dataclass
class Stepping:
    """``SharingExecutor`` that runs turns in one pass over the step graph; sizes are sentences."""

    translator: Translator
    quantum_size: int
    fixed_seconds: float = 2e-3
    """Fixed duration of a pass."""
    sentence_seconds: float = 1e-3
    """Duration of each sentence in a pass."""

    def seconds(self, size: int) -> float:
        """Return the expected duration of a pass, in seconds."""
        return self.fixed_seconds + self.sentence_seconds * size

    def together(self, contents: Sequence[Turn]) -> list[Turned]:
        """Decode all sentences of all turns one token further; return the results in the order of the turns."""
        begun = iter(self._read([turn.new for turn in contents if turn.new]))
        every = [[*turn.batches, *([next(begun)] if turn.new else [])] for turn in contents]
        stepped = iter(self.translator.decoder.together([batch for batches in every for batch in batches]))
        return [self._settled([next(stepped) for _ in batches]) for batches in every]

    def measure(self, texts: Sequence[str], repeats: int = 3) -> None:
        """Measure the durations of passes by the first steps of one sentence and of many."""
        questions = [Question(item, self.translator.sentence(text)) for item, text in enumerate(texts)]
        fast, slow = (min(self._timed(some) for _ in range(repeats)) for some in (questions[:1], questions))
        self.sentence_seconds = max((slow - fast) / max(len(questions) - 1, 1), 1e-5)
        self.fixed_seconds = max(fast - self.sentence_seconds, 1e-4)

    def _timed(self, questions: Sequence[Question]) -> float:
        (turned,) = self.together([Turn(new=tuple(questions))])
        start = time.perf_counter()
        self.together([turned.turn])
        return time.perf_counter() - start

    def _read(self, parts: Sequence[Sequence[Question]]) -> list[Batch]:
        """Return a batch for each part; all sentences are encoded in one pass."""
        sources = [self.translator.source(question, question.sentence) for part in parts for question in part]
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
                done.append((question.item, self.translator.translation(question.sentence, hypotheses), steps))
        return Turned(Turn(tuple(left)), tuple(done))


@dataclass
class Pace:
    """Average number of decoding steps of sentences."""

    steps_per_token: float = 1.2
    """Steps per token of a sentence."""
    _noted: int = field(default=0, repr=False)

    def steps(self, tokens: int) -> float:
        """Return the expected number of steps of a sentence with this number of tokens."""
        return 2 + self.steps_per_token * tokens

    def note(self, tokens: int, steps: int) -> None:
        """Update the average with a finished sentence."""
        if tokens > 0:
            self._noted += 1
            self.steps_per_token += max(_NEWEST, 1 / self._noted) * (steps / tokens - self.steps_per_token)
