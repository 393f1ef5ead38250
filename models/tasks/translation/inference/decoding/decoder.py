"""Decoder of an ensemble: sentences are encoded once, then every step extends all hypotheses by a token.

Batches of several callers share a step (``Decoder.together``). Memory and caches are one ``Composition`` that all
batches refer to; it is copied only when finished sentences leave or waiting ones join, which ``search`` does to keep
batches full.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.executors.onnx import OnnxGraph
from models.tasks.translation.data.examples import pad
from models.tasks.translation.inference.decoding import beams as beam_search
from models.tasks.translation.inference.decoding.beams import Beams, Hypothesis, MemberOutputs, Rules
from models.tasks.translation.inference.decoding.composition import Composition, composed
from models.tasks.translation.networks import settings
from models.uncertainty.tokens import TokenUncertainty

_HIDDEN = np.float32(-1e9)


@dataclass(frozen=True)
class Source:
    """Sentence in the form that a decoder takes."""

    name: Any
    """Identifier of the sentence."""
    tokens: Sequence[int]
    """Tokens with the end of sentence."""
    marks: int = 0
    """Number of literals."""


@dataclass(frozen=True)
class Batch:
    """Sentences of one caller that are decoded together, between two steps."""

    beams: Beams
    inside: Composition
    """Composition with their memory and caches; it may hold other sentences, too."""
    sentences: NDArray[np.int64]
    """Indices of the sentences in the composition, [S]."""
    past: NDArray[np.bool_]
    """Mask of cache columns that are a hypothesis's past, [R, c]."""

    def __len__(self) -> int:
        return len(self.beams)

    def take(self, sentences: NDArray[np.int64]) -> Batch:
        """Return some sentences, in that order."""
        rows = self.beams.rows(sentences)
        return replace(
            self,
            beams=self.beams.take(sentences),
            sentences=self.sentences[sentences],
            past=self.past[rows],
        )

    def part(self, start: int, stop: int) -> Batch:
        """Return sentences ``start`` to ``stop`` - 1."""
        return self.take(np.arange(start, stop))


class Decoder:
    """Encoder and decoder graph with the rules of the search. Calls are independent and thread-safe."""

    def __init__(self, reader: OnnxGraph, stepper: OnnxGraph, rules: Rules) -> None:
        self.rules = rules
        self._reader, self._stepper = reader, stepper
        self._memory = tuple(name for name in reader.outputs if name != settings.HIDDEN)
        self._caches = tuple(f"s{name}" for name in self._memory)
        self.members = int(stepper.inputs[settings.PREFIX][0])
        _, self._heads, _, self._one = stepper.inputs[self._caches[0]]
        self._step_outputs = (
            settings.CANDIDATES,
            settings.LOG_PROBABILITIES,
            settings.SPECIAL,
            settings.UNCERTAINTY,
            *(f"new.{name}" for name in self._caches),
        )

    def sentence_bytes(self, tokens: float) -> int:
        """Return the size of the caches of a sentence with ``tokens`` tokens per hypothesis, bytes.

        A step needs both old and new caches.
        """
        return int(2 * self.rules.beam * len(self._caches) * self._heads * self._one * 4 * tokens)

    def read(self, sentences: Sequence[Source]) -> Batch:
        """Encode sentences; return the batch before their first token."""
        tokens = pad([sentence.tokens for sentence in sentences])
        hidden, *memory = self._reader.run({settings.TOKENS: tokens}, (settings.HIDDEN, *self._memory))
        beams = Beams.start(
            self.rules,
            self.members,
            [sentence.name for sentence in sentences],
            [len(sentence.tokens) for sentence in sentences],
            [sentence.marks for sentence in sentences],
        )
        rows = len(sentences) * self.rules.beam
        caches = {name: np.empty((len(sentences), self._heads, 0, self._one), np.float32) for name in self._caches}
        inside = Composition(hidden, dict(zip(self._memory, memory, strict=True)), caches)
        return Batch(beams, inside, np.arange(len(sentences)), np.empty((rows, 0), bool))

    def step(self, batch: Batch) -> Batch:
        """Extend all hypotheses of a batch by one token."""
        return self.together([batch])[0]

    def together(self, batches: Sequence[Batch]) -> list[Batch]:
        """Extend all hypotheses of several batches by one token, in one pass over the graph."""
        beams = beam_search.joined([batch.beams for batch in batches])
        inside, past = composed([(batch.inside, batch.sentences, batch.past) for batch in batches])
        count, beam = len(beams), self.rules.beam
        past = np.concatenate([past, np.tile(np.eye(beam, dtype=bool), (count, 1))], axis=1)  # including the last token
        fed: dict[str, NDArray[Any]] = {
            settings.LAST: beams.last,
            settings.PAST: np.where(past, np.float32(0), _HIDDEN).reshape(count, 1, beam, past.shape[1]),
            settings.PLACES: beams.lengths.astype(np.float32),
            settings.PREFIX: beams.running.loglik.astype(np.float32),
            settings.SHAPE: np.array([count, beam, self._heads, self._one]),
            settings.HIDDEN: inside.hidden,
            **inside.memory,
            **inside.caches,
        }
        outputs: list[NDArray[Any]] = list(self._stepper.run(fed, self._step_outputs))
        candidates, logs, special, uncertainty = outputs[:4]
        answer = MemberOutputs(
            candidates,
            logs.astype(np.float64),
            special.astype(np.float64),
            TokenUncertainty(*uncertainty.astype(np.float64)),
        )
        after, parents = beams.step(answer)
        inside = replace(inside, caches=dict(zip(self._caches, outputs[4:], strict=True)))
        whole = Batch(after, inside, np.arange(count), past[parents])
        if len(batches) == 1:
            return [whole]
        ends = np.cumsum([len(batch) for batch in batches])
        return [whole.take(np.arange(end - len(batch), end)) for batch, end in zip(batches, ends, strict=True)]


def joined(batches: Sequence[Batch]) -> Batch:
    """Join batches of one caller."""
    beams = beam_search.joined([batch.beams for batch in batches])
    inside, past = composed([(batch.inside, batch.sentences, batch.past) for batch in batches])
    return Batch(beams, inside, np.arange(len(beams)), past)


Done = tuple[Any, tuple[Hypothesis, ...]]
"""Identifier of a sentence and its hypotheses, best first."""


def settled(batch: Batch) -> tuple[Batch | None, list[Done]]:
    """Return the unfinished part of a batch, None if nothing is left, and the finished sentences."""
    done = batch.beams.done
    if not done.any():
        return batch, []
    finished = [
        (batch.beams.names[number], tuple(sorted(batch.beams.ended[number], key=lambda hypothesis: -hypothesis.score)))
        for number in np.flatnonzero(done)
    ]
    left = np.flatnonzero(~done)
    return (batch.take(left) if len(left) else None), finished


def search(decoder: Decoder, sentences: Iterable[Source], *, width: int = 16) -> Iterator[Done]:
    """Yield the hypotheses of sentences as they finish.

    Long sentences come first: batches of similar length need least padding.

    Args:
        width: largest number of sentences in a batch.
    """
    waiting = deque(sorted(sentences, key=lambda sentence: -len(sentence.tokens)))
    batch: Batch | None = None
    while waiting or batch is not None:
        free = width - (0 if batch is None else len(batch))
        if waiting and (batch is None or free >= max(width // 4, 1) or free >= len(waiting)):
            new = decoder.read([waiting.popleft() for _ in range(min(free, len(waiting)))])
            batch = new if batch is None else joined([batch, new])
        assert batch is not None
        batch, done = settled(decoder.step(batch))
        yield from done
