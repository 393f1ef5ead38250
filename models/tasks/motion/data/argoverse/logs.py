"""Sensor logs: boxes in the frame of the recording car, its poses, and the vector map."""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data.argoverse.actors import ANNOTATED, EGO_CENTRE, EGO_SIZE, Actor, numbered
from models.tasks.motion.data.argoverse.recording import CITIES, Recording, columns, numbers
from models.tasks.motion.data.argoverse.roads import map_file, path_graph

Floats = NDArray[np.float64]

MAPS = ("map/log_map_archive_*.json", "log_map_archive_*.json", "map.json", "map/map.json")
"""Patterns of a log's vector map: in it, or in its folder ``map``."""
ANNOTATIONS, POSES = "annotations.feather", "city_SE3_egovehicle.feather"
_ROTATION, _PLACE, _SIZE = ("qw", "qx", "qy", "qz"), ("tx_m", "ty_m", "tz_m"), ("length_m", "width_m", "height_m")
_CITY = re.compile(rf"(?:^|_)({'|'.join(CITIES)})(?:_|$)")


def read(folder: Path, speed_limit: float) -> Recording:
    """Return the recording of a log.

    Raises:
        BadFile: a file is missing or cannot be read, there is no pose at the time of an annotation, or an actor has two
            boxes at once.
    """
    boxes_path, poses_path = folder / ANNOTATIONS, folder / POSES
    boxes = columns(boxes_path, ("timestamp_ns", "track_uuid", "category", *_SIZE, *_ROTATION, *_PLACE))
    poses = columns(poses_path, ("timestamp_ns", *_ROTATION, *_PLACE))
    stamps, frames = np.unique(np.asarray(boxes["timestamp_ns"], np.int64), return_inverse=True)
    pose = _poses_at(poses_path, poses, stamps)
    rotation, place = pose[:, :4], pose[:, 4:]
    box = numbers(boxes_path, boxes, (*_ROTATION, *_PLACE, *_SIZE))
    centres = rotated(rotation[frames], box[:, 4:7]) + place[frames]
    yaws = yaw(product(rotation[frames], box[:, :4]))
    map_path = map_file(folder, *MAPS)
    city = _CITY.search(map_path.stem) or _CITY.search(folder.name)
    return Recording(
        name=folder.name,
        city=CITIES[city[1]] if city else "",
        time=(stamps - stamps[0]) / 1e9,
        actors=_actors(boxes_path, boxes, frames, centres, yaws, box[:, 7:], len(stamps)),
        ego=Actor(
            track=0,
            kind="vehicle",
            size=EGO_SIZE,
            position=place + rotated(rotation, np.tile([EGO_CENTRE, 0.0, 0.0], (len(stamps), 1))),
            yaw=yaw(rotation),
        ),
        roads=path_graph(map_path, speed_limit),
    )


def _actors(
    path: Path,
    boxes: dict[str, NDArray[np.generic]],
    frames: NDArray[np.intp],
    centres: Floats,
    yaws: Floats,
    sizes: Floats,
    count: int,
) -> tuple[Actor, ...]:
    uuids, which = np.unique(np.asarray(boxes["track_uuid"], str), return_inverse=True)
    rows, times = np.unique(np.stack([which, frames]), axis=1, return_counts=True)
    if (times > 1).any():
        actor, frame = rows[:, int(np.argmax(times > 1))]
        raise BadFile(f"{path}: track {uuids[actor]} has two boxes in frame {frame}; one at a time is possible")
    categories = np.asarray(boxes["category"], str)
    numbering = numbered(which, frames, len(uuids))
    order = np.lexsort((frames, which))
    ends = np.searchsorted(which[order], np.arange(len(uuids) + 1))
    actors: list[Actor] = []
    for actor in np.argsort(numbering):
        own = order[ends[actor] : ends[actor + 1]]
        if kind := ANNOTATED.get(categories[own[0]]):
            position, turned = np.full((count, 3), np.nan), np.full(count, np.nan)
            position[frames[own]], turned[frames[own]] = centres[own], yaws[own]
            length, width, height = sizes[own[0]].tolist()
            actors.append(Actor(int(numbering[actor]), kind, (length, width, height), position, turned))
    return tuple(actors)


def _poses_at(path: Path, poses: dict[str, NDArray[np.generic]], stamps: NDArray[np.int64]) -> Floats:
    """Return rotation and position of the car at each time, [F, 7]."""
    times = np.asarray(poses["timestamp_ns"], np.int64)
    order = np.argsort(times)
    rows = order[np.minimum(np.searchsorted(times[order], stamps), len(times) - 1)]
    if (missing := times[rows] != stamps).any():
        raise BadFile(f"{path} has no pose at {stamps[int(np.argmax(missing))]} ns, where boxes are annotated")
    return numbers(path, poses, (*_ROTATION, *_PLACE))[rows]


def product(left: Floats, other: Floats) -> Floats:
    """Return the product of quaternions [N, 4], scalar first: the rotation ``other``, then ``left``."""
    w, x, y, z = left.T
    a, b, c, d = other.T
    return np.stack(
        [
            w * a - x * b - y * c - z * d,
            w * b + x * a + y * d - z * c,
            w * c - x * d + y * a + z * b,
            w * d + x * c - y * b + z * a,
        ],
        axis=1,
    )


def rotated(rotation: Floats, points: Floats) -> Floats:
    """Rotate points [N, 3] by quaternions [N, 4]."""
    axis = rotation[:, 1:]
    twist = 2 * np.cross(axis, points)
    return np.asarray(points + rotation[:, :1] * twist + np.cross(axis, twist))


def yaw(rotation: Floats) -> Floats:
    """Return the angle of the rotated x axis in the plane, rad, [N]."""
    w, x, y, z = rotation.T
    return np.asarray(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
