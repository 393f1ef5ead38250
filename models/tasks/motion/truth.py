"""What really happened: future trajectories of the requested vehicles, from scenes or from a file of trajectories."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.evaluation.judged import BadFile, Mask
from models.tasks.motion import messages
from models.tasks.motion.frame import FARTHEST, Float32, to_agent_frame, transformed
from models.tasks.motion.protocol.motion_pb2 import ObjectPrediction, Scene, SceneTags, VehicleTrack, WeightedTrajectory

Key = tuple[str, int]
"""Scene and track of a request."""
Found = tuple[Key, NDArray[Any], SceneTags]

NOT_OBSERVED = "they are not observed in all future steps"
NOT_NOW = "they are not observed now, so have no frame"
NO_FUTURE = "their scene has no future"
TAGS = {
    "day_time": "day_time",
    "season": "season",
    "location": "track",
    "sun_phase": "sun_phase",
    "precipitation": "precipitation",
}
"""Column that figures can be broken down by to the field of a scene's tags."""


@dataclass(frozen=True)
class Truth:
    """True trajectories of N requests, in the order of the files."""

    source: str
    rows: Mapping[Key, int]
    """Row of each request that can be judged."""
    trajectories: NDArray[Any]
    """[N, T, 2], m, each in the frame of its agent."""
    left_out: Mapping[Key, str]
    """Requests that cannot be judged, and why."""
    shifted: Mask | None
    """[N]; None where the files do not say."""
    tags: Mapping[str, NDArray[Any]]
    """What scenes are tagged with, by name [N]; empty for a file of trajectories."""

    @property
    def digest(self) -> str:
        """The same for two files exactly if they ask the same requests in one order, and agree on what happened."""
        keys = "\n".join(f"{scene} {track}" for scene, track in self.rows)
        return hashlib.sha256(keys.encode() + self.trajectories.tobytes()).hexdigest()


def read(path: Path) -> Truth:
    """Ground truth of a directory of scenes (with its folders), of one scene, or of a file of true trajectories.

    Raises:
        BadFile: the message names file, scene and track.
    """
    if not path.is_dir():
        return _of_submission(path) if messages.is_submission(path) else _of_scenes(path, [path])
    files = sorted(path.rglob("*.pb"))
    if not files:
        raise BadFile(f"{path} has no scenes: files *.pb in it or in its folders are needed")
    return _of_scenes(path, files)


def position_array(path: Path, key: Key, modes: Sequence[WeightedTrajectory]) -> NDArray[np.float64]:
    """Positions of the modes of a request, m, float64 [D, T, 2].

    Raises:
        BadFile: no modes, no points, modes of different length, or a coordinate not finite or beyond ``FARTHEST``.
    """
    lengths = {len(mode.trajectory.points) for mode in modes}
    if not lengths or 0 in lengths:
        missing = "a trajectory without points" if lengths else "no weighted_trajectories"
        raise BadFile(f"{path}: {named(key)} has {missing}; at least one is needed")
    if len(lengths) > 1:
        raise BadFile(f"{path}: {named(key)} has trajectories of {min(lengths)} and of {max(lengths)} points")
    points = messages.positions([mode.trajectory for mode in modes]).reshape(len(modes), -1, 2)
    if not -FARTHEST < points.min() <= points.max() < FARTHEST:
        mode, step = (int(index) for index in np.argwhere(~(np.abs(points) < FARTHEST).all(axis=2))[0])
        raise BadFile(
            f"{path}: {named(key)} has the point {points[mode, step].tolist()} at step {step} of mode {mode}; finite "
            f"metres, less than {FARTHEST:g}, are needed"
        )
    return points


def key_of(prediction: ObjectPrediction) -> Key:
    return prediction.scene_id, prediction.track_id


def named(key: Key) -> str:
    """A request, in words."""
    return f"scene {key[0]!r}, track {key[1]}"


