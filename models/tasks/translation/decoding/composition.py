"""What the step graph works on besides tokens: memory of sentences and caches of hypotheses, made anew when company
changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
Integers = NDArray[np.int64]
_HIDDEN = np.float32(-1e9)


@dataclass(frozen=True)
class Composition:
    """Of S sentences and P rows of caches."""

    hidden: Float32
    """0 where a token of a sentence is and -1e9 where none is, [S, s]."""
    memory: dict[str, Float32]
    """Keys [S, heads, d / heads, s] and values [S, heads, s, d / heads] of sentences, keys under names with k."""
    caches: dict[str, Float32]
    """Keys and values of what was said, the youngest to the right, [P, heads, t, d / heads]."""

    def __len__(self) -> int:
        return len(self.hidden)


Part = tuple[Composition, Integers, Integers]
"""A composition, some sentences of it, and the rows of its caches that their hypotheses go on from."""


def composed(parts: Sequence[Part], age: int) -> tuple[Composition, Integers]:
    """Some sentences of some compositions side by side, and the rows of caches there; nothing is copied where it is the
    whole of one.

    Args:
        age: tokens of the longest hypothesis among them.
    """
    first = parts[0][0]
    sentences = np.concatenate([chosen for _, chosen, _ in parts])
    if all(inside is first for inside, _, _ in parts) and np.array_equal(sentences, np.arange(len(first))):
        return first, np.concatenate([parents for _, _, parents in parts])
    hidden = [inside.hidden[chosen] for inside, chosen, _ in parts]
    wide = max(max(int((one == 0).sum(axis=1).max(initial=0)), 1) for one in hidden)
    widths = [min(one.shape[1], wide) for one in hidden]
    masks = [
        np.pad(one[:, :width], ((0, 0), (0, wide - width)), constant_values=_HIDDEN)
        for one, width in zip(hidden, widths, strict=True)
    ]
    memory = {
        name: _side_by_side([inside.memory[name][chosen] for inside, chosen, _ in parts], widths, name[0] == "k")
        for name in first.memory
    }
    caches = {name: _aged([inside.caches[name][rows] for inside, _, rows in parts], age) for name in first.caches}
    rows = sum(len(parents) for _, _, parents in parts)
    return Composition(np.concatenate(masks), memory, caches), np.arange(rows)


def _side_by_side(arrays: Sequence[Float32], widths: Sequence[int], keys: bool) -> Float32:
    """Memory of several compositions, of each so many tokens, padded at the right."""
    axis = 3 if keys else 2
    shape = list(arrays[0].shape)
    shape[0], shape[axis] = sum(map(len, arrays)), max(widths)
    found = np.zeros(shape, np.float32)
    start = 0
    for array, width in zip(arrays, widths, strict=True):
        place: list[slice] = [slice(None)] * 4
        place[axis] = slice(width)
        inside = array[tuple(place)]
        place[0] = slice(start, start + len(array))
        found[tuple(place)] = inside
        start += len(array)
    return found


def _aged(arrays: Sequence[Float32], age: int) -> Float32:
    """Caches of several compositions: so many of the youngest columns side by side, nothing before the older ones."""
    found = np.zeros((sum(map(len, arrays)), arrays[0].shape[1], age, arrays[0].shape[3]), np.float32)
    start = 0
    for array in arrays:
        kept = min(age, array.shape[2])
        found[start : start + len(array), :, age - kept :] = array[:, :, array.shape[2] - kept :]
        start += len(array)
    return found
