"""Lines of a set as translated by a model, kept by a job for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.predictive import Sequences
from models.tasks.translation.data.corpus import Pair
from models.tasks.translation.inference.translator import Translation
from models.uncertainty.sequences import SCORES
from studies.jobs import save_arrays

Doubt = tuple[int, int, float]
"""Characters [start, stop) of a token, and the entropy of the members' mean for it, nats."""
_AS_JSON = ("pairs", "texts", "doubts")


@dataclass(frozen=True)
class Kept:
    """N lines with H hypotheses each; lines without an English sentence are left out."""

    pairs: tuple[Pair, ...]
    texts: tuple[tuple[str, ...], ...]
    doubts: tuple[tuple[Doubt, ...], ...]
    """Doubts of the tokens of the first hypothesis; empty for lines with several sentences."""
    score: NDArray[np.float32]
    """Log-probability over length, nats [N, H]."""
    values: NDArray[np.float32]
    """Released scores, [19, N, H]; [0, N, H] for a single model."""
    gleus: NDArray[np.float64]
    """GLEU of each hypothesis, %, tokens as described on the page, [N, H]."""
    plain: NDArray[np.float64]
    """GLEU of each hypothesis with whitespace-separated tokens, as in services, %, [N, H]."""
    whole: NDArray[np.bool_]
    """Mask of lines that are one sentence and nothing else, [N]."""
    given: int
    """Number of requested lines: N, and those left out."""

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def translations(self) -> tuple[Translation, ...]:
        """Translations without tokens."""
        return tuple(
            Translation(
                texts,
                self.score[row],
                dict(zip(SCORES, self.values[:, row], strict=True)) if len(self.values) else None,
                (),
            )
            for row, texts in enumerate(self.texts)
        )

    @property
    def predictive(self) -> Sequences:
        """Predictive statistics of all lines."""
        return Sequences(
            self.score, dict(zip(SCORES, self.values, strict=True)) if len(self.values) else None, self.texts
        )

    @property
    def references(self) -> list[str]:
        return [pair.russian for pair in self.pairs]

    @property
    def first(self) -> list[str]:
        """Most confident hypothesis of each line."""
        return [texts[0] for texts in self.texts]

    def take(self, mask: NDArray[np.bool_]) -> Kept:
        """Return some of the lines [N]."""
        rows = np.flatnonzero(mask)
        lists: dict[str, Any] = {name: tuple(getattr(self, name)[row] for row in rows) for name in _AS_JSON}
        arrays = {name: getattr(self, name)[mask] for name in ("score", "gleus", "plain", "whole")}
        return Kept(**lists, **arrays, values=self.values[:, mask], given=len(rows))

    def save(self, path: Path) -> None:
        """Write the lines atomically."""
        lists = {name: np.frombuffer(msgspec.json.encode(getattr(self, name)), np.uint8) for name in _AS_JSON}
        save_arrays(path, **{field.name: getattr(self, field.name) for field in fields(self)} | lists)


_TYPES: dict[str, Any] = {
    "pairs": tuple[Pair, ...],
    "texts": tuple[tuple[str, ...], ...],
    "doubts": tuple[tuple[Doubt, ...], ...],
}


def load(path: Path) -> Kept:
    """Read a file written by ``save``."""
    with np.load(path) as arrays:
        values: dict[str, Any] = {field.name: arrays[field.name] for field in fields(Kept)}
    lists = {name: msgspec.json.decode(values[name].tobytes(), type=kind) for name, kind in _TYPES.items()}
    return Kept(**values | lists | {"given": int(values["given"])})


def joined(parts: Sequence[Kept]) -> Kept:
    """Return the lines of several sets, one set after the other."""
    lists: dict[str, Any] = {
        name: tuple(chain.from_iterable(getattr(part, name) for part in parts)) for name in _AS_JSON
    }
    arrays = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in ("score", "gleus", "plain", "whole")
    }
    values = np.concatenate([part.values for part in parts], axis=1)
    return Kept(**lists, **arrays, values=values, given=sum(part.given for part in parts))