def _of_submission(path: Path) -> Truth:
    shifted: list[bool] = []

    def found() -> Iterator[Found]:
        for prediction in messages.predictions(path):
            key, modes = key_of(prediction), prediction.weighted_trajectories
            if len(modes) != 1:
                raise BadFile(f"{path}: {named(key)} has {len(modes)} trajectories; a ground truth has one each")
            shifted.append(prediction.is_ood)
            yield key, position_array(path, key, modes)[0], SceneTags()

    rows, trajectories, _ = _collected(path, found())
    # false is not told from unset: without any true one the file does not say
    return Truth(str(path), rows, trajectories, {}, np.array(shifted) if any(shifted) else None, {})


def _of_scenes(path: Path, files: Iterable[Path]) -> Truth:
    left_out: dict[Key, str] = {}

    def found() -> Iterator[Found]:
        for file in files:
            yield from _requests(file, messages.scene(file), left_out)

    rows, trajectories, tags = _collected(path, found())
    columns = {name: np.array([_tag(one, field) for one in tags]) for name, field in TAGS.items()}
    return Truth(str(path), rows, trajectories, left_out, None, columns)


def _requests(file: Path, scene: Scene, left_out: dict[Key, str]) -> Iterator[Found]:
    """The requests of a scene that can be judged; the others are added to ``left_out``."""
    if not scene.id:
        raise BadFile(f"{file}: the scene has no id; requests are told by scene and track")
    if not scene.past_vehicle_tracks:
        raise BadFile(f"{file}: past_vehicle_tracks are missing; the frame of an agent is where it is now")
    now = _by_track(scene.past_vehicle_tracks[-1].tracks)
    future = [_by_track(step.tracks) for step in scene.future_vehicle_tracks]
    for request in scene.prediction_requests:
        key = scene.id, request.track_id
        if not future:
            left_out[key] = NO_FUTURE
        elif not all(request.track_id in step for step in future):
            left_out[key] = NOT_OBSERVED
        elif request.track_id not in now:
            # the released code interpolates between the past and the future here, and so looks at the answer
            left_out[key] = NOT_NOW
        else:
            steps = [step[request.track_id] for step in future]
            yield key, _in_agent_frame(file, key, now[request.track_id], steps), scene.scene_tags


def _in_agent_frame(file: Path, key: Key, now: VehicleTrack, steps: list[VehicleTrack]) -> Float32:
    points = np.array([(step.position.x, step.position.y) for step in (now, *steps)])
    state = [now.yaw, now.linear_velocity.x, now.linear_velocity.y]
    if not (np.isfinite(state).all() and (np.abs(points) < FARTHEST).all()):
        raise BadFile(
            f"{file}: {named(key)} has a position, linear_velocity or yaw that is not finite, or is {FARTHEST:g} m away"
        )
    return transformed(np.asarray(points[1:], np.float32), to_agent_frame(now))


def _tag(tags: SceneTags, field: str) -> str:
    kind = SceneTags.DESCRIPTOR.fields_by_name[field].enum_type
    number = getattr(tags, field)
    known = {} if kind is None else kind.values_by_number
    return str(known[number].name).removeprefix("k") if number in known else str(number)


def _by_track(tracks: Iterable[VehicleTrack]) -> dict[int, VehicleTrack]:
    return {track.track_id: track for track in tracks}


def _collected(path: Path, found: Iterable[Found]) -> tuple[dict[Key, int], NDArray[Any], list[SceneTags]]:
    rows: dict[Key, int] = {}
    trajectories: list[NDArray[Any]] = []
    tags: list[SceneTags] = []
    for key, trajectory, tag in found:
        if key in rows:
            raise BadFile(f"{path}: the ground truth of {named(key)} is there twice; one is needed")
        if trajectories and len(trajectory) != len(trajectories[0]):
            steps = len(trajectories[0])
            raise BadFile(f"{path}: {named(key)} has {len(trajectory)} future steps, and others have {steps}")
        rows[key] = len(trajectories)
        trajectories.append(trajectory)
        tags.append(tag)
    if not rows:
        raise BadFile(f"{path} has no request whose future is known in full: there is nothing to judge")
    return rows, np.stack(trajectories), tags
