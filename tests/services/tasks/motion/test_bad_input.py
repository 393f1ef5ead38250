"""What is no request: refused alike on both protocols, in bounded memory and time, and nobody beside it is harmed."""

from __future__ import annotations

import asyncio
import io
import json
import math
import re
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import psutil
import pytest
from google.protobuf import json_format

from demur.v1 import motion_pb2
from models import npy_header
from models.artefact import Artefact
from models.tasks.motion.inference import scenes
from models.tasks.motion.inference.maps import encode_rendered
from tests.contract.serving import detail
from tests.models.motion import towns
from tests.services.tasks.motion.conftest import Json, serving
from tests.services.tasks.motion.streets import CONTENT, FAST, HIDDEN, SLOW, broken, rendered, street, tensor
from tests.work import lines, unpacked

SHAPE = (17, 32, 32)
SECONDS, MEGABYTES = 30.0, 160
"""Processor time and memory of one refusal; 0.2 s (10^5 objects, 257 maps) and a few MB are usual."""
MOST_BYTES = npy_header.LONGEST + 4 * math.prod(SHAPE)
"""Unpacked of one file."""


def npy(values: Any, *, allow_pickle: bool = False) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=allow_pickle)
    return zlib.compress(file.getvalue())


class Watched:
    """Processor time of something, s, and how much larger the process is meanwhile, bytes."""

    seconds = 0.0
    grown = 0

    def __enter__(self) -> Watched:
        self._process, self._ended = psutil.Process(), threading.Event()
        self._before = self._process.memory_info().rss
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        self._started = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self._started
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.005):
            self.grown = max(self.grown, self._process.memory_info().rss - self._before)


class Evil:
    """Would say so if anybody unpickled it."""

    def __reduce__(self) -> Any:
        return (pytest.fail, ("it was unpickled",))


def bomb(megabytes: int) -> bytes:
    """Zeros behind the header of a map."""
    start = zlib.decompress(npy(np.zeros(SHAPE, np.float32)))[:128]
    packer = zlib.compressobj(9)
    block = bytes(1 << 20)
    return b"".join([packer.compress(start), *(packer.compress(block) for _ in range(megabytes)), packer.flush()])


def crowd(objects: int) -> bytes:
    """So many vehicles in one step."""
    scene = street()
    now = scene.past_vehicle_tracks[-1]
    encoded = towns.vehicle(1, (1000.0, 2000.0)).SerializeToString()
    head = b"\x0a" + bytes([len(encoded)]) + encoded
    now.MergeFromString(head * objects)
    return scene.SerializeToString()


def past(steps: int) -> bytes:
    scene = street()
    while len(scene.past_vehicle_tracks) < steps:
        scene.past_vehicle_tracks.add()
    del scene.past_vehicle_tracks[steps:], scene.past_pedestrian_tracks[steps:], scene.traffic_lights[steps:]
    return scene.SerializeToString()


def nan_in_map() -> bytes:
    values = np.frombuffer(tensor(), "<f4")[: math.prod(SHAPE)].copy()
    values[5] = np.nan
    return values.tobytes()


def without_requests() -> bytes:
    scene = street()
    del scene.prediction_requests[:]
    return scene.SerializeToString()


def nameless() -> bytes:
    return street("").SerializeToString()


def lane_of_nan() -> bytes:
    scene = street()
    scene.path_graph.lanes[0].centers[0].x = float("inf")
    return scene.SerializeToString()


def never_seen() -> bytes:
    scene = street()
    del scene.prediction_requests[:]
    scene.prediction_requests.add(track_id=555)
    return scene.SerializeToString()


def requested_twice() -> bytes:
    scene = street()
    scene.prediction_requests.add(track_id=FAST)
    return scene.SerializeToString()


