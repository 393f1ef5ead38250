"""Scenes in Label Studio: marks on the picture are positions in the agent's frame, and become a path of 25 steps."""

import base64
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from models.artefact import Artefact
from services.runtime.errors import InvalidInput
from services.tasks.motion.label_studio import SCENES, TIMES, path
from services.tasks.motion.scene_picture import PIXELS, Frame, frame
from services.transport.label_studio.converter import StudioHead
from tests.services.review.studio import Json, annotated, answer, outcomes, studio_beside
from tests.services.tasks.motion.conftest import serving
from tests.services.tasks.motion.test_live import lived

HEAD = StudioHead("trajectories", "trajectories", "m", "positions, m")
SPEED = 8.0
DATA: Json = {"frame_m": [-14.5, 50.5, 32.5], "speed_m_s": SPEED}
FRAME = Frame(*DATA["frame_m"])


def mark(time: str, x: float, y: float, shown: Frame = FRAME) -> Json:
    across, down = shown.share(x, y)
    value = {"x": 100 * across, "y": 100 * down, "width": 0.6, "keypointlabels": [time]}
    return answer("keypointlabels", "scene", value, original_width=PIXELS, original_height=PIXELS, image_rotation=0)


def test_ahead_is_up_and_left_is_left() -> None:
    shown = frame(10.0)
    assert shown.share(shown.front, shown.side) == (0.0, 0.0)
    assert shown.share(shown.back, -shown.side) == pytest.approx((1.0, 1.0))
    assert shown.front > 10.0 * 5
    for place in ((0.0, 0.0), (12.25, -3.5), (shown.back, shown.side)):
        assert shown.place(*shown.share(*place)) == pytest.approx(place, abs=1e-12)


def test_all_marks_are_the_path() -> None:
    places = np.stack([np.linspace(1.7, 40, 25), 0.01 * np.arange(25) ** 2], axis=1)
    marks = [mark(time, *place) for time, place in zip(TIMES, places.tolist(), strict=True)]
    value: Any = SCENES.value(HEAD, DATA, marks[::-1])
    np.testing.assert_allclose(value, places, atol=1e-9)


def test_between_marks_the_path_is_smooth_and_begins_with_the_present_speed() -> None:
    time = 0.2 * np.arange(1, 26)
    steady = np.stack([SPEED * time, np.zeros(25)], axis=1)
    seconds = [4, 9, 14, 19, 24]
    straight: Any = path({step: tuple(steady[step]) for step in seconds}, SPEED)
    np.testing.assert_allclose(straight, steady, atol=1e-9)
    bent = np.stack([SPEED * time - 0.5 * time**2, 0.3 * time**2], axis=1)
    drawn: Any = path({step: tuple(bent[step]) for step in seconds}, SPEED)
    assert np.abs(np.array(drawn) - bent).max() < 0.15, "five marks tell an even acceleration"
    assert [tuple(drawn[step]) for step in seconds] == [pytest.approx(bent[step]) for step in seconds]
    short = path({0: (1.6, 0.0), 4: (8.0, 0.0)}, SPEED)
    assert short[5:] == [None] * 20, "what is after the last mark is not known"
    assert None not in short[:5]


BAD: dict[str, list[Any]] = {
    "nothing": [],
    "twice": [mark("1.0 s", 8, 0), mark("1.0 s", 9, 0)],
    "another time": [mark("1.1 s", 8, 0)],
    "outside": [mark("1.0 s", 8, 200)],
    "no time": [mark("1.0 s", 8, 0) | {"value": {"x": 1, "y": 2}}],
    "no number": [mark("1.0 s", 8, 0) | {"value": {"x": "1", "y": 2, "keypointlabels": ["1.0 s"]}}],
    "another tool": [answer("number", "scene", {"number": 1})],
}


@pytest.mark.parametrize("name", BAD)
def test_other_marks_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        SCENES.value(HEAD, DATA, BAD[name])
    assert refused.value.code == "bad_label"


@pytest.mark.parametrize("frame_m", [None, [1, 2], [50, -14, 32], [-14, 50, 0], [-14, "50", 32]])
def test_a_changed_frame_is_refused(frame_m: Any) -> None:
    with pytest.raises(InvalidInput):
        SCENES.value(HEAD, DATA | {"frame_m": frame_m}, [mark("1.0 s", 8, 0)])


async def test_a_path_goes_through_the_service(three: Artefact, tmp_path: Path) -> None:
    content, futures = lived(1)
    settings: Json = {"fixed_threshold": -1e9, "keep_payload": "on", "drafts": True}
    async with serving(three, tmp_path / "home", **settings) as served:
        answered = (await served.answer(scene=content, track_ids=[1, 2]))["answers"]
        assert len(answered) == 2
        async with studio_beside("motion", served.http, tmp_path) as studio:
            (task,) = await studio.exported("--count", "1", "--config", str(tmp_path / "config.xml"))
            (draft,) = await studio.exported("--queue", "drafts", name="drafts.json")
            kind, _, text = task["data"]["scene"].partition(",")
            drawing = ElementTree.fromstring(base64.b64decode(text))
            assert (kind, drawing.attrib["width"]) == ("data:image/svg+xml;base64", str(PIXELS))
            assert len(drawing) > 5
            assert {element.tag.rpartition("}")[2] for element in drawing} <= {
                *("rect", "polygon", "polyline", "path", "text")
            }
            assert b"town" not in base64.b64decode(text), "numbers of the scene, and no text of it"
            config = ElementTree.fromstring((tmp_path / "config.xml").read_text())
            assert [label.attrib["value"] for label in config.iter("Label")] == [*TIMES]
            shown = Frame(*task["data"]["frame_m"])
            track = min(futures, key=lambda own: abs(own - 1))
            places = np.clip(futures[track], [shown.back, -shown.side], [shown.front, shown.side])
            marks = [mark(time, *place, shown) for time, place in zip(TIMES, places.tolist(), strict=True)]
            proposals = [prediction["result"] for prediction in draft["predictions"]]
            assert len(proposals) == 5
            filled = [annotated(task, *marks), annotated(draft, *proposals[0])]
            assert outcomes(await studio.imported(filled)) == ["accepted", "accepted"]
            assert outcomes(await studio.imported(filled)) == ["duplicate", "duplicate"]
        values = [(await served.resolution(entry["prediction_id"]))["value"] for entry in answered]
    assert any(None not in value and np.allclose(value, places, atol=1e-9) for value in values)
    best = [np.array(entry["trajectories_m"])[np.argmax(entry["confidences"])] for entry in answered]
    assert any(None not in value and np.allclose(value, plan, atol=1e-4) for value in values for plan in best), (
        "a draft that is sent as it came is the prediction"
    )
