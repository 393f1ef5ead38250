"""Texts of several sentences: split into sentences and other parts, and joined from translations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from models.tasks.translation.inference.translator import Float32, Translation
from models.tasks.translation.text.segments import Segment, segments

Span = tuple[int, int]
"""Range of characters [start, stop)."""


@dataclass(frozen=True)
class Document:
    """Text in parts; joined, they are the text."""

    parts: tuple[Segment, ...]

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """Sentences to translate, in order."""
        return tuple(part.text for part in self.parts if part.translated)

    @cached_property
    def places(self) -> tuple[Span, ...]:
        """Position of each sentence in the text."""
        return _places(self.parts, [part.text for part in self.parts])

    @property
    def whole(self) -> bool:
        """True if the text is one sentence and nothing else."""
        return len(self.parts) == 1 and self.parts[0].translated

    def joined(self, sentences: Sequence[str]) -> tuple[str, tuple[Span, ...]]:
        """Return the text with each sentence replaced by its translation, and the translations' positions."""
        translations = iter(sentences)
        texts = [next(translations) if part.translated else part.text for part in self.parts]
        return "".join(texts), _places(self.parts, texts)


def cut_at(text: str, places: Sequence[Span]) -> Document:
    """Split a text into the sentences at ``places``, ascending, and other parts."""
    parts = []
    end = 0
    for start, stop in places:
        if start > end:
            parts.append(Segment(text[end:start], False))
        parts.append(Segment(text[start:stop], True))
        end = stop
    if end < len(text):
        parts.append(Segment(text[end:], False))
    return Document(tuple(parts))


def document(text: str, fits: Callable[[str], bool]) -> Document:
    """Split a text; ``fits`` returns whether a sentence is short enough."""
    return Document(tuple(segments(text, fits)))


def as_one(original: Document, translations: Sequence[Translation]) -> Translation:
    """Return one n-best list for a whole text, as in official files: the first hypotheses joined, the second ones, ...

    Scores are means over its sentences, weighted by their tokens. For means over tokens (log-probabilities, SCR-PE,
    token values) this is exact; for variances over members it is an approximation.

    Raises:
        ValueError: no part of the text was translated.
    """
    spoken = [translation for translation in translations if translation.tokens]
    if not spoken:
        raise ValueError("the text has no translated sentence")
    count = min(map(len, spoken))
    texts = tuple(
        original.joined([translation.texts[min(rank, len(translation) - 1)] for translation in translations])[0]
        for rank in range(count)
    )
    lengths = np.array(
        [[len(hypothesis.log_probabilities) for hypothesis in translation.tokens[:count]] for translation in spoken],
        np.float64,
    )
    shares = lengths / lengths.sum(axis=0)

    def weighted(rows: Sequence[Float32]) -> Float32:
        return np.asarray((np.stack([row[:count] for row in rows]) * shares).sum(axis=0), np.float32)

    values = None
    if (first := spoken[0].values) is not None:
        values = {
            name: weighted([translation.values[name] for translation in spoken if translation.values is not None])
            for name in first
        }
        values["log_prob"] = weighted([translation.score for translation in spoken]) * lengths.sum(axis=0).astype(
            np.float32
        )
    tokens = spoken[0].tokens[:count] if len(translations) == 1 else ()
    return Translation(texts, weighted([translation.score for translation in spoken]), values, tokens)


def _places(parts: Sequence[Segment], texts: Sequence[str]) -> tuple[Span, ...]:
    spans = []
    start = 0
    for part, text in zip(parts, texts, strict=True):
        if part.translated:
            spans.append((start, start + len(text)))
        start += len(text)
    return tuple(spans)