ONE = rendered()[0]
MAP = np.frombuffer(tensor(), "<f4").reshape(-1, *SHAPE)[0]
BAD: dict[str, tuple[str, Callable[[], Json]]] = {
    "an empty scene": ("missing", lambda: {"scene": b""}),
    "noise": ("not_a_scene", lambda: {"scene": bytes(range(1, 255))}),
    "a truncated protobuf": ("not_a_scene", lambda: {"scene": CONTENT[: len(CONTENT) // 2]}),
    "truncated JSON": ("not_json", lambda: {"scene": b'{"id": "street", "pastVehicleTracks": [{'}),
    "JSON of something else": ("not_a_scene", lambda: {"scene": b'{"pastVehicleTracks": 7}'}),
    "no id": ("no_id", lambda: {"scene": nameless()}),
    "no past": ("no_past", lambda: {"scene": past(0)}),
    "26 steps": ("steps", lambda: {"scene": past(26)}),
    "no requests": ("no_requests", lambda: {"scene": without_requests()}),
    "a request that was never seen": ("no_past_state", lambda: {"scene": never_seen()}),
    "a request twice": ("duplicate", lambda: {"scene": requested_twice()}),
    "an unknown track": ("unknown_track", lambda: {"scene": CONTENT, "track_ids": [FAST, 555]}),
    "a track twice": ("duplicate", lambda: {"scene": CONTENT, "track_ids": [FAST, SLOW, FAST]}),
    "257 tracks": ("too_many", lambda: {"scene": CONTENT, "track_ids": list(range(257))}),
    "NaN positions": ("not_finite", lambda: {"scene": broken(FAST, SLOW, HIDDEN)}),
    "a lane at infinity": ("not_finite", lambda: {"scene": lane_of_nan()}),
    "10^5 objects": ("too_many", lambda: {"scene": crowd(100_000)}),
    "no maps": ("size", lambda: {"tensor": b""}),
    "half a map": ("size", lambda: {"tensor": tensor()[:-4]}),
    "NaN in a map": ("not_finite", lambda: {"tensor": nan_in_map()}),
    "an empty map": ("empty", lambda: {"tensor": bytes(4 * 17 * 32 * 32)}),
    "257 maps": ("too_many", lambda: {"tensor": MAP[:, ::1].tobytes() * 257}),
    "agents of fewer maps": ("unequal_lengths", lambda: {"tensor": tensor(), "agents": [{"track_id": 1}]}),
    "an agent nowhere": (
        "out_of_range",
        lambda: {"tensor": MAP.tobytes(), "agents": [{"pose": {"x": 1e9, "y": 0.0, "yaw": 0.0}}]},
    ),
    "no files": ("missing", lambda: {"rendered": []}),
    "a map that is not compressed": ("not_zlib", lambda: {"rendered": [zlib.decompress(ONE)]}),
    "what is no NPY": ("not_npy", lambda: {"rendered": [zlib.compress(b"hello" * 1000)]}),
    "an NPY that would unpickle": (
        "would_unpickle",
        lambda: {"rendered": [npy(np.array([Evil()]), allow_pickle=True)]},
    ),
    "a map of 16 channels": ("channels", lambda: {"rendered": [npy(MAP[:16])]}),
    "a map of another grid": ("grid", lambda: {"rendered": [npy(np.ones((17, 400, 400), np.float32))]}),
    "a map of doubles": ("dtype", lambda: {"rendered": [npy(MAP.astype(np.float64))]}),
    "a truncated map": ("truncated", lambda: {"rendered": [ONE[:-100]]}),
    "two maps in a file": ("trailing_bytes", lambda: {"rendered": [ONE + ONE]}),
    "a zlib bomb": ("trailing_bytes", lambda: {"rendered": [bomb(1 << 10)]}),
    "tracks of maps": ("unknown_field", lambda: {"rendered": [ONE], "track_ids": [FAST]}),
}
"""The code and the body, made when it is asked for: some are large."""


@pytest.mark.parametrize("name", BAD)
async def test_what_is_no_request_is_refused_in_words(three: Artefact, name: str) -> None:
    code, make = BAD[name]
    body = make()
    async with serving(three, max_message_bytes=64 << 20) as served:
        watched = Watched()
        with unpacked() as tally:
            error = await served.refusal(during=watched, **body)
        assert not served.assembled.scheduler.active
    assert error["code"] == code
    assert error["field"]
    assert len(error["message"]) > 20
    assert "Traceback" not in error["message"]
    assert tally.nbytes <= 2 * MOST_BYTES, "once a protocol"
    assert watched.seconds < SECONDS
    assert watched.grown < MEGABYTES << 20, f"{watched.grown >> 20} MiB for a refusal"


@pytest.mark.parametrize("form", ["rendered", "tensor"])
async def test_a_bad_map_harms_no_other_of_its_call(three: Artefact, form: str) -> None:
    empty = np.zeros(SHAPE, np.float32)
    files = {"rendered": [ONE, encode_rendered(empty), ONE], "tensor": np.stack([MAP, empty, MAP]).tobytes()}
    async with serving(three) as served:
        (alone,) = (await served.answer(rendered=[ONE]))["answers"]
        both = await served.answer(**{form: files[form]})
    (failure,) = both["failures"]
    assert (failure["item"], failure["error"]["code"], failure["error"]["field"]) == (1, "empty", form)
    assert [entry["item"] for entry in both["answers"]] == [0, 2]
    for answer in both["answers"]:
        assert answer | {"prediction_id": "", "item": 0} == alone | {"prediction_id": ""}


@pytest.mark.long
async def test_neighbours_of_bad_requests_are_answered_as_if_alone(three: Artefact) -> None:
    async with serving(three, max_message_bytes=64 << 20) as served:
        alone = await served.answer(scene=CONTENT)
        bad = [served.refusal(**make()) for _, make in BAD.values()]
        good = [served.answer(scene=CONTENT) for _ in range(5)]
        answers, _ = await asyncio.gather(asyncio.gather(*good), asyncio.gather(*bad))
    for answer in answers:
        for actual, other in zip(answer["answers"], alone["answers"], strict=True):
            assert actual | {"prediction_id": ""} == other | {"prediction_id": ""}


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({}, "missing", "scene"),
        ({"scene": CONTENT, "tensor": tensor()}, "two_inputs", "tensor"),
        ({"scene": CONTENT, "agents": [{}]}, "unknown_field", "agents"),
        ({"scene": "no base64!"}, "not_a_body", "scene"),
        ({"scene": 7}, "not_a_scene", "scene"),
        ({"scene": CONTENT, "track_ids": ["seven"]}, "not_a_number", "track_ids"),
        ({"scene": CONTENT, "track_ids": [-1]}, "not_a_number", "track_ids"),
        ({"scene": CONTENT, "track_ids": [2**64]}, "not_a_number", "track_ids"),
        ({"scene": CONTENT, "track_ids": [1.5]}, "not_a_number", "track_ids"),
        ({"scene": CONTENT, "tracks": [7]}, "not_a_body", ""),
        ({"scene": CONTENT, "purpose": "fun"}, "unknown_purpose", "purpose"),
        ({"tensor": tensor(), "agents": [{"pose": {"x": 1.0}}]}, "not_a_body", ""),
    ],
)
async def test_bodies_that_are_none_are_refused(three: Artefact, body: Json, code: str, field: str) -> None:
    async with serving(three) as served:
        response = await served.post(body)
    assert response.status_code == 422, response.text
    error = response.json()["error"]
    assert (error["code"], error.get("field", "")) == (code, field)


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"tensor": b""}, "size", "tensor"),
        ({"scene": CONTENT, "rendered": ONE}, "two_inputs", "rendered"),
        ({"scene": CONTENT, "scene_id": "x"}, "unknown_field", "agents"),
        ({"scene": CONTENT, "track_ids": "7, x"}, "not_a_number", "track_ids"),
        ({"scene": CONTENT, "track_ids": "1" * 5000}, "not_a_number", "track_ids"),
        ({"scene": CONTENT, "submission": "maybe"}, "not_a_number", "submission"),
        ({"rendered": ONE, "pose": "1, 2"}, "not_a_number", "pose"),
        ({"rendered": ONE, "pose": "1, 2, east"}, "not_a_number", "pose"),
        ({"rendered": ONE, "pose": "nan, 2, 0"}, "not_finite", "pose.x"),
        ({"rendered": ONE, "tracks": "7"}, "unknown_field", "tracks"),
    ],
)
async def test_forms_that_are_none_are_refused(three: Artefact, fields: Json, code: str, field: str) -> None:
    async with serving(three) as served:
        response = await served.form(**({"purpose": "decide"} | fields))
    assert response.status_code == 422, response.text
    error = response.json()["error"]
    assert (error["code"], error["field"]) == (code, field)


