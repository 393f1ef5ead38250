"""Translation as protobuf messages: single calls, and streams that send sentences as they finish."""

from collections.abc import Callable
from typing import Any

from demur.v1 import common_pb2, translation_pb2
from models.uncertainty.sequences import SCORES
from services.ledger.contract import Portion
from services.request.contract import Description, ItemFailed
from services.request.pipeline import Pipeline
from services.runtime.errors import InvalidInput
from services.tasks.translation import presentation
from services.tasks.translation.answer import ANSWER, HEAD, SENTENCE
from services.tasks.translation.request import Detail, TranslationRequest
from services.transport.binding import GrpcBinding, Options, message_of
from services.transport.grpc import codec
from services.transport.grpc.answer_message import filler
from services.transport.grpc.chunks import ChunkFrames, ChunkMessages, ChunkReader, StreamOptions, check_of_chunk

SERVICE = "demur.v1.TranslationService"
_HEADS = (HEAD,)
_FILL = filler(ANSWER, translation_pb2.TranslationPredictResponse)
_FILL_SENTENCE = filler(SENTENCE, translation_pb2.TranslatedSentence)
_DETAIL: dict[int, Detail] = {
    translation_pb2.TRANSLATION_DETAIL_UNSPECIFIED: "best",
    translation_pb2.TRANSLATION_DETAIL_NONE: "none",
    translation_pb2.TRANSLATION_DETAIL_BEST: "best",
    translation_pb2.TRANSLATION_DETAIL_ALL: "all",
}


def binding(
    description: Description, pipeline: Pipeline[Any, Any], *, quantum_rows: Callable[[], int], window_chunks: int
) -> GrpcBinding:
    """Return the gRPC service of translation."""
    messages = ChunkMessages(
        translation_pb2.TranslationStreamRequest,
        translation_pb2.TranslationStreamResponse,
        lambda: ChunkReader(_HEADS, lambda chunk, _: _of_chunk(chunk)),
        lambda answers: answer(answers, whole=False),
        item_frame,
    )
    manner = StreamOptions(window_chunks, quantum_rows, purpose="decide", priority=None, progress=True)
    return GrpcBinding(
        service=SERVICE,
        request=message_of(translation_pb2.TranslationPredictRequest),
        response=message_of(translation_pb2.TranslationPredictResponse),
        read=read,
        answer=answer,
        describe=lambda: codec.describe(description, pipeline.policies.all()),
        describe_messages=(message_of(common_pb2.DescribeRequest), message_of(common_pb2.DescribeResponse)),
        stream=ChunkFrames(messages, manner, description, pipeline),
    )


def read(message: Any) -> tuple[TranslationRequest, Options]:
    """Read a request from one message.

    Raises:
        InvalidInput: unknown purpose, or unknown detail of tokens.
    """
    return _request(message), codec.options(message, _HEADS)


def answer(answers: list[Any], *, whole: bool = True) -> Any:
    """Return the message of a call.

    Args:
        whole: False leaves out sentences, which were sent before.

    Raises:
        DemurError: see ``presentation.answered``.
    """
    record = presentation.answered(answers).record()
    return _FILL(record if whole else record | {"sentences": []})


def item_frame(sequence: int, answer: Portion | ItemFailed) -> Any:
    """Return the frame of a finished sentence while its chunk runs; None for failures, sent with the result."""
    if isinstance(answer, ItemFailed) or not answer.count:
        return None
    sentence = _FILL_SENTENCE(presentation.sentence(answer))
    return translation_pb2.TranslationStreamResponse(
        sentence=translation_pb2.TranslationSaid(sequence=sequence, sentence=sentence, scores=SCORES)
    )


def _of_chunk(chunk: Any) -> TranslationRequest:
    request = chunk.request
    check_of_chunk(request)
    return _request(request)


def _request(message: Any) -> TranslationRequest:
    if message.tokens not in _DETAIL:
        raise InvalidInput.about(
            "tokens", message.tokens, "must be a value of TranslationDetail", code="unknown_detail", allowed="[0, 3]"
        )
    return TranslationRequest(tuple(message.texts), _DETAIL[message.tokens])
