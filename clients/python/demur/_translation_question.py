"""Texts to be translated: checked before anything is sent, and as the messages that carry them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from demur._errors import InvalidInput, TooLarge, wrong_argument
from demur._question import Manner, Purpose
from demur.v1 import translation_pb2 as wire

CALL_TEXTS = 256
"""Texts of one question at most, as the contract has it."""
CALL_CHARACTERS = 10**5
"""Characters of them together."""

Detail: TypeAlias = Literal["best", "all", "none"]
"""Whose tokens are told: those of the best hypothesis, of all, or none."""
Texts: TypeAlias = str | Sequence[str]
"""One text, or several."""

_DETAILS: dict[str, wire.TranslationDetail] = {
    "best": wire.TRANSLATION_DETAIL_BEST,
    "all": wire.TRANSLATION_DETAIL_ALL,
    "none": wire.TRANSLATION_DETAIL_NONE,
}
_SHOWN = 40
"""Characters of a refused value that a message shows."""


def manner(purpose: Purpose, defer_above: float | None) -> Manner:
    """How texts are asked about.

    Raises:
        InvalidInput: wishes that mean nothing.
    """
    if isinstance(defer_above, Mapping):
        raise wrong_argument("defer_above", defer_above, "a number in the unit of the measure; there is one head")
    return Manner(purpose, defer_above, False)


def detail(tokens: Detail) -> wire.TranslationDetail:
    """The wish for tokens on the wire.

    Raises:
        InvalidInput: there is no such wish.
    """
    if tokens not in _DETAILS:
        raise wrong_argument("tokens", tokens, ", ".join(_DETAILS))
    return _DETAILS[tokens]


def read(texts: Texts) -> tuple[str, ...]:
    """The texts of one question, one or more.

    Raises:
        InvalidInput: they are no texts, or hold half a character, which no message can carry.
        TooLarge: more than the service takes in one call.
    """
    found = _listed(texts)
    if not found:
        raise wrong_argument("texts", "none", f"1 to {CALL_TEXTS} texts")
    if len(found) > CALL_TEXTS:
        raise TooLarge(
            f"texts are {len(found)}; one call takes at most {CALL_TEXTS}. Ask in several, as predict_many does",
            code="too_many_texts",
        )
    for number, text in enumerate(found):
        check(text, f"texts[{number}]", number)
    size = sum(map(len, found))
    if size > CALL_CHARACTERS:
        raise TooLarge(
            f"texts have {size} characters together; one call takes at most {CALL_CHARACTERS}. "
            "Ask about fewer at once, or use document, which takes a text of any length",
            code="too_many_characters",
        )
    return found


def opened(texts: Texts) -> tuple[str, ...] | InvalidInput | TooLarge:
    """The texts of one question, or why it is none."""
    try:
        return read(texts)
    except (InvalidInput, TooLarge) as error:
        return error


def check(text: Any, field: str, index: int | None = None) -> None:
    """
    Raises:
        InvalidInput: it is no text, or holds half of a surrogate pair; the error names the field.
    """
    if not isinstance(text, str):
        raise InvalidInput(
            f"{field} is {_shown(text)}, not text (str)",
            code="not_text",
            field=field,
            value=_shown(text),
            allowed="text (str)",
            index=index,
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"U+{ord(text[error.start]):04X}"
        raise InvalidInput(
            f"{field} holds {half} at character {error.start}, which is half a character; "
            "allowed: Unicode text without lone surrogates. Read the file with the encoding that it has",
            code="not_unicode",
            field=field,
            value=half,
            allowed="Unicode text without lone surrogates",
            index=index,
        ) from None


def request(texts: Sequence[str], tokens: wire.TranslationDetail) -> wire.TranslationPredictRequest:
    """A question without purpose and threshold."""
    return wire.TranslationPredictRequest(texts=texts, tokens=tokens)


def _listed(texts: Any) -> tuple[str, ...]:
    if isinstance(texts, str):
        return (texts,)
    if isinstance(texts, (bytes, bytearray, memoryview, Mapping)) or not isinstance(texts, Iterable):
        raise wrong_argument("texts", _shown(texts), "a text (str), or a sequence of texts")
    return tuple(texts)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
