"""Translation over HTTP: JSON in, JSON out."""

from __future__ import annotations

from typing import Any

import numpy as np

from models.tasks.translation.inference.translator import Said as Tokens
from services.runtime.errors import InvalidInput
from services.tasks.translation import schemas, words
from services.tasks.translation.request import TranslationRequest, detail
from services.tasks.translation.words import Hypothesis, Said
from services.transport.binding import HttpBinding, Options, stricter
from services.transport.http import decoding
from services.transport.http.body import describe
from services.transport.http.rows import purpose
from services.transport.http.single import decided, remarked

_HEADS = (words.HEAD,)


class TranslationBody(decoding.JsonBody):
    """A request as JSON: ``text``, or ``texts``."""

    EXAMPLE = '{"texts": ["It rains."]}'

    text: str | None = None
    texts: list[str] | None = None
    tokens: str | None = None
    purpose: str | None = None
    defer_above: float | None = None


def binding() -> HttpBinding:
    """Translation over HTTP."""
    return HttpBinding(
        read_json=read_json,
        answer_json=answer,
        request_schema=schemas.request(),
        response_schema=schemas.response(),
    )


def read_json(body: bytes) -> tuple[TranslationRequest, Options]:
    """
    Raises:
        InvalidInput: not JSON of this form, no texts or both forms, or an unknown word.
    """
    parsed = decoding.json_body(body, TranslationBody)
    if (parsed.text is None) == (parsed.texts is None):
        both = parsed.text is not None
        raise InvalidInput(
            "the request holds text and texts; send one of them"
            if both
            else "the request holds no text; send text, or a list of texts",
            code="two_inputs" if both else "missing",
            field="texts",
            allowed="text, texts",
        )
    texts = (parsed.text,) if parsed.text is not None else tuple(parsed.texts or ())
    options = Options(purpose(parsed.purpose), stricter(parsed.defer_above, _HEADS))
    return TranslationRequest(texts, detail(parsed.tokens)), options


def answer(answers: list[Any]) -> dict[str, Any]:
    """All that became of a call.

    Raises:
        DemurError: see ``words.answered``.
    """
    found = words.answered(answers)
    return {
        "model": found.model,
        "profile": found.profile,
        "purpose": found.purpose,
        "texts": [
            {"translation": one.translation, "first": one.first, "sentences": one.sentences} for one in found.texts
        ],
        "sentences": [_sentence(said) for said in found],
        "failures": [
            {"item": one.item, "text": found.asked.text_of(one.item), "error": describe(one.error)}
            for one in found.failures
        ],
    }


def _sentence(said: Said) -> dict[str, Any]:
    return {
        "item": said.item,
        "text": said.text,
        "source": said.source,
        "source_start": said.source_place[0],
        "source_stop": said.source_place[1],
        "start": said.place[0],
        "stop": said.place[1],
        **decided(said.portion, words.HEAD),
        "recorded": said.portion.recorded,
        "hypotheses": [_hypothesis(one) for one in said.hypotheses],
        "remarks": [remarked(remark) for remark in said.remarks],
    }


def _hypothesis(one: Hypothesis) -> dict[str, Any]:
    found: dict[str, Any] = {
        "text": one.text,
        "score_nats": _number(one.score),
        "confidence": one.confidence,
    }
    if one.scores is not None:
        found["scores"] = {name: _number(value) for name, value in one.scores.items()}
    if one.tokens is not None:
        found["tokens"] = _tokens(one.tokens)
    return found


def _tokens(tokens: Tokens) -> list[dict[str, Any]]:
    columns: dict[str, list[Any]] = {
        "start": tokens.spans[:, 0].tolist(),
        "stop": tokens.spans[:, 1].tolist(),
        "log_probability_nats": tokens.log_probabilities.tolist(),
    }
    for name in ("total", "data", "knowledge"):
        if (values := getattr(tokens, name)) is not None:
            columns[f"{name}_nats"] = values.tolist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
