"""JSON Schemas of translation's bodies, with units."""

from __future__ import annotations

from typing import get_args

from models.uncertainty.sequences import SCORES
from services.tasks.translation.request import Detail
from services.tasks.translation.texts import MOST_CHARACTERS, MOST_SENTENCES, MOST_TEXTS
from services.transport.http.components import (
    COUNT,
    NUMBER_OR_NULL,
    PURPOSE,
    PURPOSE_OR_NULL,
    Json,
    choice,
    one_of,
    or_null,
    ref,
)
from services.transport.http.single import decided_schema, record, remark_schema, told


def request() -> Json:
    """One text, or some."""
    text: Json = {"type": "string", "description": "English text of any number of sentences."}
    texts: Json = {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
        "maxItems": MOST_TEXTS,
        "description": f"Several; together at most {MOST_CHARACTERS} characters and {MOST_SENTENCES} sentences.",
    }
    options: Json = {
        "tokens": or_null(
            choice("TokenDetail", get_args(Detail)),
            "Whose tokens are told: those of the best hypothesis (null), of none, of all.",
        ),
        "purpose": PURPOSE_OR_NULL,
        "defer_above": NUMBER_OR_NULL
        | {
            "description": "Defer sentences above this uncertainty even where the policy would answer, unit of the "
            "measure.",
        },
    }
    return one_of({"TextRequest": {"text": text} | options, "TextsRequest": {"texts": texts} | options})


def response() -> Json:
    """Texts, sentences and failures of one call."""
    text = record(
        {
            "translation": told(
                "Sentences in Russian, and between them what stood there. A sentence that failed, is withheld or is "
                "not English stands as it came.",
                "string",
            ),
            "first": COUNT | {"description": "Index of its first sentence."},
            "sentences": COUNT | {"description": "How many it has; 0 where nothing in it can be translated."},
        },
        title="TextAnswer",
    )
    failure = record(
        {
            "item": COUNT | {"description": "Index of the sentence."},
            "text": COUNT | {"description": "Index of its text."},
            "error": ref("ErrorDetail"),
        },
        title="Failure",
    )
    return record(
        {
            "model": told("Served artefact.", "string"),
            "profile": told("Numeric profile that computed the scores.", "string"),
            "purpose": PURPOSE,
            "texts": {"type": "array", "items": text, "description": "As many as were asked about."},
            "sentences": {"type": "array", "items": _sentence(), "description": "Of all texts, in their order."},
            "failures": {
                "type": "array",
                "items": failure,
                "description": "Sentences that could not be translated, while others could.",
            },
        }
    )


def _sentence() -> Json:
    return record(
        {
            "item": COUNT | {"description": "Index of the sentence in the call."},
            "text": COUNT | {"description": "Index of its text."},
            "source": told("The sentence.", "string"),
            "source_start": COUNT | {"description": "Where it stands in its text, characters [start, stop)."},
            "source_stop": COUNT | {"description": "Its end there."},
            "start": COUNT
            | {"description": "Where the best hypothesis stands in the translation, characters [start, stop)."},
            "stop": COUNT | {"description": "Its end there."},
            **decided_schema("sentence"),
            "recorded": told("Whether the decision is durable in the ledger.", "boolean"),
            "hypotheses": {
                "type": "array",
                "items": _hypothesis(),
                "description": "Translations, the best first; none where the policy withholds them.",
            },
            "remarks": {"type": "array", "items": remark_schema("not_english, tokens_high, literal_share_high")},
        },
        title="SentenceAnswer",
    )


def _hypothesis() -> Json:
    nats = "nats. float32."
    token = record(
        {
            "start": COUNT | {"description": "Where the token stands in the text, characters [start, stop)."},
            "stop": COUNT | {"description": "Its end there; that of the sentence's end is its start."},
            "log_probability_nats": told(f"Under the mean of the members, {nats}"),
            "total_nats": told(f"Entropy of what the members expect together, {nats}"),
        },
        title="Token",
    )
    token["properties"] |= {
        "data_nats": told(f"The members' mean entropy; absent for single models, {nats}"),
        "knowledge_nats": told(f"Mutual information, total less data; absent for single models, {nats}"),
    }
    found = record(
        {
            "text": told("In Russian.", "string"),
            "score_nats": NUMBER_OR_NULL
            | {"description": "Log-probability over its tokens with the end of sentence, nats a token; null: none."},
            "confidence": told("Softmax of the scores over the sentence's hypotheses."),
        },
        title="Hypothesis",
    )
    found["properties"] |= {
        "scores": {
            "title": "ReleasedScores",
            "type": "object",
            "properties": {name: NUMBER_OR_NULL for name in SCORES},
            "description": "The released scores (Shifts 1.0), most in nats a token; absent for single models.",
        },
        "tokens": {"type": "array", "items": token, "description": "Absent where not asked for."},
    }
    return found
