"""Requests for translations: texts checked before they are sent, and the messages that carry them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from demur._errors import DemurError, InvalidInput, TooLarge, wrong_argument
from demur._exchange import Part
from demur._options import Purpose, RequestOptions
from demur._translation.answer import Translations
from demur._translation.decoding import translations
from demur.v1 import translation_pb2 as wire

CALL_TEXTS = 256
"""Largest number of texts of one request, by the contract."""
CALL_CHARACTERS = 10**5
"""Largest number of their characters together."""

Detail: TypeAlias = Literal["best", "all", "none"]
"""Hypotheses whose tokens are returned: the best, all, or none."""
Texts: TypeAlias = str | Sequence[str]
"""One text, or several."""
Listener: TypeAlias = Callable[[wire.TranslationSaid], None]
"""Called with each sentence that is sent before its chunk is done."""

_DETAILS: dict[str, wire.TranslationDetail] = {
    "best": wire.TRANSLATION_DETAIL_BEST,
    "all": wire.TRANSLATION_DETAIL_ALL,
    "none": wire.TRANSLATION_DETAIL_NONE,
}
_SHOWN = 40
"""Characters of a refused value that a message shows."""


class TranslationChunks:
    """Texts as the chunks of a stream, one chunk a request, or as one unary message.

    Args:
        listener: called with sentences that are sent before their chunk is done.

    Raises:
        InvalidInput: an option has a value that is not allowed.
    """

    def __init__(
        self, purpose: Purpose, defer_above: float | None, tokens: Detail, listener: Listener | None = None
    ) -> None:
        if tokens not in _DETAILS:
            raise wrong_argument("tokens", tokens, ", ".join(_DETAILS))
        self._options = RequestOptions.of_one_head(purpose, defer_above)
        self._tokens = _DETAILS[tokens]
        self._listener = listener
        self.begin = wire.TranslationStreamRequest(begin=self._options.begin())
        """The first frame to send."""

    def unary(self, texts: Sequence[str]) -> wire.TranslationPredictRequest:
        """Return a whole request in one message."""
        return wire.TranslationPredictRequest(texts=texts, tokens=self._tokens, **self._options.fields())

    def cut(self, texts: tuple[str, ...] | InvalidInput | TooLarge) -> list[Part[Translations]]:
        """Return the chunk of a request that was read.

        Raises:
            InvalidInput, TooLarge: it could not be read.
        """
        if isinstance(texts, DemurError):
            raise texts
        chunk = _Chunk(texts, self._tokens, self._listener)
        return [Part(0, chunk.frame, chunk.decode, chunk.add)]

    def join(self, parts: Sequence[Translations]) -> Translations:
        """Return the answer of the only chunk of a request."""
        (answer,) = parts
        return answer

    def failed(self, error: DemurError) -> None:
        """Ignore the error of a request."""


class _Chunk:
    """Request in flight, and the sentences that were received about it so far."""

    def __init__(self, texts: tuple[str, ...], tokens: wire.TranslationDetail, listener: Listener | None) -> None:
        self._texts, self._tokens, self._listener = texts, tokens, listener
        self._early: list[wire.TranslatedSentence] = []

    def frame(self, sequence: int) -> wire.TranslationStreamRequest:
        request = wire.TranslationPredictRequest(texts=self._texts, tokens=self._tokens)
        return wire.TranslationStreamRequest(chunk=wire.TranslationChunk(sequence=sequence, request=request))

    def add(self, message: wire.TranslationSaid) -> None:
        self._early.append(message.sentence)
        if self._listener is not None:
            self._listener(message)

    def decode(self, response: wire.TranslationPredictResponse) -> Translations:
        return translations(response, self._texts, self._early)


def read(texts: Texts) -> tuple[str, ...]:
    """Return the texts of one request, one or more.

    Raises:
        InvalidInput: they are not texts, or hold half a character, which no message can carry.
        TooLarge: more than the service accepts in one call.
    """
    listed = _listed(texts)
    if not listed:
        raise wrong_argument("texts", "none", f"1 to {CALL_TEXTS} texts")
    if len(listed) > CALL_TEXTS:
        raise TooLarge(
            f"texts are {len(listed)}; one call takes at most {CALL_TEXTS}. Ask in several, as predict_many does",
            code="too_many_texts",
        )
    for number, text in enumerate(listed):
        check_text(text, f"texts[{number}]", number)
    size = sum(map(len, listed))
    if size > CALL_CHARACTERS:
        raise TooLarge(
            f"texts have {size} characters together; one call takes at most {CALL_CHARACTERS}. "
            "Ask about fewer at once, or use document, which takes a text of any length",
            code="too_many_characters",
        )
    return listed


def read_or_error(texts: Texts) -> tuple[str, ...] | InvalidInput | TooLarge:
    """Return the texts of one request; the error instead of raising it."""
    try:
        return read(texts)
    except (InvalidInput, TooLarge) as error:
        return error


def check_text(text: Any, field: str, index: int | None = None) -> None:
    """Check that a value is text that a message can carry.

    Raises:
        InvalidInput: it is not text, or holds half of a surrogate pair; the error names the field.
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


def _listed(texts: Any) -> tuple[str, ...]:
    if isinstance(texts, str):
        return (texts,)
    if isinstance(texts, (bytes, bytearray, memoryview, Mapping)) or not isinstance(texts, Iterable):
        raise wrong_argument("texts", _shown(texts), "a text (str), or a sequence of texts")
    return tuple(texts)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
