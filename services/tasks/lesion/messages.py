"""Scans as protobuf messages: single calls, and streams with files in pieces."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from demur.v1 import common_pb2, lesion_pb2
from models.tasks.lesion.data.files import Encoding
from services.ledger.contract import Portion
from services.request.contract import Description
from services.request.pipeline import Pipeline
from services.runtime.errors import InvalidInput, TooLarge
from services.tasks.lesion import presentation
from services.tasks.lesion.answer import ANSWER, HEAD
from services.tasks.lesion.request import ScanRequest
from services.transport.binding import Begin, Chunk, GrpcBinding, Options, message_of
from services.transport.grpc import codec
from services.transport.grpc.answer_message import filler
from services.transport.grpc.chunks import ChunkFrames, ChunkMessages, StreamOptions

SERVICE = "demur.v1.LesionService"
PIECE_BYTES = 1 << 20
"""Size of a piece of an answer's file in a stream, in bytes."""
_HEADS = (HEAD,)
_FILL = filler(ANSWER, lesion_pb2.LesionPredictResponse)
_MAPS: dict[int, str] = {
    number: name.removeprefix("LESION_MAP_").lower() for name, number in lesion_pb2.LesionMap.items() if number
}
_NUMBERS: dict[str, Any] = {name: number for number, name in _MAPS.items()}
_ENCODINGS: dict[int, Encoding] = {
    lesion_pb2.LESION_ENCODING_UNSPECIFIED: "float32",
    lesion_pb2.LESION_ENCODING_FLOAT32: "float32",
    lesion_pb2.LESION_ENCODING_UINT8: "uint8",
}
_INPUTS = {
    lesion_pb2.LESION_INPUT_FLAIR: "flair",
    lesion_pb2.LESION_INPUT_T1: "t1",
    lesion_pb2.LESION_INPUT_BRAIN_MASK: "brain_mask",
}


def binding(
    description: Description, pipeline: Pipeline[Any, Any], *, window_chunks: int, max_upload_bytes: int
) -> GrpcBinding:
    """Return the gRPC service of scans."""
    return GrpcBinding(
        service=SERVICE,
        request=message_of(lesion_pb2.LesionPredictRequest),
        response=message_of(lesion_pb2.LesionPredictResponse),
        read=read,
        answer=lambda answers: _answer(answers, files=True),
        describe=lambda: codec.describe(description, pipeline.policies.all()),
        describe_messages=(message_of(common_pb2.DescribeRequest), message_of(common_pb2.DescribeResponse)),
        stream=ScanFrames(description, pipeline, window_chunks, max_upload_bytes),
        smaller="name fewer maps, ask for LESION_ENCODING_UINT8, or call PredictStream, whose messages have about 1 MB",
    )


def read(message: Any) -> tuple[ScanRequest, Options]:
    """Read a request from one message.

    Raises:
        InvalidInput: an unknown map, encoding or purpose.
    """
    request = ScanRequest(
        message.flair,
        message.t1,
        message.brain_mask,
        _maps(message.maps),
        message.name,
        encoding=_encoding(message.encoding),
    )
    return request, codec.options(message, _HEADS)


def _maps(numbers: Any) -> tuple[str, ...]:
    for number in numbers:
        if number not in _MAPS:
            raise InvalidInput.about("maps", number, code="unknown_field", allowed=", ".join(_NUMBERS))
    return tuple(_MAPS[number] for number in numbers)


def _encoding(number: int) -> Encoding:
    if number not in _ENCODINGS:
        names = ", ".join(f"LESION_ENCODING_{name.upper()}" for name in get_args(Encoding))
        raise InvalidInput.about("encoding", number, code="unknown_field", allowed=names)
    return _ENCODINGS[number]


def _answer(answers: list[Portion], *, files: bool) -> Any:
    (portion,) = answers
    contents = presentation.files(portion) if files else {}
    volumes = [{"map": _NUMBERS[name], "content": content} for name, content in contents.items()]
    return _FILL(presentation.record(portion) | {"files": volumes})


