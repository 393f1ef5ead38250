"""Scenes of requests, and the agents whose future is predicted.

A scene has 1 to 25 past steps of 0.2 s; the last is now. Only pictures and vehicles that are missing now need earlier
steps. ``parse`` raises errors of the whole scene, ``agent`` those of one vehicle, so that other requests are not
affected. Vehicles and pedestrians without a request are left out if their numbers are impossible, and reported in
``left_out``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.inference.grid import Float32, driving_yaw, from_scene, to_frame, to_scene
from models.tasks.motion.inference.objects import Objects, check, pedestrians, possible, vehicles
from models.tasks.motion.inference.road_graph import RoadGraph, road_graph
from models.tasks.motion.inference.scene_message import BadScene, decoded, too_many
from models.tasks.motion.protocol.motion_pb2 import Scene as SceneMessage
from models.tasks.motion.protocol.motion_pb2 import VehicleTrack

__all__ = ["Agent", "BadScene", "Scene", "agent", "parse", "past", "requested"]

PAST_STEPS = 25
"""Number of past steps of a full scene."""
STEP_S = 0.2
MOST_OBJECTS_A_STEP = 2_000
MOST_OBJECTS = 50_000
"""Limit of objects in all steps of a scene, past and future."""
MOST_REQUESTS = 1_000
MOST_UNSEEN_STEPS = 10
"""Largest number of steps since an agent was last seen, 2 s: its present state is unknown after longer."""
MOST_ID_CHARACTERS = 256


@dataclass(frozen=True, eq=False)
class Scene:
    """Validated scene; its future, if any, is not used."""

    id: str
    message: SceneMessage
    """Decoded message."""
    requests: tuple[int, ...]
    """Tracks of the prediction requests, in order."""
    vehicles: Objects
    """Present vehicles, without the ego vehicle."""
    ego: Objects
    """Present state of the recording vehicle; none or one."""
    pedestrians: Objects
    """Present pedestrians."""
    graph: RoadGraph
    left_out: tuple[str, ...]
    """Paths in the scene of present vehicles and pedestrians with impossible numbers, which are not drawn."""

    @property
    def steps(self) -> int:
        """Number of past steps; the last is now."""
        return len(self.message.past_vehicle_tracks)

    @cached_property
    def seen(self) -> Mapping[int, Mapping[int, int]]:
        """Index of each track in the past steps with it, by track and step."""
        places: dict[int, dict[int, int]] = {}
        for number, step in enumerate(self.message.past_vehicle_tracks):
            for place, track in enumerate(step.tracks):
                places.setdefault(track.track_id, {})[number] = place
        return places

    def track(self, step: int, place: int) -> VehicleTrack:
        """Return a vehicle of a past step."""
        return self.message.past_vehicle_tracks[step].tracks[place]


@dataclass(frozen=True, eq=False)
class Agent:
    """Vehicle whose future is predicted, in its present state."""

    scene_id: str
    track_id: int
    x: float
    """x position, m, in the frame of the scene."""
    y: float
    """y position, m, in the frame of the scene."""
    yaw: float
    """Direction of driving, rad, in the frame of the scene."""
    speed: float
    """Speed, m/s."""
    unseen_steps: int
    """Number of steps since it was last seen, 0 if it is seen now; its position is extrapolated over them at constant
    velocity.
    """
    state: Objects
    """State of the vehicle, extrapolated."""

    @property
    def to_agent_frame(self) -> Float32:
        """Transform of homogeneous scene coordinates to the agent's frame, float32 [4, 4], as released."""
        return to_frame(self.x, self.y, self.yaw)

    def in_scene(self, points: NDArray[np.floating]) -> NDArray[np.float64]:
        """Transform points [..., 2] of the agent's frame to that of the scene, m, float64."""
        return to_scene(points, self.x, self.y, self.yaw)

    def in_agent_frame(self, points: NDArray[np.floating]) -> NDArray[np.float64]:
        """Transform points [..., 2] of the scene to the agent's frame, m, float64."""
        return from_scene(points, self.x, self.y, self.yaw)


def parse(content: bytes) -> Scene:
    """Return a scene from protobuf, or from protobuf JSON if the first byte other than blanks is ``{``.

    Raises:
        BadScene: ``not_a_scene``, ``not_json``, ``too_large``, ``too_many``, ``no_id``, ``long_id``, ``no_past``,
            ``steps``, ``duplicate`` (a request), ``not_finite`` or ``out_of_range`` (of the map or the ego vehicle).
    """
    message = decoded(content)
    if not message.id:
        raise BadScene("the scene has no id; requests are told by scene and track", code="no_id", field="id")
    if len(message.id) > MOST_ID_CHARACTERS:
        raise BadScene(
            f"the scene's id has {len(message.id)} characters; at most {MOST_ID_CHARACTERS} are possible",
            code="long_id",
            field="id",
            value=len(message.id),
            unit="characters",
            allowed=f"at most {MOST_ID_CHARACTERS}",
        )
    _check_steps(message)
    _check_objects(message)
    left_out: list[str] = []
    ego = vehicles(message.past_ego_track[-1:])
    check(ego, [f"past_ego_track[{len(message.past_ego_track) - 1}]"])
    now = f"past_vehicle_tracks[{len(message.past_vehicle_tracks) - 1}].tracks"
    walking = f"past_pedestrian_tracks[{len(message.past_pedestrian_tracks) - 1}].tracks"
    lights = message.traffic_lights[-1].sections if message.traffic_lights else ()
    return Scene(
        id=message.id,
        message=message,
        requests=_requests(message),
        vehicles=_possible(vehicles(message.past_vehicle_tracks[-1].tracks), now, left_out),
        ego=ego,
        pedestrians=_possible(
            pedestrians(message.past_pedestrian_tracks[-1].tracks if message.past_pedestrian_tracks else ()),
            walking,
            left_out,
        ),
        graph=road_graph(message.path_graph, lights),
        left_out=tuple(left_out),
    )


