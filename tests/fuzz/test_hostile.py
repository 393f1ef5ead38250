"""The worst that fits into one body: each decoder takes a time in proportion to it, whatever it is made of."""

import gzip
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from demur.v1 import common_pb2, labels_pb2, translation_pb2, vessel_pb2
from models.imaging.nifti import read
from models.tasks.motion.inference import maps, scenes
from models.tasks.translation.data import official
from services.runtime.errors import DemurError
from services.runtime.settings import TASKS
from services.tasks.translation.request import TranslationRequest
from services.transport.grpc import raw_request
from services.transport.http import decoding, label_bodies
from services.transport.http.policies import read_change
from tests.fuzz import made
from tests.fuzz.table import TARGETS
from tests.fuzz.targets.requests import expanded
from tests.fuzz.tenants import tenant
from tests.fuzz.wire import varint

BYTES = 16 << 20
"""Of a body, at most (DEMUR_MAX_MESSAGE_BYTES)."""
SECONDS = 10.0
"""Processor time; 0.6 s are usual for what takes longest, files that unpack without end."""
JSON_SECONDS = 40.0
"""Processor time; 3 s are usual for the most names that fit into a body, 1.2 million."""

BODIES: dict[str, Callable[[], bytes]] = {
    "open brackets": lambda: b"[" * BYTES,
    "open objects": lambda: b'{"a":' * (BYTES // 5),
    "rows of brackets": lambda: b'{"rows":' + b"[" * (BYTES - 8),
    "columns of objects": lambda: b'{"columns":{"a":' + b'{"a":' * (BYTES // 5 - 4),
    "one number": lambda: b'{"rows":[{"speed":' + b"9" * (BYTES - 30) + b"}]}",
    "one fraction": lambda: b'{"rows":[{"speed":0.' + b"1" * (BYTES - 30) + b"}]}",
    "one exponent": lambda: b'{"rows":[{"speed":1e' + b"9" * (BYTES - 30) + b"}]}",
    "one text": lambda: b'{"text":"' + b"a" * (BYTES - 20) + b'"}',
    "quotes": lambda: b'{"text":"' + b'\\"' * (BYTES // 2 - 10) + b'"}',
    "colons": lambda: b'{"rows":[{"a":"' + b":" * (BYTES - 40) + b'"}]}',
    "equal names": lambda: b'{"columns":{' + b'"speed":[1],' * (BYTES // 12 - 9) + b'"speed":[1]}}',
    "names": lambda: b'{"columns":{' + b",".join(b'"a%d":[1]' % n for n in range(BYTES // 16)) + b"}}",
    "empty rows": lambda: b'{"rows":[' + b"{}," * (BYTES // 3 - 9) + b"{}]}",
    "nulls": lambda: b'{"columns":{"speed":[' + b"null," * (BYTES // 5 - 9) + b"null]}}",
    "units": lambda: b'{"units":[' + b'"",' * (BYTES // 3 - 9) + b'""],"reason":"a"}',
    "wishes": lambda: b'{"rows":[{}],"defer_above":{' + b",".join(b'"a%d":1' % n for n in range(BYTES // 14)) + b"}}",
    "blanks": lambda: b" " * BYTES,
    "no text": lambda: b"\xff" * BYTES,
}


@pytest.fixture(scope="module")
def translator() -> None:
    """Its tenant, loaded and used once: what that takes is no part of what is measured."""
    expanded("translation", TranslationRequest(("It rains.",)))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", BODIES)
def test_json(name: str) -> None:
    body = BODIES[name]()
    for task in TASKS:
        tenant(task)  # loads what is no part of what is measured
    readers: list[Callable[[bytes], Any]] = [
        lambda case: read_change("power", case),
        lambda case: label_bodies.units(decoding.json_body(case, label_bodies.UnitsBody).units),
        lambda case: decoding.json_body(case, label_bodies.LabelsBody),
        *(lambda case, task=task: expanded(task, tenant(task).http.read_json(case)[0]) for task in TASKS),
    ]
    for read_one in readers:
        within(lambda read_one=read_one: read_one(body), DemurError, seconds=JSON_SECONDS)  # type: ignore[misc]


def test_messages_that_hold_themselves() -> None:
    """Groups and lengths to the depth that sixteen megabytes allow."""
    inner = b""
    while len(inner) < BYTES - 16:
        inner = varint(1 << 3 | 2) + varint(len(inner)) + inner
        if len(inner) > 1 << 16:  # copying it again and again is this test's own square
            inner = inner + b"\x0b" * (BYTES - len(inner))
            break
    for kind in (vessel_pb2.VesselPredictRequest, labels_pb2.SubmitLabelsRequest):
        decode = raw_request.decoder(kind.FromString)
        within(lambda decode=decode: decode(inner).checked(), DemurError)  # type: ignore[misc]


@pytest.mark.usefixtures("translator")
def test_empty_parts_by_the_million() -> None:
    """Two bytes each, which become eighty in memory."""
    binding = tenant("vessel").grpc
    rows = common_pb2.Rows(named=common_pb2.NamedColumns(columns=[common_pb2.NamedColumn()] * 500_000))
    body = vessel_pb2.VesselPredictRequest(rows=rows).SerializeToString()
    decode = raw_request.decoder(binding.request.decode)
    within(lambda: expanded("vessel", binding.read(decode(body).checked())[0]), DemurError)
    texts = translation_pb2.TranslationPredictRequest(texts=[""] * 2_000_000).SerializeToString()
    other = tenant("translation").grpc
    decode = raw_request.decoder(other.request.decode)
    within(lambda: expanded("translation", other.read(decode(texts).checked())[0]), DemurError)


MANY_ENDS = ("a. ", "A.", "Mr. ", "a@b.", "&amp;")
"""Texts of sentences of a few characters each, or of what might be some."""


@pytest.mark.parametrize(
    "text",
    [
        "a" * 100_000,
        "." * 100_000,
        "a. " * 33_000,
        "1) " * 33_000,
        "\n" * 100_000,
        " " * 100_000,
        "😀" * 100_000,
        "A." * 50_000,
        "http://" * 14_000,
        "<" * 100_000,
        "(" * 50_000 + ")" * 50_000,
        "'\"" * 50_000,
        "а́" * 50_000,
        "1,000." * 16_000,
        "Mr. " * 25_000,
        "\u200d\ufe0f" * 50_000,
        "a@b." * 25_000,
        "&amp;" * 20_000,
        "-" * 100_000,
    ],
    ids=lambda text: repr(text[:7]),
)
@pytest.mark.usefixtures("translator")
@pytest.mark.parametrize("characters", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_texts(text: str, characters: int) -> None:
    """As long as one call may bring: no expression goes back and forth over them.

    Usual are 25 µs a character of texts in which a sentence may end at every other, and 3 µs of the rest.
    """
    request = TranslationRequest((text[:characters],))
    seconds = characters * (500e-6 if text.startswith(MANY_ENDS) else 50e-6)
    within(lambda: expanded("translation", request), DemurError, seconds=seconds)


def test_files_that_unpack_without_end() -> None:
    bomb = gzip.compress(gzip.decompress(made.scan())[:352], mtime=0) + gzip.compress(bytes(1 << 27), 1, mtime=0)
    within(lambda: read(bomb), ValueError)
    head = zlib.decompress(made.rendered())[:128]
    within(lambda: maps.read_rendered(zlib.compress(head + bytes(1 << 26), 1), made.grid()), ValueError)
    members = gzip.compress(b"", mtime=0) * (BYTES // 20)
    within(lambda: read(members), ValueError)


def test_scenes() -> None:
    for body in (
        b"\x12\x00" * (BYTES // 2),  # steps of nobody
        b'{"id":"a","pastVehicleTracks":[' + b"{}," * (BYTES // 6) + b"{}]}",
        b'{"id":"' + b"a" * (BYTES // 2 - 40) + b'"}',
        b"{" * (BYTES // 2),
        b'{"a":' * (BYTES // 10),
        varint(3 << 3 | 2) + varint(BYTES - 10) + b"\x0a\x00" * (BYTES // 2 - 5),
    ):
        within(lambda body=body: scenes.parse(body), ValueError)  # type: ignore[misc]


@pytest.mark.parametrize(
    "line", ["<doc ", '<seg id="', "<seg id=1>", '<doc docid="', "<doc docid=  ", "</seg>", "<seg id=1></seg>", "&amp;"]
)
def test_lines_of_a_megabyte(line: str, tmp_path: Path) -> None:
    path = tmp_path / "a.sgm"
    path.write_text('<doc docid="a">\n' + line * ((1 << 20) // len(line) - 1) + "\n")
    within(lambda: official.segments(path), ValueError)


def test_segments_of_ledgers_and_sketches_claim_nothing(tmp_path: Path) -> None:
    for name in ("segments", "sketches"):
        decoder = TARGETS[name].opened(tmp_path / name)
        for sample in decoder.samples:
            within(lambda decoder=decoder, sample=sample: decoder.read(sample + b"[" * BYTES), *decoder.refusals)  # type: ignore[misc]


def within(call: Callable[[], object], *refusals: type[Exception], seconds: float = SECONDS) -> None:
    """Runs a call that may refuse, in bounded processor time."""
    start = time.process_time()
    with suppress(*refusals):
        call()
    took = time.process_time() - start
    assert took < seconds, f"{took:.1f} s"
