"""Motion-forecasting scenarios: tracks in the frame of the city, without sizes, and the vector map."""

from pathlib import Path

import numpy as np

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data.argoverse.actors import EGO_SIZE, TRACKED, Actor, numbered
from models.tasks.motion.data.argoverse.recording import CITIES, Recording, columns, numbers
from models.tasks.motion.data.argoverse.roads import map_file, path_graph

STEP = 0.1
"""Time between frames, s."""
_EGO = "AV"
_CITIES = {name.lower(): name for name in CITIES.values()} | {
    "palo-alto": "PaloAlto",
    "washington-dc": "WashingtonDC",
}


def read(path: Path, speed_limit: float) -> Recording:
    """Return the recording of a scenario, from its Parquet file and the map beside it.

    Raises:
        BadFile: a file is missing or cannot be read, a frame is outside 0 to 10,000, or a track has two states at once.
    """
    arrays = columns(
        path,
        ("track_id", "object_type", "timestep", "position_x", "position_y", "heading", "scenario_id", "city"),
    )
    frames = numbers(path, arrays, ("timestep",))[:, 0].astype(np.intp)
    if frames.min() < 0 or frames.max() > 10_000:
        raise BadFile(f"{path}: timestep lies in {frames.min()} to {frames.max()}; 0 to 10000 are possible")
    count = int(frames.max()) + 1
    states = numbers(path, arrays, ("position_x", "position_y", "heading"))
    names, which = np.unique(np.asarray(arrays["track_id"], str), return_inverse=True)
    if len(np.unique(which * count + frames)) < len(frames):
        raise BadFile(f"{path} has two states of one track at one timestep; one is possible")
    types = np.asarray(arrays["object_type"], str)
    numbering = numbered(which, frames, len(names))
    actors: list[Actor] = []
    ego: Actor | None = None
    for number in np.argsort(numbering):
        own = np.flatnonzero(which == number)
        position, yaw = np.full((count, 3), np.nan), np.full(count, np.nan)
        position[frames[own], :2], position[frames[own], 2], yaw[frames[own]] = states[own, :2], 0.0, states[own, 2]
        if names[number] == _EGO:
            ego = Actor(0, "vehicle", EGO_SIZE, position, yaw)
        elif types[own[0]] in TRACKED:
            kind, size = TRACKED[types[own[0]]]
            actors.append(Actor(int(numbering[number]), kind, size, position, yaw))
    return Recording(
        name=str(arrays["scenario_id"][0]),
        city=_CITIES.get(str(arrays["city"][0]).lower(), ""),
        time=np.arange(0, count, dtype=np.float64) * STEP,
        actors=tuple(actors),
        ego=ego,
        roads=path_graph(map_file(path.parent, "log_map_archive_*.json", "map.json"), speed_limit),
    )
