"""Requests by task, good and bad ones: JSON bodies, forms, protobuf messages and OIP inputs."""

import base64
from typing import Any

from demur.v1 import common_pb2, lesion_pb2, motion_pb2, translation_pb2, vessel_pb2
from services.transport.oip.protocol import oip_pb2

_B64 = base64.b64encode(b"file").decode()
_POSE = {"x": 1, "y": 2.5, "yaw": 0}
BODIES: dict[str, tuple[Any, ...]] = {
    "motion": (
        {"scene": {"id": "a"}, "track_ids": [1, 2.0, "18446744073709551615"], "submission": True},
        {"scene": _B64, "purpose": "explore", "defer_above": 1.5},
        {"tensor": _B64, "agents": [{"scene_id": "s", "track_id": "4", "pose": _POSE}, {}]},
        {"rendered": [_B64, _B64]},
        {"rendered": [_B64], "track_ids": [1]},
        {"scene": _B64, "agents": [{}]},
        {"scene": _B64, "tensor": _B64},
        {"scene": None},
        {"scene": "%"},
        {"scene": {}, "track_ids": [-1]},
        {"scene": {}, "track_ids": [1.5]},
        {"tensor": _B64, "agents": [{"pose": {"x": 1}}]},
        {"tensor": _B64, "purpose": "no"},
        {"tensor": 1},
        {"no": 1},
    ),
    "lesion": (
        {"flair": _B64},
        {"flair": _B64, "t1": _B64, "brain_mask": _B64, "maps": ["mask", "rmi"], "name": "n", "purpose": "replay"},
        {"flair": _B64, "maps": ["no"]},
        {"flair": "%"},
        {},
        {"flair": _B64, "defer_above": "1"},
    ),
    "translation": (
        {"text": "a"},
        {"texts": ["a", "b"], "tokens": "all", "purpose": "explore", "defer_above": 0.5},
        {"text": "a", "texts": ["b"]},
        {},
        {"text": "a", "tokens": "no"},
        {"texts": "a"},
        {"text": "a", "text ": 1},
    ),
    "vessel": (
        {"columns": {"stw": [1, None]}, "units": {"stw": "kn"}, "purpose": "explore", "members": True},
        {"rows": [{"stw": 1.5}], "defer_above": {"power": 2}},
        {"rows": [], "columns": {}},
        {"rows": [{"stw": "x"}]},
        {"rows": [{"stw": 1}], "defer_above": 3, "purpose": "no"},
        {"matrix": {"columns": ["stw", "draft_aft_telegram"], "values": [1.5, 2, None, 4]}, "purpose": "explore"},
        {"matrix": {"columns": ["stw", "draft_aft_telegram"], "values": [1.5, 2, 3]}},
        {"no": 1},
        {"rows": [{"stw": 1.5}], "intervals": True},
        {"rows": [{"stw": 1.5}], "intervals": 1},
    ),
    "weather": ({"rows": [{"climate": "dry", "gfs_precipitations": 1}], "defer_above": 1},),
}
FORMS: dict[str, tuple[dict[str, bytes], ...]] = {
    "motion": (
        {"scene": b"s", "track_ids": b"1, 2,", "purpose": b"explore", "defer_above": b"1.5", "submission": b"true"},
        {"rendered": b"r", "scene_id": b"s", "track_id": b"4", "pose": b"1, 2, 0.5"},
        {"tensor": b"t"},
        {"tensor": b"t", "pose": b"1,2"},
        {"tensor": b"t", "pose": b"1,2,x"},
        {"scene": b"s", "submission": b"perhaps"},
        {"scene": b"s", "defer_above": b"x"},
        {"scene": b"s", "track_id": b"x"},
        {"scene": b"s", "track_ids": b"\xff"},
        {},
    ),
    "lesion": (
        {"flair": b"f", "maps": b"mask, rmi,", "name": b"n", "purpose": b"decide", "defer_above": b"2"},
        {"flair": b"f", "t1": b"t", "brain_mask": b"b"},
        {"flair": b"f", "maps": b"no"},
        {"flair": b"f", "defer_above": b"x"},
    ),
}
_AGENT = motion_pb2.MotionAgent(scene_id="s", track_id=4, pose=motion_pb2.MotionPose(x=1, y=2, yaw=3))
MESSAGES: dict[str, tuple[Any, ...]] = {
    "motion": (
        motion_pb2.MotionPredictRequest(scene=b"s", track_ids=[1], purpose=2, defer_above=1.5, submission=True),
        motion_pb2.MotionPredictRequest(tensor=motion_pb2.MotionTensor(values=b"v", agents=[_AGENT]), plain=True),
        motion_pb2.MotionPredictRequest(rendered=motion_pb2.MotionRendered(files=[b"f"]), track_ids=[1]),
        motion_pb2.MotionPredictRequest(),
    ),
    "lesion": (
        lesion_pb2.LesionPredictRequest(flair=b"f", t1=b"t", maps=[1, 6], name="n", plain=True, encoding=2),
        lesion_pb2.LesionPredictRequest(flair=b"f", maps=[99]),
        lesion_pb2.LesionPredictRequest(flair=b"f", encoding=99, purpose=9),
    ),
    "translation": (
        translation_pb2.TranslationPredictRequest(texts=["a"], tokens=3, purpose=1, defer_above=0.5, plain=True),
        translation_pb2.TranslationPredictRequest(texts=["a"], tokens=9),
    ),
    "vessel": (
        vessel_pb2.VesselPredictRequest(
            rows=common_pb2.Rows(packed=common_pb2.PackedRows(row_count=1, values=b"\0" * 40, schema_hash="h")),
            defer_above_by_head={"power": 1.5},
            members=True,
        ),
        vessel_pb2.VesselPredictRequest(defer_above=1.5, defer_above_by_head={"power": 1.5}),
        vessel_pb2.VesselPredictRequest(
            rows=common_pb2.Rows(packed=common_pb2.PackedRows(row_count=0)), intervals=True, known_intervals=7
        ),
    ),
}


