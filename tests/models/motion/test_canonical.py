"""The canonical partition as the released filters have it, and rules of one's own."""

from pathlib import Path

import pytest

from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data import canonical, tags
from models.tasks.motion.data.canonical import CANONICAL, Partition, Rule, rule

PLACES, WEATHER = tuple(tags.VALUES["track"]), tuple(tags.VALUES["precipitation"])
OUTSIDE = {"train": (), "dev": ("Skolkovo", "Modiin", "Innopolis"), "eval": ("AnnArbor", "TelAviv")}


@pytest.mark.parametrize("rain", WEATHER)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("split", OUTSIDE)
def test_the_canonical_partition_is_by_place_and_precipitation(split: str, place: str, rain: str) -> None:
    actual = CANONICAL.shifted(split, {"track": place, "precipitation": rain, "day_time": "Night"})
    if place == "Moscow":
        assert actual is (False if rain == "NoPrecipitation" else None)
    else:
        shifted = place in OUTSIDE[split] and rain in ("NoPrecipitation", "Rain", "Snow")
        assert actual is (True if shifted else None), "sleet is in neither part, nor are unknown tags"


def test_without_a_split_the_shifted_scenes_of_any_are_shifted() -> None:
    for place, expected in (("TelAviv", True), ("Modiin", True), ("Moscow", False), ("UnknownLocation", None)):
        assert CANONICAL.shifted("", {"track": place, "precipitation": "NoPrecipitation"}) is expected


def test_tags_that_are_missing_fit_no_rule_and_raise_nothing() -> None:
    assert CANONICAL.shifted("dev", {}) is None
    assert Rule().accepts({})
    assert not rule(["city=Pittsburgh"]).accepts({})
    assert rule(["season=unknownseason"]).accepts(tags.parsed(Path("t"), 1, "{}"))


def test_rules_are_read_from_words_and_files(tmp_path: Path) -> None:
    partition = Partition(rule(["track=Moscow,annarbor", "city=X"]), {"eval": rule(["precipitation=kSnow"])})
    assert partition.inside.accepts({"track": "AnnArbor", "city": "X"})
    assert not partition.inside.accepts({"track": "AnnArbor", "city": "Y"})
    assert canonical.read(tmp_path) is CANONICAL
    (tmp_path / canonical.FILE).write_text(canonical.written(partition))
    assert canonical.read(tmp_path) == partition
    for wrong in ("", "[]", "{}", '{"in": ["track=Rome"], "shifted": {}}', '{"in": [1], "shifted": {}}'):
        (tmp_path / canonical.FILE).write_text(wrong)
        with pytest.raises(BadFile, match="partition.json: no rules of a partition"):
            canonical.read(tmp_path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["track"], "'track' is not of the form TAG=VALUE,VALUE"),
        (["=Moscow"], "not of the form"),
        (["track="], "not of the form"),
        (["track=Moscow", "track=TelAviv"], "track is given twice"),
        (["track=Moskau"], "track 'Moskau' is not one of"),
        (["track=Moscow,"], "track '' is not one of"),
    ],
)
def test_wrong_words_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rule(words)
