"""A small motion service that keeps the contract, on a real socket: five plans of constant velocity, so known."""

import math
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc
import numpy as np
from google.protobuf.message import DecodeError

from demur.v1 import common_pb2 as common
from demur.v1 import motion_pb2 as wire
from demur.v1.motion_pb2_grpc import MotionServiceServicer, add_MotionServiceServicer_to_server
from models.tasks.motion.protocol.motion_pb2 import ObjectPrediction, Scene, Submission
from tests.clients.ahead import Ahead
from tests.clients.stand_in import PROFILE, Refused, UnitStandIn, refuse
from tests.models.motion import towns

STEPS = 25
YAW = 0.5
SPEEDS = np.array([1.0, 0.8, 1.2, 0.5, 1.5], np.float32)
SCORES = np.array([20.0, 19.0, 18.5, 15.0, 12.0], np.float32)
SIZE = 8
"""Cells a side of its maps."""


def confidences() -> np.ndarray:
    weights = np.exp(SCORES - SCORES.max())
    return (weights / weights.sum()).astype(np.float32)


def plans(speed: float) -> np.ndarray:
    """What a vehicle of this speed is said to do, [5, 25, 2] in its frame, m."""
    times = 0.2 * np.arange(1, STEPS + 1, dtype=np.float32)
    ahead = SPEEDS[:, None] * np.float32(speed) * times
    return np.stack([ahead, np.zeros_like(ahead)], axis=-1)


def scene(name: str = "s", tracks: Sequence[int] = (7, 9), *, speed: float = 10.0, future: bool = True) -> Scene:
    """A scene of cars beside each other that drive on as they did, each at half the speed of the one before."""
    message = towns.empty(name)
    steps = [message.future_vehicle_tracks.add() for _ in range(STEPS if future else 0)]
    for place, track in enumerate(tracks):
        own, x, y = speed / 2**place, 1000.0, -500.0 + 5 * place
        towns.drive(message, track, (x, y), YAW, own)
        for number, step in enumerate(steps, 1):
            away = 0.2 * number * own
            ahead = x + away * math.cos(YAW), y + away * math.sin(YAW)
            step.tracks.append(towns.vehicle(track, ahead, YAW, own))
        message.prediction_requests.add(track_id=track)
    return message


def map_file(value: float = 1.0) -> bytes:
    """What this service takes for a prerendered map; its first number is the speed of the vehicle, m/s."""
    return zlib.compress(np.full((17, SIZE, SIZE), value, "<f4").tobytes())