async def test_messages_without_input_are_refused(three: Artefact) -> None:
    async with serving(three) as served:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await served.stub.Predict(motion_pb2.MotionPredictRequest(track_ids=[7]))
        assert (detail(caught.value)["code"], detail(caught.value)["field"]) == ("missing", "scene")


@pytest.mark.parametrize(
    ("frames", "code"),
    [(({"begin": {}}, {"begin": {}}), "begun_twice"), (({},), "empty_frame")],
)
async def test_frames_out_of_order_end_a_stream_in_words(three: Artefact, frames: Any, code: str) -> None:
    async with serving(three) as served:
        assert (await served.stream_refusal(frames))["code"] == code


def of_walkers(walkers: int) -> Json:
    """A scene with so many pedestrians in each step, in its JSON form."""
    scene = street()
    for number in range(walkers):
        towns.walk(scene, number, (1000.0, 2000.0), (0.0, 0.0))
    return json_format.MessageToDict(scene)


async def test_a_scene_of_much_json_is_refused_while_others_are_answered(
    three: Artefact, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not read before another call was answered; on the event loop it would keep that one from its answer."""
    begun, answered = threading.Event(), threading.Event()
    parse = scenes.parse

    def held(content: bytes) -> scenes.Scene:
        if content[:1] == b"{":
            begun.set()
            assert answered.wait(60), "nobody was answered meanwhile"
        return parse(content)

    async with serving(three, max_message_bytes=64 << 20) as served:
        monkeypatch.setattr(scenes, "parse", held)
        waiting = asyncio.create_task(served.post({"scene": of_walkers(10_000)}))
        assert await asyncio.to_thread(begun.wait, 60)
        await served.answer(scene=CONTENT)
        answered.set()
        response = await waiting
    assert (response.status_code, response.json()["error"]["code"]) == (413, "too_many")


def test_json_is_read_in_work_that_grows_with_its_length() -> None:
    few, many = (json.dumps(of_walkers(walkers)).encode() for walkers in (250, 1000))
    assert lines(lambda: scenes.parse(many)) < 4.5 * lines(lambda: scenes.parse(few))


def test_every_code_is_listed_in_the_contract() -> None:
    contract = (Path(__file__).resolve().parents[4] / "proto" / "demur" / "v1" / "common.proto").read_text()
    listed = set(re.findall(r"\w+", contract))
    assert {code for code, _ in BAD.values()} | {"two_inputs", "unseen", "long_id"} <= listed
