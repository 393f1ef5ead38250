"""Decodes any number of sentences in batches that stay full: who is done leaves, who waits joins."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from models.tasks.translation.inference.decoding.beams import Hypothesis
from models.tasks.translation.inference.decoding.decoder import Batch, Decoder, Source, joined

Done = tuple[Any, tuple[Hypothesis, ...]]
"""A sentence's name and its hypotheses, best first."""


def settled(batch: Batch) -> tuple[Batch | None, list[Done]]:
    """What goes on of a batch, None if nothing does, and sentences that are done."""
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
    """Hypotheses of sentences, as they are done. Long ones first: company of like length is padded least.

    Args:
        width: sentences that are decoded side by side, at most.
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