@dataclass
class MotionStandIn(UnitStandIn, MotionServiceServicer):
    """The service, with what a test wants to see of it and do to it."""

    register = staticmethod(add_MotionServiceServicer_to_server)
    task, epoch, threshold = "motion", 0xD0, 10.0
    head = common.HeadSpec(name="trajectories", kind="trajectories", unit="m", measure="request_uncertainty")
    singular: bool = False
    """A single model: no data and knowledge spread."""
    spoilt: set[int] = field(default_factory=set)
    """Tracks that cannot be predicted."""
    answered: int = 0
    """Requests so far."""

    def Predict(self, request, context):
        self.fail(context)
        time.sleep(self.seconds)
        try:
            return self.answer(request, request)
        except Refused as error:
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, error.detail)

    def PredictStream(self, requests, context):
        begin = self.begun(requests, context)
        yield wire.MotionStreamResponse(accepted=self.accepted())
        ahead = Ahead(requests, self.unanswered)
        for chunk in ahead:
            time.sleep(self.seconds)
            try:
                answer = self.answer(chunk.request, begin)
                for failure in answer.failures:  # told as it happens, and again in the result
                    error = common.ItemError(sequence=chunk.sequence, item=failure.item, error=failure.error)
                    yield wire.MotionStreamResponse(error=error)
                response = wire.MotionStreamResponse(result=wire.MotionResult(sequence=chunk.sequence, answer=answer))
            except Refused as error:
                refusal = common.ItemError(sequence=chunk.sequence, error=error.detail)
                response = wire.MotionStreamResponse(error=refusal)
            yield wire.MotionStreamResponse(progress=common.StreamProgress(chunks_done=ahead.done))
            ahead.done += 1
            yield response

    def answer(self, request: wire.MotionPredictRequest, manner: Any) -> wire.MotionPredictResponse:
        self.requests.append(request)
        kind = request.WhichOneof("input")
        response = wire.MotionPredictResponse(model="motion:1", profile=PROFILE)
        speeds = self._of_scene(request, response) if kind == "scene" else self._of_maps(getattr(request, kind))
        for item, (agent, speed, unseen) in enumerate(speeds):
            if agent.track_id in self.spoilt:
                error = common.ErrorDetail(
                    code="not_finite", message="position.x is nan m", field="position.x", index=-1
                )
                response.failures.add(item=item, track_id=agent.track_id, error=error)
                continue
            response.answers.append(self._one(item, agent, speed, unseen, manner))
        if response.failures and not response.answers:
            raise Refused("not_finite", "position.x is nan m", "position.x")
        if request.submission:
            response.submission = submission(response.answers).SerializeToString()
        return response

    def _of_scene(self, request: Any, response: Any) -> list[tuple[wire.MotionAgent, float, float | None]]:
        message = Scene()
        try:
            message.ParseFromString(request.scene)
        except DecodeError:
            raise Refused("not_a_scene", "scene is no Scene of the Shifts motion data", "scene") from None
        response.scene_id = message.id
        tracks = list(request.track_ids) or [requested.track_id for requested in message.prediction_requests]
        agents: list[tuple[wire.MotionAgent, float, float | None]] = []
        for place, track in enumerate(tracks):
            seen = [
                (back, car)
                for back, step in enumerate(reversed(message.past_vehicle_tracks))
                for car in step.tracks
                if car.track_id == track
            ]
            if not seen:
                raise Refused("unknown_track", f"track {track} is not in the scene", "track_ids", str(track), place)
            back, car = seen[0]
            pose = wire.MotionPose(x=car.position.x, y=car.position.y, yaw=car.yaw)
            agent = wire.MotionAgent(scene_id=message.id, track_id=track, pose=pose)
            speed = math.hypot(car.linear_velocity.x, car.linear_velocity.y)
            agents.append((agent, speed, 0.2 * back if back else None))
        return agents

    def _of_maps(self, message: Any) -> list[tuple[wire.MotionAgent, float, float | None]]:
        if isinstance(message, wire.MotionRendered):
            try:
                values = b"".join(map(zlib.decompress, message.files))
            except zlib.error:
                raise Refused("not_a_map", "files[0] is no compressed map", "rendered.files", index=0) from None
        else:
            values = message.values
        maps = np.frombuffer(values, "<f4").reshape(-1, 17, SIZE, SIZE)
        agents = list(message.agents) or [wire.MotionAgent()] * len(maps)
        return [(agent, float(feature_map[0, 0, 0]), None) for agent, feature_map in zip(agents, maps, strict=True)]

    def _one(
        self, item: int, agent: wire.MotionAgent, speed: float, unseen: float | None, manner: Any
    ) -> wire.MotionAnswer:
        """Every other request is too uncertain, and says so."""
        number, self.answered = self.answered, self.answered + 1
        uncertainty = np.float32(5.0 + 10.0 * (number % 2))
        deferral = self.deferral(number, uncertainty, common.SHIFT_OUTSIDE_TRAINING_RANGE, manner)
        answer = wire.MotionAnswer(
            item=item,
            agent=agent,
            recorded=manner.purpose != common.PURPOSE_EXPLORE,
            deferral=deferral,
            unseen_seconds=unseen,
        )
        if number % 2:
            answer.remarks.add(code="fast", message="speed is 50 m/s", value=50, unit="m/s", lower=0, upper=20)
        if self.withheld(deferral):
            return answer
        trajectories = plans(speed)
        answer.modes, answer.steps = trajectories.shape[:2]
        answer.trajectories = trajectories.astype("<f4").tobytes()
        if agent.HasField("pose"):
            answer.scene_trajectories = placed(trajectories, agent.pose).astype("<f8").tobytes()
        answer.confidences, answer.scores = confidences().tobytes(), SCORES.tobytes()
        total = (0.1 * np.arange(1, STEPS + 1)).astype("<f4")
        answer.total = total.tobytes()
        if not self.singular:
            answer.data, answer.knowledge = (total * np.float32(0.75)).tobytes(), (total * np.float32(0.25)).tobytes()
        return answer


def placed(points: np.ndarray, pose: wire.MotionPose) -> np.ndarray:
    """Points of an agent's frame in the scene's."""
    cos, sin = math.cos(pose.yaw), math.sin(pose.yaw)
    x, y = points[..., 0].astype(float), points[..., 1].astype(float)
    return np.stack([pose.x + cos * x - sin * y, pose.y + sin * x + cos * y], axis=-1)


def submission(answers: Sequence[wire.MotionAnswer]) -> Submission:
    """Of answers that are not withheld, mode by mode."""
    message = Submission()
    for answer in answers:
        if not answer.modes:
            continue
        prediction = ObjectPrediction(track_id=answer.agent.track_id, scene_id=answer.agent.scene_id)
        prediction.uncertainty_measure = float(np.frombuffer(answer.deferral.uncertainty, "<f4")[0])
        prediction.is_ood = answer.deferral.shifts != b"\x00"
        trajectories = np.frombuffer(answer.trajectories, "<f4").reshape(answer.modes, answer.steps, 2)
        for plan, weight in zip(trajectories, np.frombuffer(answer.confidences, "<f4"), strict=True):
            mode = prediction.weighted_trajectories.add(weight=weight)
            for x, y in plan:
                mode.trajectory.points.add(x=x, y=y)
        message.predictions.append(prediction)
    return message


def maps(*speeds: float) -> np.ndarray:
    """Maps [N, 17, y, x] of vehicles of these speeds."""
    return np.broadcast_to(np.array(speeds, np.float32)[:, None, None, None], (len(speeds), 17, SIZE, SIZE))
