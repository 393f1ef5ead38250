"""What is said of decided sentences, in plain values, for both protocols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.assessment.text import n_best_weights
from models.input_warning import Remark
from models.tasks.translation.inference.translator import Said as Tokens
from models.tasks.translation.inference.translator import Translation
from models.tasks.translation.spec import HYPOTHESES
from models.tasks.translation.text.documents import Span
from services.ledger.contract import Portion
from services.request.work import ItemFailed
from services.tasks.translation.task import Found
from services.tasks.translation.texts import Asked

HEAD = HYPOTHESES.name


@dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence."""

    text: str
    score: float
    """Nats a token; NaN where nothing was translated."""
    confidence: float
    scores: Mapping[str, float] | None
    """The released ones; None for single models."""
    tokens: Tokens | None
    """None where they are not wanted."""


@dataclass(frozen=True)
class Said:
    """One decided sentence."""

    item: int
    text: int
    """Number of its text in the call."""
    source: str
    source_place: Span
    place: Span
    """Of its best hypothesis in the translation of its text; (0, 0) before that is known."""
    portion: Portion
    hypotheses: tuple[Hypothesis, ...]
    """None where the policy withholds them."""
    remarks: tuple[Remark, ...]


@dataclass(frozen=True)
class Text:
    """One translated text."""

    translation: str
    first: int
    sentences: int


@dataclass(frozen=True)
class Answered:
    """All that became of a call."""

    asked: Asked
    model: str
    profile: str
    purpose: str
    portions: tuple[Portion, ...]
    """Of one sentence each, in their order."""
    failures: tuple[ItemFailed, ...]

    @cached_property
    def texts(self) -> tuple[Text, ...]:
        """As many as were asked about."""
        return tuple(
            Text(self._joined[number][0], first, len(document.sentences))
            for number, (document, first) in enumerate(zip(self.asked.documents, self.asked.firsts, strict=True))
        )

    def __iter__(self) -> Iterator[Said]:
        for portion in self.portions:
            number = self.asked.text_of(portion.first)
            yield said(portion, self._joined[number][1][portion.first - self.asked.firsts[number]])

    @cached_property
    def _joined(self) -> tuple[tuple[str, tuple[Span, ...]], ...]:
        """Each text in Russian, and where its sentences stand there."""
        known = {portion.first: _best(portion) for portion in self.portions}
        return tuple(
            document.joined(
                [
                    sentence if (best := known.get(first + place)) is None else best
                    for place, sentence in enumerate(document.sentences)
                ]
            )
            for document, first in zip(self.asked.documents, self.asked.firsts, strict=True)
        )


def answered(answers: Sequence[Portion | ItemFailed]) -> Answered:
    """What became of a call.

    Raises:
        DemurError: nothing could be translated: why the first sentence could not.
    """
    portions = sorted((one for one in answers if isinstance(one, Portion)), key=lambda one: one.first)
    failures = tuple(sorted((one for one in answers if isinstance(one, ItemFailed)), key=lambda one: one.item))
    if not portions:
        raise failures[0].error
    first = portions[0]
    told = tuple(one for one in portions if one.count)
    return Answered(first.payload.asked, first.model, first.profile, first.purpose, told, failures)


def said(portion: Portion, place: Span = (0, 0)) -> Said:
    """A decided sentence.

    Args:
        place: where its best hypothesis stands, if that is known.
    """
    found: Found = portion.payload
    asked, item = found.asked, portion.first
    number = asked.text_of(item)
    within = item - asked.firsts[number]
    return Said(
        item=item,
        text=number,
        source=asked.sentences[item].text,
        source_place=asked.documents[number].places[within],
        place=place,
        portion=portion,
        hypotheses=() if _hidden(portion) else tuple(_hypotheses(_translation(portion), asked)),
        remarks=asked.sentences[item].remarks,
    )


def _hypotheses(translation: Translation, asked: Asked) -> Iterator[Hypothesis]:
    weights = confidences(translation.score)
    told = {"none": 0, "best": 1, "all": len(translation)}[asked.tokens]
    for rank, text in enumerate(translation.texts):
        yield Hypothesis(
            text,
            float(translation.score[rank]),
            float(weights[rank]),
            None
            if translation.values is None
            else {name: float(value[rank]) for name, value in translation.values.items()},
            translation.tokens[rank] if rank < min(told, len(translation.tokens)) else None,
        )


def confidences(score: NDArray[np.float32]) -> NDArray[np.float64]:
    """Softmax of the scores of a sentence's hypotheses [H]; all of it where there is one."""
    if len(score) == 1:
        return np.ones(1)
    return np.asarray(n_best_weights(-np.asarray(score, np.float64)[None])[0])


def _best(portion: Portion) -> str | None:
    """None where the policy withholds it."""
    return None if _hidden(portion) else _translation(portion).texts[0]


def _translation(portion: Portion) -> Translation:
    found: Found = portion.payload
    assert found.translation is not None
    return found.translation


def _hidden(portion: Portion) -> bool:
    return bool(portion.verdicts[HEAD].hidden[0])
