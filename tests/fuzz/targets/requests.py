"""Requests of all tasks, as both transports read them, up to the units that would be worked off."""

import asyncio
import random
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from starlette.requests import Request

from demur.v1 import common_pb2, lesion_pb2, motion_pb2, translation_pb2, vessel_pb2, weather_pb2
from services.runtime.errors import DemurError
from services.transport.binding import Chunk, Message
from services.transport.grpc import raw_request
from services.transport.grpc.raw_request import Compressed, decompress
from services.transport.grpc.status import detail
from services.transport.http.body import FORM, error_response
from services.transport.http.form import read_form
from tests.fuzz import made, raw, trees, wire
from tests.fuzz.target import Decoder, Target
from tests.fuzz.tenants import row, tenant, text

_ROW_MESSAGES: dict[str, tuple[Any, Any]] = {
    "vessel": (vessel_pb2.VesselPredictRequest, vessel_pb2.VesselStreamRequest),
    "weather": (weather_pb2.WeatherPredictRequest, weather_pb2.WeatherStreamRequest),
}
BOUNDARY = b"----demur-fuzz"
_FORM_BYTES = 1 << 20
_MESSAGE_BYTES = 16 << 20


def decoder(message: Message) -> Callable[[bytes], Any]:
    """Bytes of a gRPC message to what handlers see, decompressed as the server does; raises what refuses them."""
    receive = raw_request.decoder(message.decode)

    def decode(case: bytes) -> Any:
        received = receive(case)
        if isinstance(received, Compressed):
            received = received.decode(decompress(received.data, _MESSAGE_BYTES))
        return received.checked()

    return decode


def answerable(read: Callable[[bytes], object]) -> Callable[[bytes], object]:
    """The same; a refusal must be one that both protocols can send."""

    def checked(case: bytes) -> object:
        try:
            return read(case)
        except DemurError as error:
            error_response(error), detail(error).SerializeToString()
            raise

    return checked


def expanded(task: str, request: Any, nbytes: int = 0) -> None:
    """A request that was read, as units; what is made of it has a size in proportion."""
    expansion: Any = tenant(task).pipeline.task.expand(request)
    assert expansion.count >= 0
    assert 0 <= expansion.seconds < 1e9
    if task in _ROW_MESSAGES:
        rows = expansion.payload.rows
        schema = tenant(task).description.schema
        assert schema is not None
        assert rows.shape == (expansion.count, len(schema))
        allowed = (rows >= schema.lower) & (rows <= schema.upper) | np.isnan(rows) & schema.nullable
        for position, value in schema.sentinels:
            allowed[:, position] |= rows[:, position] == value
        assert allowed.all(), "a row was taken that the schema does not allow"


def json_requests(task: str) -> Target:
    """JSON bodies of /v1/predict and /v1/jobs."""

    def opened(folder: Path) -> Decoder:
        def read(case: bytes) -> None:
            request, _ = tenant(task).http.read_json(case)
            expanded(task, request)

        return Decoder(_json_samples(task), answerable(read), (DemurError,), trees.mutated)

    return Target(_CASES["json"][task], opened)


def messages(task: str) -> Target:
    """Messages of Predict."""

    def opened(folder: Path) -> Decoder:
        binding = tenant(task).grpc
        receive = decoder(binding.request)

        def read(case: bytes) -> None:
            request, _ = binding.read(receive(case))
            expanded(task, request)

        return Decoder(_message_samples(task), answerable(read), (DemurError,), wire.mutated)

    return Target(_CASES["message"][task], opened)


def streams(task: str) -> Target:
    """Frames of PredictStream, one after the other: their lengths and bytes make a case."""

    def opened(folder: Path) -> Decoder:
        frames: Any = tenant(task).grpc.stream
        receive = decoder(frames.request)

        def read(case: bytes) -> None:
            reader = frames.reader()
            for content in made.parts(case):
                word = reader.read(receive(content))
                if isinstance(word, Chunk) and not isinstance(word.request, DemurError):
                    try:
                        expanded(task, word.request)
                    except DemurError as error:  # ends the chunk, not the stream
                        frames.failed(word.sequence, error).SerializeToString()

        def make(rng: random.Random, sample: bytes) -> bytes:
            pieces = made.parts(sample)
            index = rng.randrange(len(pieces))
            kind = rng.randrange(8)
            if kind == 0:
                del pieces[index]
            elif kind == 1:
                pieces.insert(rng.randrange(len(pieces)), pieces[index])
            else:
                pieces[index] = wire.mutated(rng, pieces[index])
            return made.joined(pieces)

        return Decoder(_stream_samples(task), answerable(read), (DemurError,), make)

    return Target(_CASES["stream"][task], opened)