class ScanFrames(ChunkFrames):
    """Frames of a stream of scans, with files in pieces in both directions."""

    def __init__(
        self, description: Description, pipeline: Pipeline[Any, Any], window_chunks: int, max_upload_bytes: int
    ) -> None:
        messages = ChunkMessages(
            lesion_pb2.LesionStreamRequest,
            lesion_pb2.LesionStreamResponse,
            lambda: ScanReader(max_upload_bytes),
            lambda answers: _answer(answers, files=False),
        )
        options = StreamOptions(window_chunks, lambda: 1, purpose="decide", priority=None, progress=True)
        super().__init__(messages, options, description, pipeline)

    def results(self, sequence: int, answers: list[Any], sent_units: int) -> Iterator[tuple[Any, int]]:
        """Yield the files in pieces, then the answer without them."""
        (portion,) = answers
        for name, content in presentation.files(portion).items():
            for start in range(0, len(content), PIECE_BYTES):
                piece = lesion_pb2.LesionResultPiece(
                    sequence=sequence, map=_NUMBERS[name], content=content[start : start + PIECE_BYTES]
                )
                yield lesion_pb2.LesionStreamResponse(piece=piece), 0
        yield from super().results(sequence, answers, sent_units)


class ScanReader:
    """Reader of the scans of a stream, which arrive in pieces; the pieces of too large scans are dropped on arrival."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._begun = False
        self._scan: Any = None
        self._pieces: dict[str, list[bytes]] = {}
        self._size = 0
        self._kinds: Mapping[str, Callable[[Any], Begin | Chunk | None]] = {
            "begin": self._begin,
            "scan": self._open,
            "piece": self._add,
            "end": self._close,
        }

    def read(self, frame: Any) -> Begin | Chunk | None:
        kind = frame.WhichOneof("frame")
        if kind is None:
            raise InvalidInput("a frame of this stream is neither begin, scan, piece nor end", code="empty_frame")
        return self._kinds[kind](getattr(frame, kind))

    def _begin(self, message: Any) -> Begin:
        if self._begun:
            raise InvalidInput("a stream begins once; open another stream for other wishes", code="begun_twice")
        self._begun = True
        return Begin(codec.options(message, _HEADS))

    def _open(self, message: Any) -> None:
        self._begun = True
        if self._scan is not None:
            raise InvalidInput(
                f"scan {message.sequence} begins before scan {self._scan.sequence} has its end", code="empty_frame"
            )
        self._scan, self._pieces, self._size = message, {}, 0

    def _add(self, message: Any) -> None:
        if self._scan is None:
            raise InvalidInput("a piece belongs to no scan; send a scan frame first", code="empty_frame")
        if message.input not in _INPUTS:
            raise InvalidInput.about("input", message.input, code="unknown_field", allowed=", ".join(_INPUTS.values()))
        self._size += len(message.content)
        if self._size > self._max_bytes:
            self._pieces = {}
        else:
            self._pieces.setdefault(_INPUTS[message.input], []).append(message.content)

    def _close(self, message: Any) -> Chunk:
        if self._scan is None:
            raise InvalidInput("an end belongs to no scan; send a scan frame first", code="empty_frame")
        scan, pieces, size = self._scan, self._pieces, self._size
        self._scan, self._pieces = None, {}
        if size > self._max_bytes:
            refusal = TooLarge.about(
                "flair",
                size,
                f"the files of scan {scan.sequence} must have at most {self._max_bytes} bytes together",
                code="body_too_large",
                unit="bytes",
                allowed=f"[0, {self._max_bytes}]",
                advice="gzip them",
            )
            return Chunk(scan.sequence, refusal, 0)
        try:
            maps, encoding = _maps(scan.maps), _encoding(scan.encoding)
        except InvalidInput as error:
            return Chunk(scan.sequence, error, 0)
        files = {name: b"".join(parts) for name, parts in pieces.items()}
        request = ScanRequest(
            files.get("flair", b""),
            files.get("t1", b""),
            files.get("brain_mask", b""),
            maps,
            scan.name,
            encoding=encoding,
        )
        return Chunk(scan.sequence, request, size)
