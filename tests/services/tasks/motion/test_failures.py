"""Requests that fail or are withheld: they harm no other, and nothing of them is told."""

import base64
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.artefact import Artefact
from models.tasks.motion.data import messages
from models.tasks.motion.inference.members import Members
from models.tasks.motion.inference.planning import Planning
from models.tasks.motion.inference.render import Renderer
from services.tasks.motion.answer import ARRAYS
from tests.services.tasks.motion.conftest import serving
from tests.services.tasks.motion.sameness import numbers, same
from tests.services.tasks.motion.streets import (
    CONTENT,
    FAST,
    HIDDEN,
    SLOW,
    SPEEDS,
    broken,
    street,
)


async def test_a_request_that_fails_fails_alone(three: Artefact) -> None:
    async with serving(three) as served:
        whole = await served.answer(scene=CONTENT)
        answer, message = await served.answer(scene=broken(SLOW)), await served.message(scene=broken(SLOW))
        frames = await served.streamed({"scene": broken(SLOW)})
    same(answer, message)
    assert [entry["track_id"] for entry in answer["answers"]] == [FAST, HIDDEN]
    (failure,) = answer["failures"]
    assert (failure["item"], failure["track_id"], failure["error"]["code"]) == (1, SLOW, "not_finite")
    assert failure["error"]["index"] == 1
    assert "position.x" in failure["error"]["field"]
    (result,) = [frame.result for frame in frames if frame.WhichOneof("frame") == "result"]
    same(answer, result.answer)
    assert frames[-1].progress.units_done == 2
    fast = answer["answers"][0]
    assert np.allclose(fast["trajectories_m"], whole["answers"][0]["trajectories_m"])
    assert [remark["code"] for remark in fast["remarks"]] == ["left_out"]
    assert "outside_training_range" in fast["shifted"]


async def test_a_map_that_cannot_be_drawn_fails_alone(three: Artefact, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = Renderer.draw

    def sometimes(self: Renderer, agent: Any) -> Any:
        if agent.track_id == SLOW:
            raise RuntimeError("secret text of the renderer")
        return draw(self, agent)

    monkeypatch.setattr(Renderer, "draw", sometimes)
    async with serving(three) as served:
        answer, message = await served.answer(scene=CONTENT), await served.message(scene=CONTENT)
    same(answer, message)
    assert [entry["track_id"] for entry in answer["answers"]] == [FAST, HIDDEN]
    assert answer["failures"][0]["error"]["code"] == "execution_failed"
    assert "secret" not in json.dumps(answer)


async def test_planning_that_fails_for_one_harms_no_other(three: Artefact, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Planning.__call__

    def sometimes(self: Planning, rows: Any) -> Any:
        speeds = rows.reshape(len(rows), 17, -1)[:, 1:3].reshape(len(rows), -1).max(axis=1)
        if (np.abs(speeds - SPEEDS[SLOW]) < 0.5).any():
            raise RuntimeError("out of memory")
        return plan(self, rows)

    content = street()
    for step in content.past_vehicle_tracks:  # each sees only itself
        for place, track in enumerate(step.tracks):
            track.position.x += 1000.0 * place
    async with serving(three) as served:
        whole = await served.answer(scene=content.SerializeToString())
        monkeypatch.setattr(Planning, "__call__", sometimes)
        answer = await served.answer(scene=content.SerializeToString())
    assert [failure["item"] for failure in answer["failures"]] == [1]
    assert [entry["trajectories_m"] for entry in answer["answers"]] == [
        entry["trajectories_m"] for entry in whole["answers"] if entry["item"] != 1
    ]


async def test_a_model_that_says_no_numbers_is_deferred_and_not_submitted(
    three: Artefact, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plan = Members.__call__

    def sometimes(self: Members, maps: Any) -> Any:
        plans, scores = plan(self, maps)
        for number, feature_map in enumerate(maps):
            own = np.hypot(*feature_map[1:3, 16, 16])
            if abs(own - SPEEDS[SLOW]) < 0.5:
                plans[number] = np.nan
            elif abs(own - SPEEDS[HIDDEN]) < 0.5:
                plans[number] = 1e8
        return plans, scores

    async with serving(three, fixed_threshold=1e9) as served:
        monkeypatch.setattr(Members, "__call__", sometimes)
        answer = await served.answer(scene=CONTENT, submission=True)
        message = await served.message(scene=CONTENT, submission=True)
    fast, slow, hidden = answer["answers"]
    assert (fast["decision"], slow["decision"], hidden["decision"]) == ("ANSWER", "DEFER", "DEFER")
    assert hidden["uncertainty"] is None
    assert "impossible_prediction" in hidden["shifted"]
    assert "impossible_prediction" not in slow["shifted"]
    assert slow["uncertainty"] is None
    assert slow["trajectories_m"][0][0] == [None, None]
    assert np.isnan(numbers(message.answers[1], "trajectories")).all()
    path = tmp_path / "submission.pb"
    path.write_bytes(message.submission)
    assert [prediction.track_id for prediction in messages.predictions(path)] == [FAST]


async def test_where_nothing_can_be_predicted_the_call_fails(three: Artefact) -> None:
    async with serving(three) as served:
        error = await served.refusal(scene=broken(FAST, SLOW, HIDDEN))
        frames = await served.streamed({"scene": broken(FAST, SLOW, HIDDEN)}, {"scene": CONTENT})
    assert (error["code"], error["index"]) == ("not_finite", 0)
    kinds = [kind for frame in frames if (kind := frame.WhichOneof("frame")) in ("result", "error")]
    assert kinds == ["error", "result"]


async def test_what_is_deferred_and_withheld_is_in_no_field_and_no_file(three: Artefact) -> None:
    async with serving(three, withhold=True, fixed_threshold=-1e9) as served:
        answer = await served.answer(scene=CONTENT, submission=True)
        message = await served.message(scene=CONTENT, submission=True)
        archive = await served.form(scene=CONTENT, accept="application/zip")
    same(answer, message)
    for entry in answer["answers"]:
        assert entry["deferred"]
        assert not {field.json_name for field in ARRAYS} & entry.keys()
        assert {"pose", "remarks", "uncertainty"} <= entry.keys()
    assert answer["files"] == {"submission.pb": ""}
    assert not message.submission
    assert not zipfile.ZipFile(io.BytesIO(archive.content)).read("submission.pb")


async def test_some_may_be_withheld_and_others_not(three: Artefact, tmp_path: Path) -> None:
    async with serving(three) as served:
        usual = (await served.answer(scene=CONTENT))["answers"]
    between = (usual[0]["uncertainty"] + usual[1]["uncertainty"]) / 2
    async with serving(three, withhold=True, fixed_threshold=between) as served:
        answer = await served.answer(scene=CONTENT, submission=True)
    shown = {entry["track_id"]: "trajectories_m" in entry for entry in answer["answers"]}
    assert shown[SLOW]
    assert not shown[FAST]
    path = tmp_path / "submission.pb"
    path.write_bytes(base64.b64decode(answer["files"]["submission.pb"]))
    assert [prediction.track_id for prediction in messages.predictions(path)] == [
        track for track, known in shown.items() if known
    ]