def _tensor(name: str, datatype: str, shape: list[int], **contents: Any) -> Any:
    tensor = oip_pb2.ModelInferRequest.InferInputTensor(name=name, datatype=datatype, shape=shape)
    tensor.contents.CopyFrom(oip_pb2.InferTensorContents(**contents))
    return tensor


def _bytes(name: str, *values: bytes) -> Any:
    return _tensor(name, "BYTES", [len(values)], bytes_contents=values)


_WANTED = oip_pb2.ModelInferRequest.InferRequestedOutputTensor
_TRACKS = _tensor("track_ids", "INT64", [2], int64_contents=[3, 4])
INPUTS: dict[str, tuple[dict[str, Any], ...]] = {
    "motion": (
        {"inputs": [_bytes("scene", b"s"), _TRACKS], "outputs": [_WANTED(name="submission")]},
        {
            "inputs": [
                _bytes("rendered", b"r", b"q"),
                _TRACKS,
                _bytes("scene_ids", b"a", b"b"),
                _tensor("poses", "FP64", [2, 3], fp64_contents=[1, 2, 3, *[float("nan")] * 3]),
            ]
        },
        {"inputs": [_bytes("rendered", b"r"), _TRACKS]},
        {"inputs": [_bytes("scene", b"s"), _bytes("scene_ids", b"a")]},
        {"inputs": [_bytes("rendered", b"r"), _bytes("scene_ids", b"\xff")]},
        {"inputs": [_bytes("scene", b"s"), _bytes("rendered", b"r")]},
        {"inputs": [_TRACKS]},
        {"inputs": [_bytes("scene", b"s"), _tensor("track_ids", "INT64", [1], int64_contents=[-3])]},
    ),
    "lesion": (
        {"inputs": [_bytes("flair", b"f"), _bytes("t1", b"t")], "outputs": [_WANTED(name="rmi_map")]},
        {"inputs": [_bytes("flair", b"f")]},
        {"inputs": [_bytes("t1", b"f")]},
    ),
    "translation": ({"inputs": [_bytes("text", b"a", b"b")]}, {"inputs": [_bytes("text", b"\xff")]}),
    "vessel": (
        {
            "inputs": [_tensor("stw", "FP64", [1], fp64_contents=[1.5])],
            "outputs": [_WANTED(name="member_means"), _WANTED(name="shifted_inputs")],
        },
        {"inputs": []},
        {"inputs": [_tensor("rows", "FP32", [1, 10], fp32_contents=[1.0] * 10)]},
        {
            "inputs": [
                _tensor("rows", "FP32", [1, 10], fp32_contents=[1.0] * 10),
                _tensor("stw", "FP64", [1], fp64_contents=[1.5]),
            ]
        },
    ),
}
