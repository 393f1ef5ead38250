"""Tags of scenes as lines of the released file, and back."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data import tags
from models.tasks.motion.protocol.motion_pb2 import SceneTags

PATH = Path("dev_tags.txt")
NUMBERS = st.fixed_dictionaries(
    {field: st.sampled_from(sorted(values.values())) for field, values in tags.VALUES.items()}
)


@given(NUMBERS)
def test_lines_read_back_as_the_scene_says(numbers: dict[str, int]) -> None:
    scene_tags = tags.of_scene(SceneTags(**numbers))
    assert tags.parsed(PATH, 1, tags.line(scene_tags)) == scene_tags
    assert {field: tags.VALUES[field][value] for field, value in scene_tags.items()} == numbers


def test_unknown_values_vanish_from_the_line_and_come_back() -> None:
    scene = SceneTags(track=1, precipitation=1, day_time=1)
    line = tags.line(tags.of_scene(scene))
    assert json.loads(line) == {"day_time": "kNight", "track": "Moscow", "precipitation": "kNoPrecipitation"}
    scene_tags = tags.parsed(PATH, 1, '{"track": "Moscow"}')
    assert (scene_tags["track"], scene_tags["sun_phase"], scene_tags["season"]) == (
        "Moscow",
        "UnknownSunPhase",
        "UnknownSeason",
    )


def test_other_keys_and_numbers_beyond_the_enumeration_stay() -> None:
    scene_tags = tags.of_scene(SceneTags(track=9)) | {"city": "Pittsburgh"}
    assert scene_tags["track"] == "9"
    assert tags.parsed(PATH, 1, tags.line(scene_tags)) == scene_tags


@pytest.mark.parametrize("text", ["kRain", "Rain", "krain", "RAIN"])
def test_values_are_found_with_and_without_k(text: str) -> None:
    assert tags.plain("precipitation", text) == "Rain"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no JSON"),
        ("track=Moscow", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[1]", "is no JSON object of texts"),
        ('{"track": 1}', "is no JSON object of texts"),
        ('{"track": "Atlantis"}', "track 'Atlantis' is not one of UnknownLocation, Moscow, Skolkovo"),
    ],
)
def test_wrong_lines_are_refused_by_file_and_line(text: str, message: str) -> None:
    with pytest.raises(BadFile, match=rf"dev_tags.txt, line 7: .*{message}"):
        tags.parsed(PATH, 7, text)
