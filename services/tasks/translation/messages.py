"""Translation as protobuf messages: single calls, and streams whose sentences are told as they are done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from demur.v1 import common_pb2, translation_pb2
from models.uncertainty.sequences import SCORES
from services.ledger.contract import Portion
from services.request.pipeline import Description, Pipeline
from services.request.work import ItemFailed
from services.runtime.errors import InvalidInput
from services.tasks.translation import words
from services.tasks.translation.request import Detail, TranslationRequest
from services.tasks.translation.words import Hypothesis, Said
from services.transport.binding import GrpcBinding, Options, message_of, stricter
from services.transport.grpc import heads
from services.transport.grpc.chunks import ChunkFrames, ChunkMessages, Manner, check_of_chunk
from services.transport.grpc.status import detail
from services.transport.http.single import remarked

SERVICE = "demur.v1.TranslationService"
_HEADS = (words.HEAD,)
_DETAIL: dict[int, Detail] = {
    translation_pb2.TRANSLATION_DETAIL_UNSPECIFIED: "best",
    translation_pb2.TRANSLATION_DETAIL_NONE: "none",
    translation_pb2.TRANSLATION_DETAIL_BEST: "best",
    translation_pb2.TRANSLATION_DETAIL_ALL: "all",
}


def binding(
    description: Description, pipeline: Pipeline[Any, Any], *, quantum_rows: Callable[[], int], window_chunks: int
) -> GrpcBinding:
    """The gRPC service of translation."""
    messages = ChunkMessages(
        translation_pb2.TranslationStreamRequest,
        translation_pb2.TranslationStreamResponse,
        lambda chunk, _: _of_chunk(chunk),
        lambda answers: answer(answers, whole=False),
        told,
    )
    manner = Manner(window_chunks, quantum_rows, purpose="decide", priority=None, told=True)
    return GrpcBinding(
        service=SERVICE,
        request=message_of(translation_pb2.TranslationPredictRequest),
        response=message_of(translation_pb2.TranslationPredictResponse),
        read=read,
        answer=answer,
        describe=lambda: heads.describe(description, pipeline.policies.all()),
        describe_messages=(message_of(common_pb2.DescribeRequest), message_of(common_pb2.DescribeResponse)),
        stream=ChunkFrames(messages, manner, description, pipeline),
    )


def read(message: Any) -> tuple[TranslationRequest, Options]:
    """A request in one message.

    Raises:
        InvalidInput: an unknown purpose, or an unknown wish about tokens.
    """
    wish = message.defer_above if message.HasField("defer_above") else None
    return _request(message), Options(heads.purpose(message.purpose), stricter(wish, _HEADS), message.plain)


def answer(answers: list[Any], *, whole: bool = True) -> Any:
    """All that became of a call.

    Args:
        whole: False leaves sentences out that were told one by one.

    Raises:
        DemurError: see ``words.answered``.
    """
    found = words.answered(answers)
    return translation_pb2.TranslationPredictResponse(
        model=found.model,
        profile=found.profile,
        texts=[
            translation_pb2.TranslatedText(translation=one.translation, first=one.first, sentences=one.sentences)
            for one in found.texts
        ],
        sentences=[_sentence(one) for one in found] if whole else [],
        failures=[
            translation_pb2.TranslationFailure(
                item=one.item, text=found.asked.text_of(one.item), error=detail(one.error)
            )
            for one in found.failures
        ],
        scores=SCORES,
    )


def told(sequence: int, one: Portion | ItemFailed) -> Any:
    """The frame of a sentence that is done while its chunk runs; None: failures wait for the result."""
    if isinstance(one, ItemFailed) or not one.count:
        return None
    return translation_pb2.TranslationStreamResponse(
        sentence=translation_pb2.TranslationSaid(sequence=sequence, sentence=_sentence(words.said(one)), scores=SCORES)
    )


def _of_chunk(chunk: Any) -> TranslationRequest:
    request = chunk.request
    check_of_chunk(request)
    return _request(request)


def _request(message: Any) -> TranslationRequest:
    if message.tokens not in _DETAIL:
        raise InvalidInput(
            f"tokens = {message.tokens}; a value of TranslationDetail is needed",
            code="unknown_detail",
            field="tokens",
            value=str(message.tokens),
            allowed="[0, 3]",
        )
    return TranslationRequest(tuple(message.texts), _DETAIL[message.tokens])


def _sentence(said: Said) -> Any:
    portion = said.portion
    return translation_pb2.TranslatedSentence(
        item=said.item,
        text=said.text,
        source_start=said.source_place[0],
        source_stop=said.source_place[1],
        start=said.place[0],
        stop=said.place[1],
        hypotheses=[_hypothesis(one) for one in said.hypotheses],
        deferral=heads.deferral(portion, words.HEAD, 0),
        recorded=portion.recorded,
        remarks=[translation_pb2.TranslationRemark(**remarked(remark)) for remark in said.remarks],
    )


def _hypothesis(one: Hypothesis) -> Any:
    found = translation_pb2.TranslationHypothesis(text=one.text, score=one.score, confidence=one.confidence)
    if one.scores is not None:
        found.scores = np.array([one.scores[name] for name in SCORES], "<f4").tobytes()
    if (tokens := one.tokens) is not None:
        found.tokens.starts, found.tokens.stops = (
            np.ascontiguousarray(tokens.spans[:, side], "<u4").tobytes() for side in (0, 1)
        )
        for name in ("log_probabilities", "total", "data", "knowledge"):
            if (values := getattr(tokens, name)) is not None:
                setattr(found.tokens, name, np.ascontiguousarray(values, "<f4").tobytes())
    return found
