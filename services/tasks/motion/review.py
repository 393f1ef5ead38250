"""Scene of a prediction request for people who draw the true path: everything in the frame of labels, as plain values.

That frame is the one of trajectories and labels: origin where the agent is now, x forward, y left, m.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.label_errors.trajectories import STEPS
from models.tasks.motion.inference import lights, objects, scenes
from models.tasks.motion.inference.grid import driving_yaw
from models.tasks.motion.inference.objects import Objects
from models.tasks.motion.inference.road_graph import Lines
from models.tasks.motion.inference.scenes import STEP_S, Agent, BadScene, Scene
from services.runtime.errors import InvalidInput, refused

Plain = dict[str, Any]

REACH_M = 250.0
"""Distance from the agent up to which the map and other agents are sent."""
MOST_AGENTS = 400
"""Number of agents that are sent, the nearest first."""
MOST_POINTS = 40_000
"""Number of points of lanes, of crosswalks and of roads that are sent, the nearest lines first."""
_DIGITS = 2
"""Decimal places of metres; of radians, one more."""
_NOTHING_KEPT = ("no_past", "no_id")
LANE_STATES: Mapping[float, str] = {
    lights.UNREGULATED: "unregulated",
    lights.OPEN: "open",
    lights.CLOSED: "closed",
    lights.UNKNOWN: "unknown",
    lights.UNLISTED: "unknown",
}
CROSSWALK_STATES: Mapping[float, str] = {
    lights.UNREGULATED: "unregulated",
    lights.WALK: "walk",
    lights.WAIT: "wait",
}


def scene(content: bytes) -> Plain:
    """Return the scene of a kept input in the frame of its only request.

    Returns:
        ``scene`` and ``track`` (text) of the request; ``step_s``; ``steps`` of the past, of which the last is now;
        ``label_steps``; ``speed_m_s`` of the agent; ``unseen_steps`` since it was last seen; ``agents``, the one to
        judge first, each with ``kind``, ``length_m``, ``width_m`` and ``states`` [x, y, yaw] or null by step; ``lanes``
        with ``points``, ``states`` by step or one for all, ``gives_way`` and ``limit_m_s``; ``crosswalks`` with
        ``points`` and ``state``; ``roads``, outlines; ``left_out``, the numbers of agents and lines that are not sent.

    Raises:
        InvalidInput: nothing of the scene was kept, or it is not one request about a scene.
        TooLarge: the scene is larger than those that are predicted.
    """
    try:
        parsed = scenes.parse(content)
        if len(parsed.requests) != 1:
            raise InvalidInput.about(
                "prediction_requests",
                len(parsed.requests),
                "must be one, as kept inputs have",
                code="several_requests",
                unit="requests",
                allowed="1",
            )
        return _plain(parsed, scenes.agent(parsed, parsed.requests[0]))
    except BadScene as error:
        if error.code in _NOTHING_KEPT:
            raise InvalidInput(
                "nothing of the scene was kept: the request came as a feature map, or its scene is too large; only the "
                "caller can show it",
                code="no_scene",
                field="input",
            ) from error
        raise refused(error) from error


def _plain(parsed: Scene, agent: Agent) -> Plain:
    agents, agents_left_out = _agents(parsed, agent)
    graph = parsed.graph
    lit = [dict(lights.lit_now(step.sections)) for step in parsed.message.traffic_lights] or [{}]
    kept_lanes, lanes_left_out = _near(graph.lanes, agent)
    kept_crosswalks, crosswalks_left_out = _near(graph.crosswalks, agent)
    kept_roads, roads_left_out = _near(graph.road_polygons, agent)
    return {
        "scene": agent.scene_id,
        "track": str(agent.track_id),
        "step_s": STEP_S,
        "steps": parsed.steps,
        "label_steps": STEPS,
        "speed_m_s": round(agent.speed, _DIGITS),
        "unseen_steps": agent.unseen_steps,
        "agents": agents,
        "lanes": [
            {
                "points": points,
                "states": _lane_states(parsed.message.path_graph.lanes[lane].traffic_light_section_ids, lit),
                "gives_way": bool(graph.lane_gives_way[lane]),
                "limit_m_s": round(float(graph.lane_limit[lane]), _DIGITS),
            }
            for lane, points in kept_lanes
        ],
        "crosswalks": [
            {"points": points, "state": CROSSWALK_STATES[float(graph.crosswalk_availability[crosswalk])]}
            for crosswalk, points in kept_crosswalks
        ],
        "roads": [points for _, points in kept_roads],
        "left_out": {
            "agents": agents_left_out + len(parsed.left_out),
            "lines": lanes_left_out + crosswalks_left_out + roads_left_out,
        },
    }


def _lane_states(section_ids: Any, lit: Sequence[Mapping[int, int]]) -> list[str]:
    """Return the state of a lane's lights by step; one where it never changes."""
    states = [LANE_STATES[lights.lane_availability(section_ids, step)] for step in lit]
    return states if len(set(states)) > 1 else states[:1]


