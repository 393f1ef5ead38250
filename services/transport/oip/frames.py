"""Frames of ``ModelStreamInfer``: each request is a chunk of a ``ChunkStream``, which keeps their order."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from services.ledger.contract import Portion, Purpose
from services.request.contract import Priority, Progress
from services.runtime.errors import DemurError
from services.transport.binding import Begin, Chunk, message_of
from services.transport.oip import messages
from services.transport.oip.infer_request import ParsedRequest
from services.transport.oip.model import Answer, OipModel, items
from services.transport.oip.protocol import oip_pb2

FINAL = "triton_final_response"
_EMPTY_FINAL = "triton_enable_empty_final_response"


@dataclass(frozen=True)
class StreamedRequest:
    """Request of a stream: the data that its frames need."""

    id: str
    parsed: ParsedRequest | None
    """Parsed request; None if it was refused."""
    closes: bool = False
    """True if the caller wants a final answer without tensors."""
    start: float = field(default_factory=time.perf_counter)


class OipFrames:
    """Frames of a ``ModelStreamInfer`` stream."""

    request = message_of(oip_pb2.ModelInferRequest)
    response = message_of(oip_pb2.ModelStreamInferResponse)
    purpose: Purpose = "decide"
    priority: Priority | None = None

    def __init__(self, model: OipModel) -> None:
        self._model = model

    def reader(self) -> OipReader:
        return OipReader(self._model)

    def accepted(self) -> None:
        """Return no first frame, since clients take every frame as an answer."""
        return None

    def item(self, sequence: StreamedRequest, answer: Any) -> tuple[Any, int] | None:
        parsed = sequence.parsed
        if parsed is None or not parsed.wishes.items:
            return None
        tensors = self._model.binding.item(answer, parsed.output_names)
        return (
            None
            if tensors is None
            else (self._frame(self._model.answered(parsed, tensors), final=False), _units(answer))
        )

    def progress(self, sequence: StreamedRequest, progress: Progress) -> None:
        return None

    def results(self, sequence: StreamedRequest, answers: list[Any], sent_units: int) -> Iterator[tuple[Any, int]]:
        parsed = sequence.parsed
        assert parsed is not None
        answer = self._model.joined(parsed, answers)
        yield self._frame(answer, final=not sequence.closes), sum(map(_units, answers)) - sent_units
        if sequence.closes:
            closing = oip_pb2.ModelInferResponse(
                model_name=self._model.name, model_version=self._model.version, id=parsed.id
            )
            closing.parameters[FINAL].bool_param = True
            yield oip_pb2.ModelStreamInferResponse(infer_response=closing), 0
        self._model.statistics.answered(items(answers), time.perf_counter() - sequence.start)

    def failed(self, sequence: StreamedRequest, error: DemurError) -> Any:
        self._model.statistics.failed(time.perf_counter() - sequence.start)
        return messages.refusal(self._model, sequence.id, error.message)

    def ended(self, chunks: int, units: int) -> None:
        return None

    def _frame(self, answer: Answer, *, final: bool) -> Any:
        serialised = messages.response(self._model, answer, **{FINAL: final})
        return oip_pb2.ModelStreamInferResponse(infer_response=oip_pb2.ModelInferResponse.FromString(serialised))


class OipReader:
    """Reader of the requests of a stream; a refused request does not end it."""

    def __init__(self, model: OipModel) -> None:
        self._model = model

    def read(self, frame: Any) -> Begin | Chunk:
        try:
            self._model.check(frame.model_name, frame.model_version)
            parsed = self._model.read(messages.question(frame))
        except DemurError as error:
            return Chunk(StreamedRequest(frame.id, None), error)
        wishes = parsed.wishes
        closes = frame.parameters[_EMPTY_FINAL].bool_param if _EMPTY_FINAL in frame.parameters else False
        return Chunk(
            StreamedRequest(frame.id, parsed, closes),
            parsed.request,
            None,
            wishes.options,
            wishes.seconds,
            wishes.priority,
        )


def _units(answer: Any) -> int:
    return answer.count if isinstance(answer, Portion) else 0
