"""The Open Inference Protocol: bodies with and without binary contents, and messages, up to the units."""

import random
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry

from services.request.metrics import Metrics
from services.runtime.errors import DemurError
from services.transport.binding import message_of
from services.transport.oip import bodies
from services.transport.oip import messages as words
from services.transport.oip.datatypes import to_raw
from services.transport.oip.model import OipModel
from services.transport.oip.protocol import oip_pb2
from tests.fuzz import made, raw, trees, wire
from tests.fuzz.target import Decoder, Target
from tests.fuzz.targets.requests import answerable, decoder, expanded
from tests.fuzz.tenants import row, tenant, text

Inputs = dict[str, tuple[str, np.ndarray[Any, Any]]]
"""Name to datatype and elements."""


@cache
def model(task: str) -> OipModel:
    """A tenant over the protocol."""
    return OipModel(tenant(task), Metrics(task, CollectorRegistry()), lambda: True)


def json_bodies(task: str) -> Target:
    """Bodies of JSON alone."""

    def opened(folder: Path) -> Decoder:
        def read(case: bytes) -> None:
            _ask(task, bodies.question(case, None)[0])

        return Decoder([text(body) for body in _json(task)], answerable(read), (DemurError,), trees.mutated)

    return Target(_CASES["json"][task], opened)


def binary_bodies(task: str) -> Target:
    """Bodies whose contents stand behind the JSON: a case begins with the length of that, as a header tells it."""

    def opened(folder: Path) -> Decoder:
        def read(case: bytes) -> None:
            _ask(task, bodies.question(case[4:], int.from_bytes(case[:4], "little"))[0])

        def make(rng: random.Random, sample: bytes) -> bytes:
            size = int.from_bytes(sample[:4], "little")
            head, rest = sample[4 : 4 + size], sample[4 + size :]
            if rng.random() < 0.7:
                head = trees.mutated(rng, head)
            if rng.random() < 0.5:
                rest = raw.mutated(rng, rest)
            length = len(head) if rng.random() < 0.9 else rng.choice((0, 1, len(head) - 1, len(head) + 1, 2**31))
            return struct.pack("<I", max(length, 0)) + head + rest

        return Decoder([_binary(inputs) for inputs in _inputs(task)], answerable(read), (DemurError,), make)

    return Target(_CASES["binary"][task], opened)


def requests(task: str) -> Target:
    """Messages of ModelInfer, with raw and with typed contents."""

    def opened(folder: Path) -> Decoder:
        receive = decoder(message_of(oip_pb2.ModelInferRequest))

        def read(case: bytes) -> None:
            _ask(task, words.question(receive(case)))

        samples = [_message(task, inputs) for inputs in _inputs(task)] + [
            _typed(task, inputs) for inputs in _inputs(task)
        ]
        return Decoder(samples, answerable(read), (DemurError,), wire.mutated)

    return Target(_CASES["message"][task], opened)


def _ask(task: str, question: Any) -> None:
    query = model(task).read(question)
    assert query.output_names <= {spec.name for spec in model(task).binding.outputs}
    expanded(task, query.request)


@cache
def _inputs(task: str) -> tuple[Inputs, ...]:
    def files(*contents: bytes) -> tuple[str, np.ndarray[Any, Any]]:
        return "BYTES", np.array(contents, object)

    if task in ("vessel", "weather"):
        values = row(task)
        packed = np.array([list(values.values())] * 2, np.float32)
        return {"rows": ("FP32", packed)}, {name: ("FP64", np.array([value, value])) for name, value in values.items()}
    if task == "motion":
        tracks = {"track_ids": ("UINT64", np.array([1, 2], np.uint64))}
        return (
            {"scene": files(made.scene().SerializeToString())} | tracks,
            {"rendered": files(made.rendered()), "scene_ids": files(b"a")},
        )
    if task == "lesion":
        return {"flair": files(made.scan())}, {"flair": files(made.scan()), "brain_mask": files(made.scan(mask=True))}
    return ({"text": files(*made.TEXTS)},)


def _json(task: str) -> list[dict[str, Any]]:
    samples = []
    for tensors in _inputs(task):
        inputs = [
            {"name": name, "datatype": kind, "shape": list(array.shape), "data": _plain(array)}
            for name, (kind, array) in tensors.items()
        ]
        wishes = {"purpose": "explore", "timeout": 1_000_000}
        output = model(task).binding.outputs[0].name
        samples += [
            {"inputs": inputs},
            {"id": "a", "inputs": inputs, "parameters": wishes, "outputs": [{"name": output}]},
        ]
    return samples


def _plain(array: np.ndarray[Any, Any]) -> list[Any]:
    flat = array.reshape(-1).tolist()
    return [value.decode("latin-1") if isinstance(value, bytes) else value for value in flat]


def _binary(inputs: Inputs) -> bytes:
    contents = {name: to_raw(array) for name, (_, array) in inputs.items()}
    head = text(
        {
            "inputs": [
                {
                    "name": name,
                    "datatype": kind,
                    "shape": list(array.shape),
                    "parameters": {"binary_data_size": len(contents[name])},
                }
                for name, (kind, array) in inputs.items()
            ],
            "parameters": {"binary_data_output": True},
        }
    )
    return struct.pack("<I", len(head)) + head + b"".join(contents.values())


def _message(task: str, inputs: Inputs) -> bytes:
    request = oip_pb2.ModelInferRequest(model_name=task, id="a")
    request.parameters["purpose"].string_param = "explore"
    for name, (kind, array) in inputs.items():
        request.inputs.add(name=name, datatype=kind, shape=array.shape)
        request.raw_input_contents.append(to_raw(array))
    return request.SerializeToString()


_FIELDS = {"BYTES": "bytes_contents", "FP32": "fp32_contents", "FP64": "fp64_contents", "UINT64": "uint64_contents"}


def _typed(task: str, inputs: Inputs) -> bytes:
    request = oip_pb2.ModelInferRequest(model_name=task)
    for name, (kind, array) in inputs.items():
        tensor = request.inputs.add(name=name, datatype=kind, shape=array.shape)
        getattr(tensor.contents, _FIELDS[kind]).extend(array.reshape(-1).tolist())
    return request.SerializeToString()


_CASES: dict[str, dict[str, int]] = {
    "json": {"vessel": 4_000, "weather": 500, "motion": 500, "lesion": 500, "translation": 1_000},
    "binary": {"vessel": 3_000, "weather": 500, "motion": 500, "lesion": 700, "translation": 1_500},
    "message": {"vessel": 4_000, "weather": 500, "motion": 500, "lesion": 700, "translation": 1_500},
}
_OF: dict[str, Callable[[str], Target]] = {"json": json_bodies, "binary": binary_bodies, "message": requests}
TARGETS: dict[str, Target] = {f"oip-{kind}-{task}": _OF[kind](task) for kind in _OF for task in _CASES[kind]}