def requested(scene: Scene) -> list[int]:
    """Return the tracks of the scene's prediction requests, in order."""
    return list(scene.requests)


def agent(scene: Scene, track_id: int) -> Agent:
    """Return a vehicle of the scene in its present state.

    A vehicle that is missing now is extrapolated from its last state at constant velocity: the released code
    interpolates towards its first future state, which is not available when serving.

    Raises:
        BadScene: ``unknown_track``, ``no_past_state`` (requested, but never seen), ``unseen`` (missing for too long),
            ``not_finite`` or ``out_of_range``.
    """
    steps = scene.seen.get(track_id)
    if not steps:
        raise _unseen(scene, track_id)
    last = max(steps)
    unseen = scene.steps - 1 - last
    if unseen > MOST_UNSEEN_STEPS:
        raise BadScene(
            f"track {track_id} was last seen {unseen * STEP_S:.1f} s ago; at most {MOST_UNSEEN_STEPS * STEP_S:g} s are "
            "possible: leave the request out",
            code="unseen",
            field="past_vehicle_tracks",
            value=f"{unseen * STEP_S:.1f}",
            unit="s",
            allowed=f"at most {MOST_UNSEEN_STEPS * STEP_S:g} s",
        )
    state = vehicles([scene.track(last, steps[last])])
    check(state, [f"past_vehicle_tracks[{last}].tracks[{steps[last]}]"])
    states = state.states.copy()
    states[:, :2] += states[:, 4:6] * (unseen * STEP_S)
    x, y, _, _, velocity_x, velocity_y, _, _, yaw = (float(value) for value in states[0])
    return Agent(
        scene_id=scene.id,
        track_id=track_id,
        x=x,
        y=y,
        yaw=driving_yaw(yaw, velocity_x, velocity_y),
        speed=float(np.hypot(velocity_x, velocity_y)),
        unseen_steps=unseen,
        state=Objects(states),
    )


def past(scene: Scene, agent: Agent) -> NDArray[np.float64]:
    """Return the agent's past positions, oldest first, in its present frame, [steps, 2], m; NaN if unseen."""
    positions = np.full((scene.steps, 2), np.nan)
    for step, place in scene.seen[agent.track_id].items():
        position = scene.track(step, place).position
        positions[step] = position.x, position.y
    positions[~np.isfinite(positions).all(axis=1)] = np.nan
    return agent.in_agent_frame(positions)


def _check_steps(message: SceneMessage) -> None:
    """Check that all lists of the past have as many steps as that of vehicles, or none."""
    count = len(message.past_vehicle_tracks)
    if not count:
        raise BadScene(
            "past_vehicle_tracks are missing; the last of them is now",
            code="no_past",
            field="past_vehicle_tracks",
            value=0,
            unit="steps",
            allowed=f"1 to {PAST_STEPS}",
        )
    others = ("past_pedestrian_tracks", "past_ego_track", "traffic_lights")
    for name in ("past_vehicle_tracks", *others):
        steps = len(getattr(message, name))
        allowed = f"1 to {PAST_STEPS}" if name == "past_vehicle_tracks" else f"{count}, as past_vehicle_tracks, or none"
        if steps > PAST_STEPS or steps not in (0, count):
            raise BadScene(
                f"{name} has {steps} steps; needed: {allowed}",
                code="steps",
                field=name,
                value=steps,
                unit="steps",
                allowed=allowed,
            )


def _check_objects(message: SceneMessage) -> None:
    total = len(message.past_ego_track) + len(message.future_ego_track)
    for name in ("past_vehicle_tracks", "past_pedestrian_tracks", "future_vehicle_tracks", "future_pedestrian_tracks"):
        for number, step in enumerate(getattr(message, name)):
            total += len(step.tracks)
            if len(step.tracks) > MOST_OBJECTS_A_STEP:
                raise too_many(f"{name}[{number}].tracks", len(step.tracks), "objects", MOST_OBJECTS_A_STEP)
    if total > MOST_OBJECTS:
        raise too_many("scene", total, "objects", MOST_OBJECTS)
    if len(message.prediction_requests) > MOST_REQUESTS:
        raise too_many("prediction_requests", len(message.prediction_requests), "requests", MOST_REQUESTS)


def _requests(message: SceneMessage) -> tuple[int, ...]:
    numbers: dict[int, int] = {}
    for number, request in enumerate(message.prediction_requests):
        if numbers.setdefault(request.track_id, number) != number:
            raise BadScene(
                f"track {request.track_id} is requested twice; one request a track is answered",
                code="duplicate",
                field=f"prediction_requests[{number}].track_id",
                value=request.track_id,
                allowed="each track once",
            )
    return tuple(numbers)


def _possible(objects: Objects, name: str, left_out: list[str]) -> Objects:
    good = possible(objects)
    left_out.extend(f"{name}[{place}]" for place in np.flatnonzero(~good))
    return objects if good.all() else Objects(objects.states[good])


def _unseen(scene: Scene, track_id: int) -> BadScene:
    known = track_id in scene.requests
    what = "is in no past step: where it is now cannot be told" if known else "is no vehicle of the scene's past"
    return BadScene(
        f"track {track_id} {what}; ask for vehicles of past_vehicle_tracks",
        code="no_past_state" if known else "unknown_track",
        field="track_id",
        value=track_id,
        allowed="a track_id of past_vehicle_tracks",
    )
