"""Tokenised pairs for training, and batches of pairs of similar length."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.tasks.translation.data.corpus import Corpus, Pair
from models.tasks.translation.text.literals import mark_pair
from models.tasks.translation.text.pieces import Pieces, plain
from models.tasks.translation.text.vocabulary import PAD, UNKNOWN
from models.training.training_folder import write_whole

Tokens = NDArray[np.int64]


@dataclass(frozen=True)
class Examples:
    """N pairs of token lists, each with its end of sentence, and their domains."""

    source: tuple[tuple[int, ...], ...]
    target: tuple[tuple[int, ...], ...]
    domains: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.source)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of source and target, [N, 2]."""
        return np.array(
            [(len(ours), len(theirs)) for ours, theirs in zip(self.source, self.target, strict=True)], np.int64
        ).reshape(-1, 2)

    def take(self, rows: Sequence[int] | NDArray[np.integer[Any]]) -> Examples:
        """Return the pairs of some rows."""
        return Examples(
            tuple(self.source[row] for row in rows),
            tuple(self.target[row] for row in rows),
            tuple(self.domains[row] for row in rows),
        )

    def padded(self, rows: Sequence[int] | NDArray[np.integer[Any]]) -> tuple[Tokens, Tokens]:
        """Return source [n, s] and target [n, t] of some pairs, padded at the right."""
        return pad([self.source[row] for row in rows]), pad([self.target[row] for row in rows])

    def save(self, path: Path) -> None:
        """Save the pairs as a NumPy file."""
        flat = [np.array([token for row in side for token in row], np.int32) for side in (self.source, self.target)]
        content = io.BytesIO()
        np.savez(content, source=flat[0], target=flat[1], lengths=self.lengths, domains=np.array(self.domains))
        write_whole(path, content.getvalue())

    @classmethod
    def load(cls, path: Path) -> Examples:
        """Load pairs from a file of ``save``.

        Raises:
            ValueError: the file was not written by ``save``.
        """
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                lengths, domains = arrays["lengths"], tuple(arrays["domains"].tolist())
                flat = [arrays[name] for name in ("source", "target")]
        except (KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} holds no pairs of tokens: {error}") from error
        if lengths.shape != (len(domains), 2) or lengths.sum(axis=0).tolist() != [len(side) for side in flat]:
            raise ValueError(f"{path} holds tokens that are not those of its {len(domains)} pairs")
        if not len(domains):
            return cls((), (), ())
        ends = np.cumsum(lengths, axis=0)[:-1]
        source, target = (
            tuple(tuple(row.tolist()) for row in np.split(side, ends[:, number])) for number, side in enumerate(flat)
        )
        return cls(source, target, domains)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all tokens and domains, the first 16 hexadecimal digits."""
        digest = hashlib.sha256()
        for domain, *sides in zip(self.domains, self.source, self.target, strict=True):
            digest.update(f"{domain}\n".encode())
            for side in sides:
                digest.update(np.array([len(side), *side], np.int64).tobytes())
        return digest.hexdigest()[:16]


def pad(rows: Sequence[Sequence[int]]) -> Tokens:
    """Return lists of tokens as an array [n, longest], padded at the right."""
    padded = np.full((len(rows), max(map(len, rows))), PAD, np.int64)
    for row, tokens in enumerate(rows):
        padded[row, : len(tokens)] = tokens
    return padded


def marked_pairs(corpus: Corpus) -> list[tuple[Pair, str, str]]:
    """Return pairs in plain text with marks on both sides; pairs with different literals are left out."""
    marked = []
    for pair in corpus.pairs:
        sides = mark_pair(pair.english, pair.russian)
        if sides is not None:
            marked.append((pair, plain(sides[0]), plain(sides[1])))
    return marked


def examples(corpus: Corpus, pieces: Pieces, longest: int) -> Examples:
    """Return the pairs that are usable for training.

    Both sides have the same literals, known characters only, and at most ``longest`` tokens.
    """
    kept = []
    for pair, english, russian in marked_pairs(corpus):
        source, target = (pieces.encode(pieces.simple(side)) for side in (english, russian))
        if max(len(source), len(target)) <= longest and UNKNOWN not in source and UNKNOWN not in target:
            kept.append((tuple(source), tuple(target), pair.domain))
    sources, targets, domains = zip(*kept, strict=True) if kept else ((), (), ())
    return Examples(sources, targets, domains)


def batches(lengths: NDArray[np.int64], most: int, seed: Sequence[int]) -> list[NDArray[np.intp]]:
    """Return the rows of an epoch's batches in random order.

    Batches have pairs of similar length, and at most ``most`` tokens with padding.

    Args:
        lengths: tokens of source and target [N, 2].
        most: tokens of a batch, both sides; a pair that exceeds it is a batch by itself.
        seed: seed of the order.
    """
    random = np.random.default_rng(list(seed))
    # lengths are blurred a little, so that batches differ between epochs
    blurred = lengths.max(axis=1) + random.random(len(lengths)) * 3
    order = np.argsort(blurred, kind="stable")
    groups: list[NDArray[np.intp]] = []
    start, widest = 0, np.zeros(2, np.int64)
    for place, row in enumerate(order):
        wider = np.maximum(widest, lengths[row])
        if place > start and int(wider.sum()) * (place - start + 1) > most:
            groups.append(order[start:place])
            start, wider = place, lengths[row]
        widest = wider
    if start < len(order):
        groups.append(order[start:])
    return [groups[number] for number in random.permutation(len(groups))]