def packed_rows(task: str) -> Target:
    """Packed float32: the number of rows, and the bytes."""

    def opened(folder: Path) -> Decoder:
        kind, _ = _ROW_MESSAGES[task]
        binding = tenant(task).grpc
        values = np.array(list(row(task).values()) * 2, "<f4").tobytes()

        def read(case: bytes) -> None:
            count = int.from_bytes(case[:4], "little")
            request = kind(rows=common_pb2.Rows(packed=common_pb2.PackedRows(row_count=count, values=case[4:])))
            expanded(task, binding.read(request)[0])

        return Decoder([struct.pack("<I", 2) + values], answerable(read), (DemurError,))

    return Target(_CASES["packed"][task], opened)


def forms(task: str) -> Target:
    """Bodies of multipart/form-data, up to the units."""

    def opened(folder: Path) -> Decoder:
        binding: Any = tenant(task).http.form
        loop = asyncio.new_event_loop()

        async def fields(case: bytes) -> Any:
            head, _, body = case.partition(b"\n")
            pieces = [body[:100], body[100:]]

            async def receive() -> Any:
                piece = pieces.pop(0)
                return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

            headers = [(b"content-type", FORM.encode() + b"; boundary=" + head)]
            return await read_form(Request({"type": "http", "headers": headers}, receive), binding.fields, _FORM_BYTES)

        def read(case: bytes) -> None:
            expanded(task, binding.read(loop.run_until_complete(fields(case)))[0])

        samples = [form(sample) for sample in made.forms(task)]
        return Decoder(samples, answerable(read), (DemurError,), close=loop.close)

    return Target(_CASES["form"][task], opened)


def form(fields: dict[str, bytes | str]) -> bytes:
    """The boundary, a line feed, and a form; bytes are files."""
    parts = []
    for name, value in fields.items():
        file = b'; filename="a.nii.gz"\r\ncontent-type: application/octet-stream' if isinstance(value, bytes) else b""
        content = value if isinstance(value, bytes) else value.encode()
        head = b'content-disposition: form-data; name="' + name.encode() + b'"' + file
        parts.append(b"--" + BOUNDARY + b"\r\n" + head + b"\r\n\r\n" + content + b"\r\n")
    return BOUNDARY + b"\n" + b"".join(parts) + b"--" + BOUNDARY + b"--\r\n"


def texts() -> Target:
    """Texts themselves: cut into sentences, looked at for tokens; joined again they are what came."""

    def opened(folder: Path) -> Decoder:
        from services.tasks.translation.request import TranslationRequest

        task: Any = tenant("translation").pipeline.task

        def read(case: bytes) -> None:
            source = case.decode(errors="replace")
            payload = task.expand(TranslationRequest((source,))).payload
            (document,) = payload.documents
            assert document.joined(document.sentences)[0] == source, "the parts of a text are not the text"

        return Decoder(made.TEXTS, answerable(read), (DemurError,), raw.mutated)

    return Target(_CASES["text"]["translation"], opened)


@cache
def _json_samples(task: str) -> list[bytes]:
    if task in _ROW_MESSAGES:
        record = row(task)
        wish = {"purpose": "explore", "defer_above": dict.fromkeys(_heads(task), 1.5), "members": True}
        units = {name: next(f.unit for f in _features(task) if f.name == name) for name in list(record)[:2]}
        columns = {name: [value, value] for name, value in record.items()}
        return [text({"rows": [record, record]}), text({"columns": columns, "units": units} | wish)]
    return [text(body) for body in made.bodies(task)]


