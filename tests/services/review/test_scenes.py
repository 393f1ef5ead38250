"""Scenes for reviewers: everything is where labels say it is, whatever frame the scene has."""

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.tasks.motion.data.futures import futures
from models.tasks.motion.inference import scenes as message_scenes
from models.tasks.motion.pictures.surroundings import surroundings
from models.tasks.motion.protocol.motion_pb2 import Scene
from models.tasks.motion.protocol.motion_pb2 import TrafficLightState as State
from services.review import scenes
from services.runtime.errors import InvalidInput, TooLarge
from services.tasks.motion import inputs, review
from services.tasks.motion.request import SceneForm
from services.tasks.motion.task import CallData, _kept, _request
from tests.models.motion import towns
from tests.services.review.inputs import LEASE, Kept, client


def kept(scene: Scene, track: int) -> bytes:
    """Input as a service keeps it: without the future, with one request."""
    parsed = inputs.read(SceneForm(scene.SerializeToString(), (track,)), None)  # type: ignore[arg-type]
    call_data = CallData(parsed.scene_id, parsed.tracks, parsed.subjects, submission=False)
    return _kept(parsed) + _request(call_data, 0).SerializeToString()


def real_scene() -> Scene:
    path = Path(os.environ.get("DEMUR_TEST_DATA", "none")) / "motion" / "shifts_test_scene.pb"
    if not path.is_file():
        pytest.skip(f"no scene of the data set at {path}; set DEMUR_TEST_DATA")
    return Scene.FromString(path.read_bytes())


def nearly(one: Any, other: Any, apart: float) -> None:
    """Compare documents whose numbers may differ a little."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            nearly(one[name], other[name], apart)
    elif isinstance(one, list):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            nearly(left, right, apart)
    elif isinstance(one, float):
        assert abs(one - other) <= apart or abs(abs(one - other) - 2 * math.pi) <= apart  # a yaw
    else:
        assert one == other


def test_a_turned_and_shifted_town_is_the_same_scene() -> None:
    town = towns.town(3)
    moved = towns.moved(town, 2.1, (-3000.0, 900.0))
    for track in (1, 5):
        nearly(review.scene(kept(moved, track)), review.scene(kept(town, track)), 0.011)


def test_the_frame_is_that_of_labels(tmp_path: Path) -> None:
    """Where the true future of the data set begins, the agent's past ends; nothing of the future is told."""
    message = real_scene()
    for future in futures(tmp_path, message):
        document = review.scene(kept(message, future.key[1]))
        agent = document["agents"][0]
        assert (agent["kind"], agent["states"][-1]) == ("agent", [0.0, 0.0, 0.0])
        past = np.array([state[:2] for state in agent["states"] if state is not None])
        own = message_scenes.parse(message.SerializeToString())
        expected = message_scenes.past(own, message_scenes.agent(own, future.key[1]))
        np.testing.assert_allclose(past, expected[np.isfinite(expected).all(axis=1)], atol=0.006)
        assert future.trajectory is not None
        step = np.hypot(*(past[-1] - past[-2]))
        assert np.hypot(*future.trajectory[0]) == pytest.approx(step, abs=0.5), "it drives on"
        assert len(future.trajectory) == document["label_steps"]
        assert "future" not in json.dumps(document)


def test_agents_and_map_are_those_of_the_picture() -> None:
    message = real_scene()
    parsed = message_scenes.parse(message.SerializeToString())
    for track in parsed.requests:
        around = surroundings(parsed, message_scenes.agent(parsed, track))
        document = review.scene(kept(message, track))
        now = sorted(
            tuple(agent["states"][-1][:2]) for agent in document["agents"][1:] if agent["states"][-1] is not None
        )
        bodies = [*around.vehicles, *around.pedestrians]
        near = [body.outline.mean(axis=0) for body in bodies if np.hypot(*body.outline.mean(axis=0)) < review.REACH_M]
        np.testing.assert_allclose(now, sorted(map(tuple, near)), atol=0.006)
        lanes = [line for line, _ in around.lanes if np.hypot(*line.T).min() <= review.REACH_M]
        assert len(lanes) == len(document["lanes"])
        for line, lane in zip(lanes, document["lanes"], strict=True):
            np.testing.assert_allclose(line, lane["points"], atol=0.006)


