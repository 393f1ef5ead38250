"""Memory of sentences and caches of hypotheses for the decoder graph, rebuilt when sentences join or leave."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
_HIDDEN = np.float32(-1e9)
_WASTE = 2
"""Ratio of columns to used columns above which caches are rebuilt."""
_LEAST = 64  # number of columns up to which caches are never rebuilt


@dataclass(frozen=True)
class Composition:
    """Memory and caches of S sentences."""

    hidden: Float32
    """Mask added to attention: 0 for tokens of a sentence and -1e9 for padding, [S, s]."""
    memory: dict[str, Float32]
    """Keys [S, heads, d / heads, s] and values [S, heads, s, d / heads] of sentences; names of keys begin with k."""
    caches: dict[str, Float32]
    """Keys and values of generated tokens of a sentence's hypotheses, [S, heads, c, d / heads]."""

    def __len__(self) -> int:
        return len(self.hidden)


Part = tuple[Composition, Integers, Booleans]
"""A composition, some of its sentences, and the mask of cache columns that are a hypothesis's past, [R, c]."""


def composed(parts: Sequence[Part]) -> tuple[Composition, Booleans]:
    """Join some sentences of some compositions; return the masks of their pasts in the new caches, too.

    A complete composition is not copied, unless most of its columns are unused.
    """
    first = parts[0][0]
    sentences = np.concatenate([chosen for _, chosen, _ in parts])
    if all(inside is first for inside, _, _ in parts) and np.array_equal(sentences, np.arange(len(first))):
        past = np.concatenate([mask for _, _, mask in parts])
        if past.shape[1] <= max(_LEAST, _WASTE * int(_looked_at(past, len(first)).sum(axis=1).max(initial=0))):
            return first, past
    hidden = [inside.hidden[chosen] for inside, chosen, _ in parts]
    wide = max(max(int((array == 0).sum(axis=1).max(initial=0)), 1) for array in hidden)
    widths = [min(array.shape[1], wide) for array in hidden]
    masks = [
        np.pad(array[:, :width], ((0, 0), (0, wide - width)), constant_values=_HIDDEN)
        for array, width in zip(hidden, widths, strict=True)
    ]
    memory = {
        name: _side_by_side([(inside.memory[name], chosen) for inside, chosen, _ in parts], widths, name[0] == "k")
        for name in first.memory
    }
    columns = [_kept(_looked_at(past, len(chosen))) for _, chosen, past in parts]
    count = max(kept.shape[1] for kept in columns)
    caches = {
        name: _packed([(inside.caches[name], chosen) for inside, chosen, _ in parts], columns, count)
        for name in first.caches
    }
    pasts = [_seen(past, kept, count) for (_, _, past), kept in zip(parts, columns, strict=True)]
    return Composition(np.concatenate(masks), memory, caches), np.concatenate(pasts)


def _looked_at(past: Booleans, sentences: int) -> Booleans:
    """Return the mask of columns that are the past of any hypothesis of a sentence, [S, c]."""
    return np.asarray(past.reshape(sentences, len(past) // max(sentences, 1), past.shape[1]).any(axis=1))


def _kept(looked_at: Booleans) -> Integers:
    """Return the used columns of each sentence in their order, then others as padding, [S, most]."""
    most = int(looked_at.sum(axis=1).max(initial=0))
    return np.argsort(~looked_at, axis=1, kind="stable")[:, :most]


def _seen(past: Booleans, columns: Integers, count: int) -> Booleans:
    """Select the kept columns of a mask, [R, count]."""
    rows = np.repeat(columns, len(past) // max(len(columns), 1), axis=0)
    kept = np.take_along_axis(past, rows, axis=1)
    return np.pad(kept, ((0, 0), (0, count - kept.shape[1])))


def _packed(chosen: Sequence[tuple[Float32, Integers]], columns: Sequence[Integers], count: int) -> Float32:
    """Return the kept columns of caches of some sentences, padded with zeros."""
    heads, _, head_width = chosen[0][0].shape[1:]
    packed = np.empty((sum(len(sentences) for _, sentences in chosen), heads, count, head_width), np.float32)
    places = iter(packed)
    for (caches, sentences), kept in zip(chosen, columns, strict=True):
        for sentence, which in zip(sentences.tolist(), kept, strict=True):
            place = next(places)
            place[:, : len(which)] = caches[sentence].take(which, axis=1)
            place[:, len(which) :] = 0
    return packed


def _side_by_side(chosen: Sequence[tuple[Float32, Integers]], widths: Sequence[int], keys: bool) -> Float32:
    """Return the memory of some sentences of several compositions, of ``widths`` tokens each, padded at the right."""
    axis = 3 if keys else 2
    shape = list(chosen[0][0].shape)
    shape[0], shape[axis] = sum(len(sentences) for _, sentences in chosen), max(widths)
    padded = np.empty(shape, np.float32)
    places = iter(padded)
    for (memory, sentences), width in zip(chosen, widths, strict=True):
        every = (slice(None),) * (axis - 1)
        inside, behind = (*every, slice(width)), (*every, slice(width, None))
        for sentence in sentences.tolist():
            place = next(places)
            place[inside] = memory[sentence][inside]
            place[behind] = 0
    return padded
