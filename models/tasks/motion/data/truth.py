"""Ground truth: future trajectories of the requested vehicles, from scenes or from a file of trajectories."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.evaluation.unit_errors import BadFile, Mask
from models.tasks.motion.data import folders, messages, official, tags
from models.tasks.motion.data.futures import Key, futures, named
from models.tasks.motion.inference.grid import FARTHEST
from models.tasks.motion.protocol.motion_pb2 import ObjectPrediction, Scene, TrajectoryTag, WeightedTrajectory

TAGS = {
    "day_time": "day_time",
    "season": "season",
    "location": "track",
    "sun_phase": "sun_phase",
    "precipitation": "precipitation",
}
"""Field of a scene's tags for each column that groups figures."""
MANEUVERS = {
    "direction": ("kMoveLeft", "kMoveRight", "kMoveForward", "kMoveBack", "kStationary"),
    "speed": ("kAcceleration", "kDeceleration", "kUniform"),
    "rest": ("kStopping", "kStarting"),
}
"""Tags of requests in each column; several are joined by a plus."""

_SceneOfSplit = tuple[Path, Scene, tags.Tags, bool | None]
"""File of a scene, the scene, its tags, and whether it is shifted."""


@dataclass(frozen=True, slots=True)
class KnownFuture:
    """Request with a known future."""

    key: Key
    trajectory: NDArray[Any]
    """Trajectory [T, 2], m."""
    tags: Mapping[str, str]
    """Tags of the scene, by column; shared by its requests."""
    maneuvers: tuple[TrajectoryTag, ...]
    shifted: bool | None


@dataclass(frozen=True)
class Truth:
    """True trajectories of N requests, in the order of the files."""

    source: str
    rows: Mapping[Key, int]
    """Row of each request with a known future."""
    trajectories: NDArray[Any]
    """True trajectories [N, T, 2], m, each in the frame of its agent."""
    left_out: Mapping[Key, str]
    """Reason for each request that is left out."""
    shifted: Mask | None
    """Mask of shifted requests [N]; None if unknown."""
    tags: Mapping[str, NDArray[Any]]
    """Tags of scenes and requests, by column [N]; empty for a file of trajectories."""

    @property
    def digest(self) -> str:
        """Hash of requests and trajectories in order."""
        keys = "\n".join(f"{scene} {track}" for scene, track in self.rows)
        return hashlib.sha256(keys.encode() + self.trajectories.tobytes()).hexdigest()


def read(path: Path) -> Truth:
    """Read the ground truth of a directory of scenes (with subfolders), of one scene, or of a file of trajectories.

    Raises:
        BadFile: the message names file, scene and track.
    """
    if path.is_dir():
        return _of_scenes(path, _scenes(path))
    return _of_submission(path) if messages.is_submission(path) else _of_scenes(path, [_alone(path)])


def position_array(path: Path, key: Key, modes: Sequence[WeightedTrajectory]) -> NDArray[np.float64]:
    """Return the positions of the modes of a request, m, float64 [D, T, 2].

    Raises:
        BadFile: there are no modes or points, modes differ in length, or a coordinate is not finite or beyond
            ``FARTHEST``.
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


def _of_submission(path: Path) -> Truth:
    def known_futures() -> Iterator[KnownFuture]:
        for prediction in messages.predictions(path):
            key, modes = key_of(prediction), prediction.weighted_trajectories
            if len(modes) != 1:
                raise BadFile(f"{path}: {named(key)} has {len(modes)} trajectories; a ground truth has one each")
            yield KnownFuture(key, position_array(path, key, modes)[0], {}, (), prediction.is_ood)

    rows, kept = _collected(path, known_futures())
    # false is not distinguished from unset, so without a true value shift is unknown
    flagged = any(request.shifted for request in kept)
    return Truth(str(path), rows, _stacked(kept), {}, _flags(kept) if flagged else None, {})


def _of_scenes(path: Path, scenes: Iterable[_SceneOfSplit]) -> Truth:
    left_out: dict[Key, str] = {}

    def known_futures() -> Iterator[KnownFuture]:
        for file, scene, own, shifted in scenes:
            columns = _named(own)
            for future in futures(file, scene):
                if future.trajectory is None:
                    left_out[future.key] = str(future.left_out)
                else:
                    yield KnownFuture(future.key, future.trajectory, columns, future.maneuvers, shifted)

    rows, kept = _collected(path, known_futures())
    names = dict.fromkeys(name for request in kept for name in request.tags)
    maneuvers = {each: _maneuver(each) for each in {request.maneuvers for request in kept}}
    columns = {name: np.array([request.tags.get(name, "") for request in kept]) for name in names} | {
        name: np.array([maneuvers[request.maneuvers][name] for request in kept]) for name in MANEUVERS
    }
    return Truth(str(path), rows, _stacked(kept), left_out, _flags(kept), columns)


def _scenes(path: Path) -> Iterator[_SceneOfSplit]:
    """Yield the scenes of an official folder by its tags and rules; elsewhere all files, with unknown shift."""
    splits = folders.named_splits(path)
    if any(next(folders.scene_files(split), None) is not None for split in splits):
        for split in splits:
            for file in official.scene_files(split):
                yield file.path, official.scene(file), file.tags, file.shifted
        return
    files = sorted(path.rglob("*.pb"))
    if not files:
        raise BadFile(f"{path} has no scenes: files *.pb in it or in its folders are needed")
    yield from (_alone(scene_file) for scene_file in files)


def _alone(file: Path) -> _SceneOfSplit:
    scene = messages.scene(file)
    return file, scene, tags.of_scene(scene.scene_tags), None


def _named(scene_tags: tags.Tags) -> dict[str, str]:
    """Return the tags of a scene by column; other fields, such as a city, keep their names."""
    return {name: value for name, value in scene_tags.items() if name not in tags.VALUES} | {
        name: scene_tags[field] for name, field in TAGS.items()
    }


def _maneuver(maneuvers: Sequence[TrajectoryTag]) -> dict[str, str]:
    """Return the tags of a request as a column for each kind, those of one kind joined."""
    names = [TrajectoryTag.Name(tag) for tag in sorted(set(maneuvers)) if tag in TrajectoryTag.values()]
    return {
        column: "+".join(name.removeprefix("k") for name in names if name in kind) or "none"
        for column, kind in MANEUVERS.items()
    }


def _flags(kept: Sequence[KnownFuture]) -> Mask | None:
    """Return whether requests are shifted; None if some are in neither part of their data set."""
    flags = [request.shifted for request in kept]
    return None if None in flags else np.array(flags, bool)


def _stacked(kept: Sequence[KnownFuture]) -> NDArray[Any]:
    return np.stack([request.trajectory for request in kept])


def _collected(path: Path, requests: Iterable[KnownFuture]) -> tuple[dict[Key, int], list[KnownFuture]]:
    rows: dict[Key, int] = {}
    kept: list[KnownFuture] = []
    for request in requests:
        if request.key in rows:
            raise BadFile(f"{path}: the ground truth of {named(request.key)} is there twice; one is needed")
        if kept and len(request.trajectory) != len(kept[0].trajectory):
            steps = len(kept[0].trajectory)
            raise BadFile(
                f"{path}: {named(request.key)} has {len(request.trajectory)} future steps, and others have {steps}"
            )
        rows[request.key] = len(kept)
        kept.append(request)
    if not kept:
        raise BadFile(f"{path} has no request whose future is known in full: there is nothing to judge")
    return rows, kept
