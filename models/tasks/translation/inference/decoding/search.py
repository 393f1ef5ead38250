"""Decoding of any number of sentences in full batches: finished sentences leave, and waiting ones join."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from models.tasks.translation.inference.decoding.beams import Hypothesis
from models.tasks.translation.inference.decoding.decoder import Batch, Decoder, Source, joined

Done = tuple[Any, tuple[Hypothesis, ...]]
"""Identifier of a sentence and its hypotheses, best first."""


def settled(batch: Batch) -> tuple[Batch | None, list[Done]]:
    """Return the unfinished part of a batch, None if nothing is left, and the finished sentences."""
    done = batch.beams.done
    if not done.any():
        return batch, []
    found = [
        (batch.beams.names[one], tuple(sorted(batch.beams.ended[one], key=lambda found: -found.score)))
        for one in np.flatnonzero(done)
    ]
    left = np.flatnonzero(~done)
    return (batch.take(left) if len(left) else None), found


def search(decoder: Decoder, sentences: Iterable[Source], *, width: int = 16) -> Iterator[Done]:
    """Yield the hypotheses of sentences as they finish.

    Long sentences come first: batches of similar length need least padding.

    Args:
        width: largest number of sentences in a batch.
    """
    waiting = deque(sorted(sentences, key=lambda one: -len(one.tokens)))
    batch: Batch | None = None
    while waiting or batch is not None:
        free = width - (0 if batch is None else len(batch))
        if waiting and (batch is None or free >= max(width // 4, 1) or free >= len(waiting)):
            new = decoder.read([waiting.popleft() for _ in range(min(free, len(waiting)))])
            batch = new if batch is None else joined([batch, new])
        assert batch is not None
        batch, done = settled(decoder.step(batch))
        yield from done
