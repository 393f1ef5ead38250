"""Translation over HTTP: JSON in, JSON out."""

from typing import Annotated, Any, get_args

from services.runtime.errors import InvalidInput
from services.tasks.translation import presentation
from services.tasks.translation.answer import ANSWER, HEAD
from services.tasks.translation.request import Detail, TranslationRequest, detail
from services.tasks.translation.texts import MOST_CHARACTERS, MOST_SENTENCES, MOST_TEXTS
from services.transport.binding import HttpBinding, Options
from services.transport.http import decoding
from services.transport.http.answer_json import schema, writer
from services.transport.http.components import Json, choice, or_null
from services.transport.http.predict_body import PredictBody
from services.transport.http.struct_schema import documented, variants

_WRITE = writer(ANSWER)


_TEXT: Json = {"type": "string", "description": "English text of any number of sentences."}
_TEXTS: Json = {
    "type": "array",
    "items": {"type": "string"},
    "minItems": 1,
    "maxItems": MOST_TEXTS,
    "description": f"Several; together at most {MOST_CHARACTERS} characters and {MOST_SENTENCES} sentences.",
}
_TOKENS = or_null(
    choice("TokenDetail", get_args(Detail)),
    "Whose tokens are answered: those of the best hypothesis (null), of none, of all.",
)


class TranslationBody(PredictBody):
    """Translation request as JSON: ``text``, or ``texts``."""

    EXAMPLE = '{"texts": ["It rains."]}'

    text: Annotated[str | None, documented(_TEXT)] = None
    texts: Annotated[list[str] | None, documented(_TEXTS)] = None
    tokens: Annotated[str | None, documented(_TOKENS)] = None


def binding() -> HttpBinding:
    """Return the HTTP binding of translation."""
    return HttpBinding(
        read_json=read_json,
        answer_json=answer,
        request_schema=variants(TranslationBody, {"TextRequest": ("text",), "TextsRequest": ("texts",)}),
        response_schema=schema(ANSWER, unit="sentence"),
    )


def read_json(body: bytes) -> tuple[TranslationRequest, Options]:
    """Read a request from JSON.

    Raises:
        InvalidInput: not JSON of this form, no texts or both forms, or an unknown purpose or detail.
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
    return TranslationRequest(texts, detail(parsed.tokens)), parsed.options(HEAD)


def answer(answers: list[Any]) -> dict[str, Any]:
    """Return the JSON of a call.

    Raises:
        DemurError: see ``presentation.answered``.
    """
    return _WRITE(presentation.answered(answers).record())
