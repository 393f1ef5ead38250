"""Request to each task's service, as bytes that both protocols take."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import wire
from benchmarks.connections import Plan, Protocol
from benchmarks.inputs import SERVED, artefact, rows
from benchmarks.service import Service
from demur.v1 import lesion_pb2, motion_pb2, translation_pb2

TASKS = ("vessel", "weather", "motion", "translation", "lesion")
SENTENCE = (
    "The ferry leaves the harbour at noon, and the captain expects a calm crossing with light winds from the west."
)


@dataclass(frozen=True)
class Question:
    """Request message of a task, with its number of units."""

    task: str
    message: bytes
    units: int
    """Number of units decided in the answer."""
    name: str
    """Name in tables."""

    def plan(self, service: Service, protocol: Protocol, seconds: float, **wishes: float) -> Plan:
        """Return a load of this request; see ``Plan`` for wishes."""
        grpc = protocol == "grpc"
        port, path = (service.grpc_port, wire.predict(self.task)) if grpc else (service.http_port, "/v1/predict")
        return Plan(protocol, port, path, self.message, seconds, **wishes)  # type: ignore[arg-type]


def question(task: str, count: int = 1) -> Question:
    """Return a request about one row (or ``count``), one vehicle of a simulated scene, one sentence, or one scan."""
    if task in SERVED:
        source = artefact(task)
        heads = len(source.manifest.heads)
        message = wire.protobuf_body(task, source.schema, rows(source, count))
        return Question(task, message, count * heads, f"{task}, {count} row{'s' * (count > 1)}")
    make = {"motion": _scene, "translation": _sentence, "lesion": _scan}[task]
    return make()


def scene_of(requests: int, name: str) -> Any:
    """Return a simulated scene of a dense city with this number of requests, the first of a hundred tries."""
    from simulators.motion.cities import CITIES
    from simulators.motion.drivers import NONE
    from simulators.motion.scene import simulate

    for seed in range(100):
        scene = simulate(np.random.default_rng(seed), CITIES["TelAviv"], NONE, name.format(seed=seed), requests)
        if len(scene.prediction_requests) == requests:
            break
    return scene


def _scene() -> Question:
    message = motion_pb2.MotionPredictRequest(scene=scene_of(1, "capacity").SerializeToString())
    return Question("motion", message.SerializeToString(), 1, "motion, one vehicle of a scene")


def _sentence() -> Question:
    message = translation_pb2.TranslationPredictRequest(texts=[SENTENCE])
    words = len(SENTENCE.split())
    return Question("translation", message.SerializeToString(), 1, f"translation, a sentence of {words} words")


def _scan() -> Question:
    from models.imaging import nifti
    from simulators.lesion import template
    from simulators.lesion.scan import draw
    from simulators.lesion.sites import SITES

    flair = draw(np.random.default_rng(0), template.load(), SITES["site_a"]).flair
    message = lesion_pb2.LesionPredictRequest(flair=nifti.write(flair, np.diag([1.0, 1.0, 1.0, 1.0])))
    size = " x ".join(map(str, flair.shape))
    return Question("lesion", message.SerializeToString(), 1, f"lesion, a scan of {size} voxels")
