"""Surroundings of an agent for a picture: positions in its frame from a scene, or the cells of a feature map."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.inference import objects, scenes
from models.tasks.motion.inference.grid import Float32
from models.tasks.motion.inference.objects import Objects
from models.tasks.motion.inference.road_graph import Lines
from models.tasks.motion.inference.scenes import Agent, Scene

Points = NDArray[np.float64]
"""Points [N, 2], m in the agent's frame: x ahead, y to the left."""


@dataclass(frozen=True, eq=False)
class Body:
    """Vehicle or pedestrian."""

    outline: Points
    """Present corners, [4, 2]."""
    past: Points
    """Positions, oldest first, including the present one; NaN if not seen."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Surroundings from a scene."""

    agent: Body
    vehicles: tuple[Body, ...]
    pedestrians: tuple[Body, ...]
    roads: tuple[Points, ...]
    """Outlines of roads."""
    crosswalks: tuple[Points, ...]
    """Outlines of crosswalks."""
    lanes: tuple[tuple[Points, float], ...]
    """Centre lines in the direction of driving, each with the state of its lights (values of ``lights``)."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Surroundings from a feature map."""

    values: Float32
    """Feature map [17, y, x] in the released layout."""
    resolution: float
    """Edge of a cell, m."""

    @property
    def reach(self) -> float:
        """Distance from the agent to the map's edge, m."""
        return float(self.values.shape[-1] * self.resolution / 2)


def surroundings(scene: Scene, agent: Agent) -> Surroundings:
    """Return everything in a scene in the frame of one of its vehicles."""

    def here(points: NDArray[Any]) -> Points:
        return agent.in_agent_frame(points)

    now = len(scene.message.past_vehicle_tracks) - 1
    pasts = _places(step.tracks for step in scene.message.past_vehicle_tracks)
    vehicles = _bodies(scene.message.past_vehicle_tracks[now].tracks, objects.vehicles, pasts, agent, agent.track_id)
    if len(scene.ego):
        ego = np.array([(track.position.x, track.position.y) for track in scene.message.past_ego_track])
        vehicles.append(Body(here(scene.ego.corners[0]), here(ego)))
    walking = scene.message.past_pedestrian_tracks
    walks = _places(step.tracks for step in walking)
    return Surroundings(
        agent=Body(here(agent.state.corners[0]), scenes.past(scene, agent)),
        vehicles=tuple(vehicles),
        pedestrians=tuple(_bodies(walking[-1].tracks, objects.pedestrians, walks, agent) if walking else ()),
        roads=tuple(_each(scene.graph.road_polygons, agent)),
        crosswalks=tuple(_each(scene.graph.crosswalks, agent)),
        lanes=tuple(zip(_each(scene.graph.lanes, agent), scene.graph.lane_availability.tolist(), strict=True)),
    )


def future(scene: Scene, agent: Agent) -> Points | None:
    """Return the agent's future positions in the scene, [T, 2], NaN if it was not seen; None if it never was.

    For evaluation and pictures only; it is no input of models.
    """
    steps = scene.message.future_vehicle_tracks
    track = _places(step.tracks for step in steps).get(agent.track_id)
    return None if track is None else agent.in_agent_frame(track)


def _places(steps: Iterable[Any]) -> dict[int, Points]:
    """Return the position of each track at each step, in the scene's frame, NaN if not seen."""
    steps = list(steps)
    positions: dict[int, Points] = defaultdict(lambda: np.full((len(steps), 2), np.nan))
    for number, tracks in enumerate(steps):
        for track in tracks:
            positions[track.track_id][number] = track.position.x, track.position.y
    return positions


def _bodies(tracks: Any, read: Any, pasts: dict[int, Points], agent: Agent, but: int | None = None) -> list[Body]:
    """Return the present objects except one track and those with impossible numbers."""
    others = [track for track in tracks if track.track_id != but]
    present: Objects = read(others)
    return [
        Body(agent.in_agent_frame(present.corners[place]), agent.in_agent_frame(pasts[others[place].track_id]))
        for place in np.flatnonzero(objects.possible(present)).tolist()
    ]


def _each(lines: Lines, agent: Agent) -> list[Points]:
    return np.split(agent.in_agent_frame(lines.points), lines.bounds[1:-1]) if len(lines) else []
