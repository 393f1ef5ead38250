"""A real scene of the Shifts data set over both protocols: as protobuf, as JSON, and as the maps that it shows."""

from pathlib import Path

import numpy as np
import pytest
from google.protobuf import json_format

from models import artefact
from models.artefact import Artefact
from models.tasks.motion.data import messages
from models.tasks.motion.protocol.motion_pb2 import Scene
from tests.services.tasks.motion.conftest import serving
from tests.services.tasks.motion.sameness import same, timeless
from tests.services.tasks.motion.streets import agents, rendered

REFERENCE = Path(__file__).resolve().parents[4] / "artefacts" / "motion" / "bc-5"


@pytest.fixture(params=["straight", "reference"])
def served_artefact(request: pytest.FixtureRequest, three: Artefact) -> Artefact:
    if request.param == "straight":
        return three
    if not REFERENCE.is_dir():
        pytest.skip(f"no reference artefact at {REFERENCE}")
    return artefact.read(REFERENCE)


async def test_a_real_scene_is_answered_alike_in_every_form(
    served_artefact: Artefact, real_scene: Path, tmp_path: Path
) -> None:
    content = real_scene.read_bytes()
    as_object = json_format.MessageToDict(Scene.FromString(content))
    async with serving(served_artefact) as served:
        message = await served.message(scene=content, submission=True)
        answers = [
            await served.answer(scene=content),
            await served.answer(scene=as_object),
            (await served.form(scene=content)).json(),
        ]
    for answer in answers:
        same(answer, message)
    assert [row["track_id"] for row in answers[0]["answers"]] == [vehicle.track_id for vehicle in agents(content)]
    path = tmp_path / "submission.pb"
    path.write_bytes(message.submission)
    assert len(list(messages.predictions(path))) == len(answers[0]["answers"]) == 2
    for entry, agent in zip(answers[0]["answers"], agents(content), strict=True):
        plans = np.array(entry["trajectories_m"])
        assert plans.shape == (5, 25, 2)
        assert np.abs(plans[:, 0]).max() < 40 * 0.2 + 3, "0.2 s from now nobody is far"
        there = np.array(entry["scene_trajectories_m"])
        assert np.hypot(*(there[:, 0] - (agent.x, agent.y)).T).max() < 40 * 0.2 + 3


async def test_real_maps_are_answered_as_their_scene(three: Artefact, real_scene: Path) -> None:
    content = real_scene.read_bytes()
    vehicles = [
        {"scene_id": agent.scene_id, "track_id": agent.track_id, "pose": {"x": agent.x, "y": agent.y, "yaw": agent.yaw}}
        for agent in agents(content)
    ]
    async with serving(three) as served:
        scene = await served.answer(scene=content)
        maps = await served.answer(rendered=rendered(content), agents=vehicles)
    for expected, other in zip(scene["answers"], maps["answers"], strict=True):
        assert timeless(other) == timeless(expected)
