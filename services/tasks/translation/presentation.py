"""Conversion of decided sentences to records of ``services.tasks.translation.answer``, for all protocols."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.text import n_best_weights
from models.tasks.translation.inference.translator import TokenValues as Tokens
from models.tasks.translation.inference.translator import Translation
from models.tasks.translation.text.documents import Span
from models.uncertainty.sequences import SCORES
from services.ledger.contract import Portion
from services.request.contract import ItemFailed
from services.tasks.translation.answer import HEAD
from services.tasks.translation.task import SentenceResult
from services.tasks.translation.texts import CallData


@dataclass(frozen=True)
class Answered:
    """Portions and failures of one call, in the order of its sentences."""

    call_data: CallData
    first: Portion
    """First portion, which may have no sentence."""
    portions: tuple[Portion, ...]
    """Portions, each of one sentence."""
    failures: tuple[ItemFailed, ...]

    def record(self) -> dict[str, Any]:
        """Return the record of the call."""
        call_data = self.call_data
        known = {portion.first: _best(portion) for portion in self.portions}
        texts: list[dict[str, Any]] = []
        places: list[Span] = []
        for document, first in zip(call_data.documents, call_data.firsts, strict=True):
            best = [known.get(item) for item in range(first, first + len(document.sentences))]
            joined, spans = document.joined(
                [
                    source if translation is None else translation
                    for source, translation in zip(document.sentences, best, strict=True)
                ]
            )
            texts.append({"translation": joined, "first": first, "sentences": len(document.sentences)})
            places += spans
        return {
            "model": self.first.model,
            "profile": self.first.profile,
            "purpose": self.first.purpose,
            "texts": texts,
            "sentences": [sentence(portion, places[portion.first]) for portion in self.portions],
            "failures": [
                {"item": failed.item, "text": call_data.text_of(failed.item), "error": failed.error}
                for failed in self.failures
            ],
            "scores": SCORES,
        }


def answered(answers: Sequence[Portion | ItemFailed]) -> Answered:
    """Return the portions and failures of a call, in the order of its sentences.

    Raises:
        DemurError: nothing could be translated: the error of the first sentence.
    """
    portions = sorted((part for part in answers if isinstance(part, Portion)), key=lambda portion: portion.first)
    failures = sorted(
        (failure for failure in answers if isinstance(failure, ItemFailed)), key=lambda failed: failed.item
    )
    if not portions:
        raise failures[0].error
    decided = tuple(portion for portion in portions if portion.count)
    return Answered(portions[0].payload.call_data, portions[0], decided, tuple(failures))


def sentence(portion: Portion, place: Span = (0, 0)) -> dict[str, Any]:
    """Return the record of a decided sentence.

    Args:
        place: characters of its best hypothesis in the translation of its text, if they are known.
    """
    payload: SentenceResult = portion.payload
    call_data, item = payload.call_data, portion.first
    text = call_data.text_of(item)
    source, span = call_data.sentences[item], call_data.documents[text].places[item - call_data.firsts[text]]
    hypotheses = [] if _hidden(portion) else list(_hypotheses(_translation(portion), call_data))
    return {
        "item": item,
        "text": text,
        "source": source.text,
        "source_start": span[0],
        "source_stop": span[1],
        "source_span": span,
        "start": place[0],
        "stop": place[1],
        "span": place,
        "deferral": (portion, HEAD, 0),
        "recorded": portion.recorded,
        "hypotheses": hypotheses,
        "remarks": [vars(warning) for warning in source.remarks],
    }


def _hypotheses(translation: Translation, call_data: CallData) -> Iterator[dict[str, Any]]:
    weights = confidences(translation.score)
    detailed = {"none": 0, "best": 1, "all": len(translation)}[call_data.tokens]
    values = translation.values
    for rank, text in enumerate(translation.texts):
        hypothesis = {"text": text, "score": float(translation.score[rank]), "confidence": float(weights[rank])}
        if values is not None:
            hypothesis["scores"] = np.array([values[name][rank] for name in SCORES], np.float32)
        if rank < min(detailed, len(translation.tokens)):
            hypothesis["tokens"] = _tokens(translation.tokens[rank])
        yield hypothesis


def _tokens(tokens: Tokens) -> dict[str, NDArray[Any]]:
    columns = {
        "starts": tokens.spans[:, 0],
        "stops": tokens.spans[:, 1],
        "log_probabilities": tokens.log_probabilities,
        "total": tokens.total,
    }
    if tokens.data is not None and tokens.knowledge is not None:
        columns |= {"data": tokens.data, "knowledge": tokens.knowledge}
    return columns


def confidences(score: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the softmax of the scores of a sentence's hypotheses [H]; 1 for a single one."""
    if len(score) == 1:
        return np.ones(1)
    return np.asarray(n_best_weights(-np.asarray(score, np.float64)[None])[0])


def _best(portion: Portion) -> str | None:
    """Return the best hypothesis; None if the policy withholds it."""
    return None if _hidden(portion) else _translation(portion).texts[0]


def _translation(portion: Portion) -> Translation:
    payload: SentenceResult = portion.payload
    assert payload.translation is not None
    return payload.translation


def _hidden(portion: Portion) -> bool:
    return bool(portion.verdicts[HEAD].hidden[0])
