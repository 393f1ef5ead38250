"""Sentences that share most of their words with one of training: what a figure owes to having seen almost the same."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.jobs import Tell
from benchmarks.translation_tables import data
from benchmarks.translation_tables.plan import Plan
from models.training.training_folder import write_whole

SHARE = 0.75
"""Of the different words of the longer of two sentences."""
_WORD = re.compile(r"\w+(?:'\w+)?")


def near(sentences: Sequence[str], training: Sequence[str], share: float = SHARE) -> NDArray[np.bool_]:
    """Whether each sentence [N] has one in training that shares so many of its words; case and order do not count."""
    known = [_words(text) for text in training]
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, words in enumerate(known):
        for word in words:
            places[word].append(place)

    def found(sentence: str) -> bool:
        words = _words(sentence)
        # who shares so many of the words has at least one of this many, whichever they are: of the rarest
        enough = math.ceil(share * len(words))
        rare = sorted(words, key=lambda word: len(places.get(word, ())))[: len(words) - enough + 1]
        return any(
            len(words & known[place]) >= share * max(len(words), len(known[place]))
            for word in rare
            for place in places.get(word, ())
        )

    return np.array([bool(_words(one)) and found(one) for one in sentences], bool)


@dataclass(frozen=True)
class Nearness:
    """Which sentences of a set are near to a training sentence."""

    plan: Plan
    set: str
    source: Path
    """Of the data."""
    parts: Path

    @property
    def name(self) -> str:
        return f"near-{self.set}"

    @property
    def target(self) -> Path:
        return self.parts / f"{self.name}.txt"

    @property
    def done(self) -> bool:
        return self.target.exists()

    def __call__(self, tell: Tell) -> None:
        found = data.read(self.source, self.plan)
        training = [pair.english for pair in found.folder.train.pairs]
        sentences = [pair.english for pair in found.sets[self.set]]
        tell(f"{len(sentences)} sentences against {len(training)}")
        close = [text for text, is_near in zip(sentences, near(sentences, training), strict=True) if is_near]
        self.parts.mkdir(parents=True, exist_ok=True)
        write_whole(self.target, "\n".join(close).encode())

    def found(self) -> frozenset[str]:
        """What the job kept."""
        return frozenset(self.target.read_text().split("\n")) - {""}


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))