def test_kinds_sizes_lights_and_unseen_steps_are_told() -> None:
    scene = towns.empty(steps=3)
    towns.drive(scene, 7, (10.0, 0.0), math.pi, 5.0, unseen=1, length=4.0, width=2.0)
    towns.walk(scene, 8, (0.0, 4.0), (0.0, 1.0), (0.5, 0.6))
    for step in range(3):
        scene.past_ego_track.append(towns.vehicle(0, (20.0 + step, 3.0)))
    towns.lane(scene, [(0, 0), (-30, 0)], lights=(0, 4, 0), limit=10.0, gives_way=True)
    towns.lane(scene, [(0, 3), (-30, 3)])
    scene.traffic_lights[0].sections.add(id=4, state=State.STATE_GREEN)
    scene.traffic_lights[1].sections.add(id=4, state=State.STATE_RED)
    towns.light(scene, 4, State.STATE_RED)
    towns.crosswalk(scene, towns.square((-5, 0), 2), [(1, [(4, State.STATE_RED)])])
    document = review.scene(kept(scene, 7))
    agent, *others = document["agents"]
    # it was seen at x = 11 in the scene one step ago, and has driven on by a metre
    assert agent == {"kind": "agent", "length_m": 4.0, "width_m": 2.0, "states": [[-2.0, 0, 0], [-1.0, 0, 0], None]}
    assert (document["unseen_steps"], document["speed_m_s"], document["steps"]) == (1, 5.0, 3)
    assert [other["kind"] for other in others] == ["ego", "pedestrian"]
    assert others[1]["states"] == [None, None, [10.0, -4.0, -1.571]]
    assert [state[:2] for state in others[0]["states"]] == [[-10, -3], [-11, -3], [-12, -3]]
    lit, unlit = document["lanes"]
    assert (lit["states"], lit["limit_m_s"], lit["gives_way"]) == (["open", "closed", "closed"], 10.0, True)
    assert (unlit["states"], unlit["points"]) == (["unregulated"], [[10.0, -3.0], [40.0, -3.0]])
    assert document["crosswalks"][0]["state"] == "walk"


def test_what_is_far_or_impossible_is_left_out_and_counted() -> None:
    scene = towns.empty()
    towns.drive(scene, 7, (0.0, 0.0))
    towns.drive(scene, 8, (900.0, 0.0))
    towns.drive(scene, 9, (5.0, 0.0), length=-1.0)
    towns.lane(scene, [(800, 0), (900, 0)])
    towns.lane(scene, [(900, 0), (5, 0)])
    document = review.scene(kept(scene, 7))
    assert (len(document["agents"]), len(document["lanes"])) == (1, 1)
    assert document["left_out"] == {"agents": 2, "lines": 1}


def test_a_large_scene_stays_small() -> None:
    scene = towns.empty()
    for track in range(1, 600):
        towns.drive(scene, track, (float(track % 30), float(track // 30)))
    for number in range(90):
        towns.lane(scene, [(float(number), x / 10) for x in range(1000)])
    scene.prediction_requests.add(track_id=1)
    document = review.scene(scene.SerializeToString())
    assert len(document["agents"]) == review.MOST_AGENTS
    assert sum(len(lane["points"]) for lane in document["lanes"]) <= review.MOST_POINTS
    assert document["left_out"] == {"agents": 199, "lines": 50}
    assert len(json.dumps(document)) < 1_500_000


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "no_scene"),
        (Scene(id="s").SerializeToString() + b"", "no_scene"),
        (b"\x0a\xff", "not_a_scene"),
        (b"<html>", "not_a_scene"),
        (towns.town(1).SerializeToString(), "several_requests"),
    ],
)
def test_other_inputs_are_refused(content: bytes, code: str) -> None:
    with pytest.raises(InvalidInput) as error:
        review.scene(content)
    assert error.value.code == code


def test_an_input_beyond_all_limits_is_refused() -> None:
    with pytest.raises(TooLarge):
        review.scene(bytes(1 << 25))


def test_the_route_needs_a_lease_and_a_task_with_scenes() -> None:
    inputs_kept = Kept("application/x-protobuf", kept(towns.town(1), 2))
    caller = client(scenes.routes(inputs_kept))
    path = f"/api/tasks/motion/requests/{'a' * 32}/scene"
    answer = caller.get(path, headers=LEASE)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert answer.json() == review.scene(inputs_kept.content)
    assert caller.get(path).status_code == 409
    for task in ("vessel", "own-model"):
        refused = caller.get(path.replace("motion", task), headers=LEASE)
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "no_scenes")
    inputs_kept.content = b"\x0a\xff"
    assert caller.get(path, headers=LEASE).status_code == 422
