"""Decoding of responses about texts; violations of the contract are a :class:`demur.ServiceFailure`."""

from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import TypeVar

from demur._decisions import decode_unit
from demur._errors import from_detail
from demur._messages import UINT32, PackedArray, from_message, malformed, packed_arrays
from demur._translation.answer import Translation, TranslationFailure, Translations
from demur._translation.sentence import Hypothesis, Span, Tokens, TranslatedSentence
from demur.v1 import translation_pb2 as wire

Item = TypeVar("Item", wire.TranslatedSentence, wire.TranslationFailure)

_TOKEN_ARRAYS = (
    PackedArray("starts", ("tokens",), UINT32),
    PackedArray("stops", ("tokens",), UINT32),
    PackedArray("log_probabilities", ("tokens",)),
    PackedArray("total", ("tokens",)),
    PackedArray("data", ("tokens",), optional=True),
    PackedArray("knowledge", ("tokens",), optional=True),
)
_SCORES = PackedArray("scores", ("scores",), optional=True)


def translations(
    response: wire.TranslationPredictResponse, texts: Sequence[str], early: Iterable[wire.TranslatedSentence] = ()
) -> Translations:
    """Return the translations of texts.

    Args:
        early: sentences that were sent before the response, which need not repeat them.

    Raises:
        ServiceFailure: sentences are missing or not where they should be, the parts do not join to the translation, a
            sentence does not hold one decision, or arrays have other sizes than they should.
    """
    if len(response.texts) != len(texts):
        raise malformed(f"{len(response.texts)} translations of {len(texts)} texts")
    sentences = by_item(early) | by_item(response.sentences)
    failures = by_item(response.failures)
    translated = []
    for number, (text, message) in enumerate(zip(texts, response.texts, strict=True)):
        items = range(message.first, message.first + message.sentences)
        own = [sentences.pop(item) for item in items if item in sentences]
        failed = [failures.pop(item) for item in items if item in failures]
        same_text = all(part.text == number for part in own) and all(part.text == number for part in failed)
        if not same_text or len(own) + len(failed) != len(items):
            raise malformed(f"{len(own)} sentences and {len(failed)} failures, of {len(items)}, of text {number}")
        translated.append(_translation(text, message, own, failed, response))
    if sentences or failures:
        raise malformed(f"{len(sentences) + len(failures)} sentences of no text")
    return Translations(tuple(translated), response.model, response.profile)


def sentence(
    message: wire.TranslatedSentence,
    text: str,
    *,
    item: int,
    span: Span | None,
    model: str,
    profile: str,
    scores: Sequence[str] | None,
) -> TranslatedSentence:
    """Return one sentence of a text.

    Args:
        item: its index in the text.
        span: its position in the translation, if that is known.
        scores: names of the released scores; None: not known.

    Raises:
        ServiceFailure: as :func:`translations`.
    """
    start, stop = message.source_start, message.source_stop
    if not start < stop <= len(text):
        raise malformed(f"a sentence at {start} to {stop} of a text of {len(text)} characters")
    return TranslatedSentence(
        **decode_unit(message, "sentence"),
        model=model,
        profile=profile,
        recorded=message.recorded,
        item=item,
        source=text[start:stop],
        source_span=(start, stop),
        span=span,
        hypotheses=tuple(_hypothesis(hypothesis, scores) for hypothesis in message.hypotheses),
    )


def by_item(messages: Iterable[Item]) -> dict[int, Item]:
    """Return messages by the number of their sentence.

    Raises:
        ServiceFailure: two are about the same sentence.
    """
    items: dict[int, Item] = {}
    for message in messages:
        if message.item in items:
            raise malformed(f"sentence {message.item} twice")
        items[message.item] = message
    return items


def _translation(
    text: str,
    message: wire.TranslatedText,
    sentences: Sequence[wire.TranslatedSentence],
    failed: Sequence[wire.TranslationFailure],
    response: wire.TranslationPredictResponse,
) -> Translation:
    """Return the translation of one text: its sentences joined with the text between them."""
    parts: list[str] = []
    place = length = 0  # in the source, in the translation
    translated = []
    for part in sentences:
        if part.source_start < place:
            raise malformed(f"sentence {part.item} begins before the previous sentence ends")
        between = text[place : part.source_start]
        best = part.hypotheses[0].text if part.hypotheses else text[part.source_start : part.source_stop]
        start = length + len(between)
        span = start, start + len(best)
        if part.hypotheses and part.stop and (part.start, part.stop) != span:
            raise malformed(f"sentence {part.item} at {part.start} to {part.stop} of the translation, not {span}")
        item = part.item - message.first
        origin = {"model": response.model, "profile": response.profile}
        translated.append(sentence(part, text, item=item, span=span, **origin, scores=tuple(response.scores)))
        parts += [between, best]
        place, length = part.source_stop, span[1]
    if "".join([*parts, text[place:]]) != message.translation:
        raise malformed("a translation that differs from its joined sentences")
    failures = (
        TranslationFailure(item, _surroundings(item, translated, text), from_detail(failure.error))
        for failure in failed
        for item in (failure.item - message.first,)
    )
    return Translation(message.translation, text, tuple(translated), tuple(failures), response.model, response.profile)


def _surroundings(item: int, sentences: Sequence[TranslatedSentence], text: str) -> Span:
    """Return the span of a sentence that failed: between its neighbours, without the spaces there."""
    start = max((other.source_span[1] for other in sentences if other.item < item), default=0)
    stop = min((other.source_span[0] for other in sentences if other.item > item), default=len(text))
    between = text[start:stop]
    return stop - len(between.lstrip()), start + len(between.rstrip())


def _hypothesis(message: wire.TranslationHypothesis, names: Sequence[str] | None) -> Hypothesis:
    values = None if names is None else _SCORES.decode(message.scores, {"scores": len(names)})
    scores = None
    if names is not None and values is not None:
        scores = MappingProxyType(dict(zip(names, values.tolist(), strict=True)))
    tokens = _tokens(message.tokens, len(message.text)) if message.HasField("tokens") else None
    return from_message(Hypothesis, message, scores=scores, tokens=tokens)


def _tokens(message: wire.TranslationTokens, characters: int) -> Tokens:
    tokens = Tokens(**packed_arrays(message, _TOKEN_ARRAYS, tokens=len(message.starts) // UINT32.itemsize))
    if (tokens.starts > tokens.stops).any() or (tokens.stops > characters).any():
        raise malformed(f"positions of tokens end before they start, or beyond {characters} characters")
    return tokens