def _near(lines: Lines, agent: Agent) -> tuple[list[tuple[int, list[list[float]]]], int]:
    """Return index and points of the lines within reach, and the number of others."""
    if not len(lines):
        return [], 0
    each = np.split(agent.in_agent_frame(lines.points), lines.bounds[1:-1])
    distances = [float(np.hypot(*points.T).min()) if len(points) else np.inf for points in each]
    kept, points_left = [], MOST_POINTS
    for index in np.argsort(distances, kind="stable").tolist():
        points_left -= len(each[index])
        if distances[index] > REACH_M or points_left < 0:
            break
        kept.append((index, each[index].round(_DIGITS).tolist()))
    return sorted(kept), len(each) - len(kept)


def _agents(parsed: Scene, agent: Agent) -> tuple[list[Plain], int]:
    """Return the agents of all past steps, the one to judge first, then the nearest, and the number of others."""
    message = parsed.message
    tracks = [
        *_tracks("vehicle", (step.tracks for step in message.past_vehicle_tracks), objects.vehicles, parsed, agent),
        *_tracks("ego", ([track] for track in message.past_ego_track), objects.vehicles, parsed, agent),
        *_tracks(
            "pedestrian", (step.tracks for step in message.past_pedestrian_tracks), objects.pedestrians, parsed, agent
        ),
    ]
    tracks.sort(key=lambda track: (track[0], track[1]))
    near = [plain for _, distance, plain in tracks if distance <= REACH_M][:MOST_AGENTS]
    return near, len(tracks) - len(near)


def _tracks(
    kind: str,
    steps: Iterable[Iterable[Any]],
    read: Callable[[Sequence[Any]], Objects],
    parsed: Scene,
    agent: Agent,
) -> list[tuple[bool, float, Plain]]:
    """Return whether it is another agent than the one to judge, its distance in m, and the agent, for each track."""
    states: dict[int, list[Any]] = {}
    latest: dict[int, NDArray[np.float64]] = {}
    for number, tracks in enumerate(steps):
        listed = list(tracks)
        seen = read(listed)
        places = agent.in_agent_frame(seen.position)
        for row in np.flatnonzero(objects.possible(seen)).tolist():
            track = 0 if kind == "ego" else listed[row].track_id
            state = seen.states[row]
            yaw = driving_yaw(float(state[8]), float(state[4]), float(state[5])) - agent.yaw
            x, y = places[row].round(_DIGITS).tolist()
            turned = round(float(np.arctan2(np.sin(yaw), np.cos(yaw))), _DIGITS + 1)
            states.setdefault(track, [None] * parsed.steps)[number] = [x, y, turned]
            latest[track] = state
    return [
        (
            not (itself := kind == "vehicle" and track == agent.track_id),
            min(float(np.hypot(x, y)) for x, y, _ in filter(None, own)),
            {
                "kind": "agent" if itself else kind,
                "length_m": round(float(latest[track][2]), _DIGITS),
                "width_m": round(float(latest[track][3]), _DIGITS),
                "states": own,
            },
        )
        for track, own in states.items()
    ]
