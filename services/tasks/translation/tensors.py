"""Translation over the Open Inference Protocol: texts in; texts out, and tensors of their sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.uncertainty.sequences import SCORES
from services.ledger.contract import Portion
from services.request.work import ItemFailed
from services.runtime.errors import InvalidInput
from services.tasks.translation import words
from services.tasks.translation.request import TranslationRequest
from services.tasks.translation.words import Hypothesis, Said
from services.transport.binding import Given, OipBinding, TensorSpec, Told
from services.transport.oip.datatypes import of_bytes
from services.transport.oip.decided import decided, decided_specs, parameters, remarks, remarks_spec

_TEXT = TensorSpec("text", "BYTES", (-1,), "", "English texts of any number of sentences, UTF-8", optional=False)
_HYPOTHESES = "of each sentence's hypotheses, the best first"
_OF_TEXTS = (
    TensorSpec("translation", "BYTES", (-1,), "", "each text in Russian, UTF-8; what failed or is withheld as it came"),
    TensorSpec("sentences", "INT32", (-1,), "", "how many sentences each text has"),
)
_OF_SENTENCES = (
    TensorSpec("sentence", "INT32", (-1,), "", "index of each decided sentence in the call"),
    TensorSpec("sentence_text", "INT32", (-1,), "", "index of its text"),
    TensorSpec("source", "BYTES", (-1,), "", "the sentence, UTF-8"),
    TensorSpec("source_span", "INT32", (-1, 2), "characters", "where it stands in its text, [start, stop)"),
    TensorSpec("best", "BYTES", (-1,), "", "its best hypothesis, UTF-8; empty where the policy withholds it"),
    TensorSpec("score", "FP32", (-1,), "nats", "of that: log-probability a token; NaN where there is none"),
    TensorSpec("confidence", "FP32", (-1,), "", "of that: softmax of the scores; NaN where there is none"),
    *decided_specs(item="sentence"),
    remarks_spec("not_english, tokens_high, literal_share_high and others"),
    TensorSpec("hypotheses", "BYTES", (-1, -1), "", f"{_HYPOTHESES}; empty behind the last", default=False),
    TensorSpec("hypothesis_scores", "FP32", (-1, -1), "nats", f"score {_HYPOTHESES}", default=False),
    TensorSpec("hypothesis_confidences", "FP32", (-1, -1), "", f"confidence {_HYPOTHESES}", default=False),
)
_SPAN = TensorSpec("span", "INT32", (-1, 2), "characters", "where best stands in the translation, [start, stop)")
_MEASURES = TensorSpec(
    "hypothesis_measures", "FP32", (-1, -1, len(SCORES)), "nats", f"the released scores {_HYPOTHESES}", default=False
)


def binding(*, ensemble: bool) -> OipBinding:
    """``ensemble``: whether there are several members, so that released scores exist."""
    return OipBinding(
        inputs=(_TEXT,),
        outputs=(*_OF_TEXTS, *_OF_SENTENCES, _SPAN, *((_MEASURES,) if ensemble else ())),
        read=read,
        answer=answer,
        about=lambda: {"measures": ",".join(SCORES)} if ensemble else {},
        item=item,
    )


def read(given: Given) -> TranslationRequest:
    """
    Raises:
        InvalidInput: a text that is not UTF-8.
    """
    return TranslationRequest(tuple(map(_text, range(len(given.tensors["text"])), given.tensors["text"])), "none")


def answer(answers: list[Any], wanted: frozenset[str]) -> Told:
    """All that became of a call.

    Raises:
        DemurError: see ``words.answered``.
    """
    found = words.answered(answers)
    said = list(found)
    tensors = {
        "translation": of_bytes(one.translation.encode() for one in found.texts),
        "sentences": np.array([one.sentences for one in found.texts], np.int32),
        "span": _spans([one.place for one in said]),
        **_sentences(said, found.portions, wanted),
    }
    portions = found.portions or tuple(one for one in answers if isinstance(one, Portion))
    return Told(tensors, parameters(portions, (words.HEAD,), found.failures))


def item(one: Portion | ItemFailed, wanted: frozenset[str]) -> Told | None:
    """A sentence that is done while others are not; failures are told with the whole."""
    if isinstance(one, ItemFailed) or not one.count:
        return None
    return Told(_sentences([words.said(one)], (one,), wanted), parameters((one,), (words.HEAD,)))


def _sentences(said: list[Said], portions: Sequence[Portion], wanted: frozenset[str]) -> dict[str, NDArray[Any]]:
    best = [one.hypotheses[0] if one.hypotheses else None for one in said]
    found = {
        "sentence": np.array([one.item for one in said], np.int32),
        "sentence_text": np.array([one.text for one in said], np.int32),
        "source": of_bytes(one.source.encode() for one in said),
        "source_span": _spans([one.source_place for one in said]),
        "best": of_bytes(b"" if one is None else one.text.encode() for one in best),
        "score": np.array([np.nan if one is None else one.score for one in best], np.float32),
        "confidence": np.array([np.nan if one is None else one.confidence for one in best], np.float32),
        "remarks": remarks(one.remarks for one in said),
        **decided(portions, words.HEAD),
    }
    if any(name.startswith("hypothes") for name in wanted):
        found |= _hypotheses([one.hypotheses for one in said])
    return found


def _hypotheses(of_sentences: list[tuple[Hypothesis, ...]]) -> dict[str, NDArray[Any]]:
    """Of all sentences side by side, as many as the one with most has."""
    shape = len(of_sentences), max(map(len, of_sentences), default=0)
    texts = np.full(shape, b"", object)
    scores, confidences = (np.full(shape, np.nan, np.float32) for _ in range(2))
    measures = np.full((*shape, len(SCORES)), np.nan, np.float32)
    for row, hypotheses in enumerate(of_sentences):
        for rank, one in enumerate(hypotheses):
            texts[row, rank] = one.text.encode()
            scores[row, rank], confidences[row, rank] = one.score, one.confidence
            if one.scores is not None:
                measures[row, rank] = [one.scores[name] for name in SCORES]
    return {
        "hypotheses": texts,
        "hypothesis_scores": scores,
        "hypothesis_confidences": confidences,
        "hypothesis_measures": measures,
    }


def _spans(places: list[tuple[int, int]]) -> NDArray[np.int32]:
    return np.array(places, np.int32).reshape(-1, 2)


def _text(index: int, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"text[{index}] is no UTF-8 at byte {error.start}; send UTF-8",
            code="not_unicode",
            field="text",
            value=str(error.start),
            unit="byte",
            index=index,
        ) from error