@cache
def _message_samples(task: str) -> list[bytes]:
    if task in _ROW_MESSAGES:
        kind, _ = _ROW_MESSAGES[task]
        wishes = {"purpose": common_pb2.PURPOSE_EXPLORE, "defer_above_by_head": dict.fromkeys(_heads(task), 1.5)}
        return [kind(rows=rows, members=True, **wishes).SerializeToString() for rows in _rows(task)]
    if task == "motion":
        requests: list[Any] = [motion_pb2.MotionPredictRequest(**fields) for fields in made.motion_fields()]
    elif task == "lesion":
        requests = [
            lesion_pb2.LesionPredictRequest(flair=made.scan(), maps=[1, 2], purpose=1, defer_above=0.5, name="a"),
            lesion_pb2.LesionPredictRequest(flair=made.scan(), brain_mask=made.scan(mask=True)),
        ]
    else:
        requests = [
            translation_pb2.TranslationPredictRequest(texts=["A dog. Two."], tokens=3, purpose=2, defer_above=1.0)
        ]
    return [message.SerializeToString() for message in requests]


@cache
def _stream_samples(task: str) -> list[bytes]:
    begin = common_pb2.StreamBegin(purpose=common_pb2.PURPOSE_DECIDE)
    if task in _ROW_MESSAGES:
        _, kind = _ROW_MESSAGES[task]
        chunks = [kind(chunk={"sequence": number, "rows": rows}) for number, rows in enumerate(_rows(task))]
        frames: list[Any] = [kind(begin=begin), *chunks]
    elif task == "motion":
        stream: Any = motion_pb2.MotionStreamRequest
        ask = motion_pb2.MotionPredictRequest
        chunks = [
            stream(chunk={"sequence": n, "request": ask(**fields)}) for n, fields in enumerate(made.motion_fields())
        ]
        frames = [stream(begin=begin), *chunks]
    elif task == "lesion":
        stream, scan = lesion_pb2.LesionStreamRequest, made.scan()
        pieces = [stream(piece={"input": 1, "content": part}) for part in (scan[:100], scan[100:])]
        frames = [stream(begin=begin), stream(scan={"sequence": 7, "name": "a", "maps": [1]}), *pieces, stream(end={})]
    else:
        stream = translation_pb2.TranslationStreamRequest
        chunks = [stream(chunk={"sequence": n, "request": {"texts": ["A dog."], "tokens": n}}) for n in range(3)]
        frames = [stream(begin=begin), *chunks]
    return [made.joined([frame.SerializeToString() for frame in frames])]


def _rows(task: str) -> list[Any]:
    record = row(task)
    columns = [common_pb2.NamedColumn(name=name, values=[value, value]) for name, value in record.items()]
    schema = tenant(task).description.schema
    assert schema is not None
    values = np.array(list(record.values()) * 2, "<f4").tobytes()
    packed = common_pb2.PackedRows(row_count=2, values=values, schema_hash=schema.hash)
    return [common_pb2.Rows(packed=packed), common_pb2.Rows(named=common_pb2.NamedColumns(columns=columns))]


def _heads(task: str) -> list[str]:
    return [head.name for head in tenant(task).description.heads]


def _features(task: str) -> Any:
    schema = tenant(task).description.schema
    assert schema is not None
    return schema.features


_CASES: dict[str, dict[str, int]] = {
    "json": {"vessel": 9_000, "weather": 1_000, "motion": 1_000, "lesion": 2_000, "translation": 3_500},
    "message": {"vessel": 9_000, "weather": 2_000, "motion": 1_000, "lesion": 1_500, "translation": 4_000},
    "stream": {"vessel": 4_500, "weather": 1_000, "motion": 800, "lesion": 1_500, "translation": 2_500},
    "packed": {"vessel": 9_000, "weather": 4_000},
    "form": {"motion": 1_000, "lesion": 1_200},
    "text": {"translation": 2_000},
}
_OF = {"json": json_requests, "message": messages, "stream": streams, "packed": packed_rows, "form": forms}
TARGETS: dict[str, Target] = {f"{kind}-{task}": _OF[kind](task) for kind in _OF for task in _CASES[kind]}
TARGETS["texts"] = texts()
