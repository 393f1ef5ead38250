"""JSON Schemas of translation's bodies, with units."""

from __future__ import annotations

from typing import Any, get_args

from models.uncertainty.sequences import SCORES
from services.tasks.translation.request import Detail
from services.tasks.translation.texts import MOST_CHARACTERS, MOST_SENTENCES, MOST_TEXTS
from services.transport.http.components import ref
from services.transport.http.single import decided_schema, record, remark_schema, told

Json = dict[str, Any]
_NUMBER: Json = {"type": ["number", "null"]}


def request() -> Json:
    """One text, or some."""
    properties: Json = {
        "text": {"type": "string", "description": "English text of any number of sentences."},
        "texts": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": MOST_TEXTS,
            "description": f"Several; together at most {MOST_CHARACTERS} characters and {MOST_SENTENCES} sentences.",
        },
        "tokens": {
            "enum": [*get_args(Detail), None],
            "description": "Whose tokens are told: those of the best hypothesis (null), of none, of all.",
        },
        "purpose": {"enum": ["decide", "explore", "replay", None], "description": "null: decide."},
        "defer_above": {
            "type": ["number", "null"],
            "description": "Defer sentences above this uncertainty even where the policy would answer, unit of the "
            "measure.",
        },
    }
    one_input = [{"required": [name]} for name in ("text", "texts")]
    return {"type": "object", "additionalProperties": False, "oneOf": one_input, "properties": properties}


def response() -> Json:
    """Texts, sentences and failures of one call."""
    text = record(
        {
            "translation": told(
                "Sentences in Russian, and between them what stood there. A sentence that failed, is withheld or is "
                "not English stands as it came.",
                "string",
            ),
            "first": told("Index of its first sentence.", "integer"),
            "sentences": told("How many it has; 0 where nothing in it can be translated.", "integer"),
        }
    )
    failure = record(
        {
            "item": told("Index of the sentence.", "integer"),
            "text": told("Index of its text.", "integer"),
            "error": {"$ref": f"{ref('Error')['$ref']}/properties/error"},
        }
    )
    return record(
        {
            "model": told("Served artefact.", "string"),
            "profile": told("Numeric profile that computed the scores.", "string"),
            "purpose": {"enum": ["decide", "explore", "replay"]},
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
            "item": told("Index of the sentence in the call.", "integer"),
            "text": told("Index of its text.", "integer"),
            "source": told("The sentence.", "string"),
            "source_start": told("Where it stands in its text, characters [start, stop).", "integer"),
            "source_stop": told("Its end there.", "integer"),
            "start": told("Where the best hypothesis stands in the translation, characters [start, stop).", "integer"),
            "stop": told("Its end there.", "integer"),
            **decided_schema("sentence"),
            "recorded": told("Whether the decision is durable in the ledger.", "boolean"),
            "hypotheses": {
                "type": "array",
                "items": _hypothesis(),
                "description": "Translations, the best first; none where the policy withholds them.",
            },
            "remarks": {"type": "array", "items": remark_schema("not_english, tokens_high, literal_share_high")},
        }
    )


def _hypothesis() -> Json:
    nats = "nats. float32."
    token = record(
        {
            "start": told("Where the token stands in the text, characters [start, stop).", "integer"),
            "stop": told("Its end there; that of the sentence's end is its start.", "integer"),
            "log_probability_nats": told(f"Under the mean of the members, {nats}"),
            "total_nats": told(f"Entropy of what the members expect together, {nats}"),
        }
    )
    token["properties"] |= {
        "data_nats": told(f"The members' mean entropy; absent for single models, {nats}"),
        "knowledge_nats": told(f"Mutual information, total less data; absent for single models, {nats}"),
    }
    found = record(
        {
            "text": told("In Russian.", "string"),
            "score_nats": _NUMBER
            | {"description": "Log-probability over its tokens with the end of sentence, nats a token; null: none."},
            "confidence": told("Softmax of the scores over the sentence's hypotheses."),
        }
    )
    found["properties"] |= {
        "scores": {
            "type": "object",
            "properties": {name: _NUMBER for name in SCORES},
            "description": "The released scores (Shifts 1.0), most in nats a token; absent for single models.",
        },
        "tokens": {"type": "array", "items": token, "description": "Absent where not asked for."},
    }
    return found
