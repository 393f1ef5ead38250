"""Messages about texts as what they say; whatever breaks the contract is the service's failure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from demur._decided import decided_unit
from demur._errors import ServiceFailure, from_detail
from demur._head_answer import array, optional
from demur._translation_answer import Translation, TranslationFailure, Translations
from demur._translation_sentence import Hypothesis, Span, TranslatedSentence
from demur._translation_tokens import Tokens
from demur.v1 import translation_pb2 as wire

Numbered = TypeVar("Numbered", wire.TranslatedSentence, wire.TranslationFailure)

_UINT32 = np.dtype("<u4")


def translations(
    response: wire.TranslationPredictResponse, texts: Sequence[str], told: Iterable[wire.TranslatedSentence] = ()
) -> Translations:
    """The translations of texts.

    Args:
        told: sentences that came before the response, which need not repeat them.

    Raises:
        ServiceFailure: sentences are missing or not where they should be, the parts do not join to the translation, a
            sentence does not hold one decision, or arrays have other sizes than they should.
    """
    if len(response.texts) != len(texts):
        raise malformed(f"{len(response.texts)} translations of {len(texts)} texts")
    said = by_item(told) | by_item(response.sentences)
    failed = by_item(response.failures)
    found = []
    for number, (text, message) in enumerate(zip(texts, response.texts, strict=True)):
        items = range(message.first, message.first + message.sentences)
        own = [said.pop(item) for item in items if item in said]
        lost = [failed.pop(item) for item in items if item in failed]
        right = all(one.text == number for one in own) and all(one.text == number for one in lost)
        if not right or len(own) + len(lost) != len(items):
            raise malformed(f"{len(own)} sentences and {len(lost)} failures, of {len(items)}, of text {number}")
        found.append(_translation(text, message, own, lost, response))
    if said or failed:
        raise malformed(f"{len(said) + len(failed)} sentences of no text")
    return Translations(tuple(found), response.model, response.profile)


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
    """One sentence of a text.

    Args:
        item: its index in the text.
        span: where it stands in the translation, if that is known.
        scores: names of the released scores; None: not known.

    Raises:
        ServiceFailure: as :func:`translations`.
    """
    start, stop = message.source_start, message.source_stop
    if not start < stop <= len(text):
        raise malformed(f"a sentence at {start} to {stop} of a text of {len(text)} characters")
    return TranslatedSentence(
        **decided_unit(message.deferral, message.remarks, "sentence"),
        model=model,
        profile=profile,
        recorded=message.recorded,
        item=item,
        source=text[start:stop],
        source_span=(start, stop),
        span=span,
        hypotheses=tuple(_hypothesis(one, scores) for one in message.hypotheses),
    )


def by_item(messages: Iterable[Numbered]) -> dict[int, Numbered]:
    """Messages by the sentence they are about.

    Raises:
        ServiceFailure: two are about the same.
    """
    found: dict[int, Numbered] = {}
    for one in messages:
        if one.item in found:
            raise malformed(f"sentence {one.item} twice")
        found[one.item] = one
    return found


def malformed(what: str) -> ServiceFailure:
    """The error of an answer that breaks the contract."""
    return ServiceFailure(what, code="malformed")


def _translation(
    text: str,
    message: wire.TranslatedText,
    own: Sequence[wire.TranslatedSentence],
    lost: Sequence[wire.TranslationFailure],
    response: wire.TranslationPredictResponse,
) -> Translation:
    """Sentences and what lies between them, joined."""
    parts: list[str] = []
    place = length = 0  # in the source, in the translation
    found = []
    for one in own:
        if one.source_start < place:
            raise malformed(f"sentence {one.item} begins before the one before it ends")
        between = text[place : one.source_start]
        here = one.hypotheses[0].text if one.hypotheses else text[one.source_start : one.source_stop]
        start = length + len(between)
        span = start, start + len(here)
        if one.hypotheses and one.stop and (one.start, one.stop) != span:
            raise malformed(f"sentence {one.item} at {one.start} to {one.stop} of the translation, not {span}")
        item = one.item - message.first
        origin = {"model": response.model, "profile": response.profile}
        found.append(sentence(one, text, item=item, span=span, **origin, scores=tuple(response.scores)))
        parts += [between, here]
        place, length = one.source_stop, span[1]
    if "".join([*parts, text[place:]]) != message.translation:
        raise malformed("a translation that is not what its sentences join to")
    failures = tuple(
        TranslationFailure(
            one.item - message.first, _around(one.item - message.first, found, text), from_detail(one.error)
        )
        for one in lost
    )
    return Translation(message.translation, text, tuple(found), failures, response.model, response.profile)


def _around(item: int, found: Sequence[TranslatedSentence], text: str) -> Span:
    """Where a sentence of this index stands: between its neighbours, less the spaces there."""
    start = max((one.source_span[1] for one in found if one.item < item), default=0)
    stop = min((one.source_span[0] for one in found if one.item > item), default=len(text))
    between = text[start:stop]
    return stop - len(between.lstrip()), start + len(between.rstrip())


def _hypothesis(message: wire.TranslationHypothesis, names: Sequence[str] | None) -> Hypothesis:
    scores = None
    if names is not None and (values := optional(message.scores, len(names))) is not None:
        scores = MappingProxyType(dict(zip(names, values.tolist(), strict=True)))
    return Hypothesis(
        text=message.text,
        score=message.score,
        confidence=message.confidence,
        scores=scores,
        tokens=_tokens(message.tokens, len(message.text)) if message.HasField("tokens") else None,
    )


def _tokens(message: wire.TranslationTokens, characters: int) -> Tokens:
    starts, stops = _places(message.starts), _places(message.stops)
    if len(starts) != len(stops) or (starts > stops).any() or (stops > characters).any():
        raise malformed(f"{len(starts)} and {len(stops)} places of tokens, or such beyond {characters} characters")
    size = len(starts)
    return Tokens(
        starts=starts,
        stops=stops,
        log_probabilities=array(message.log_probabilities, size),
        total=array(message.total, size),
        data=optional(message.data, size),
        knowledge=optional(message.knowledge, size),
    )


def _places(packed: bytes) -> NDArray[np.uint32]:
    if len(packed) % _UINT32.itemsize:
        raise malformed(f"{len(packed)} bytes of places")
    return np.frombuffer(packed, _UINT32)
