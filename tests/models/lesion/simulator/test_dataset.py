"""Which scans there are, and their files."""

import json
from collections import Counter
from pathlib import Path

import nibabel
import numpy as np
import pytest

from models.tasks.lesion.data import official
from services.cli import main
from simulators.lesion import actions, dataset
from simulators.lesion.cohort import entries
from tests.models.lesion.simulator.brain import average, drawn


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The template is read once."""
    monkeypatch.setattr(dataset.template, "load", average)


def test_the_canonical_splits_have_the_numbers_of_table_1() -> None:
    counted = Counter(entry.split for entry in entries())
    assert counted == {"train": 33, "dev_in": 7, "eval_in": 33, "dev_out": 25, "eval_out": 74}
    assert len({entry.id for entry in entries()}) == 172


def test_scale_multiplies_and_keeps_at_least_one_scan() -> None:
    assert len(list(entries(0.001))) == 14
    assert Counter(entry.split for entry in entries(2.0))["dev_out"] == 50
    small = {entry.id for entry in entries(0.3)}
    assert small < {entry.id for entry in entries(1.0)}


def test_extra_scans_come_beside_or_in_place_of_the_canonical_ones() -> None:
    all_entries = list(entries(1.0, ("site_e",), {"site_e": {"train": 10, "dev_in": 2}, "site_f": {"eval_out": 3}}))
    assert Counter((entry.site, entry.split) for entry in all_entries) == {
        ("site_e", "dev_out"): 25,
        ("site_e", "train"): 10,
        ("site_e", "dev_in"): 2,
        ("site_f", "eval_out"): 3,
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scale": 0.0}, "scale is 0.0; a number above 0"),
        ({"scale": float("nan")}, "scale is nan"),
        ({"sites": ("site_z",)}, "site is 'site_z'; the simulated sites are site_a"),
        ({"extra": {"site_e": {"test": 2}}}, "2 scans of 'test'"),
        ({"extra": {"site_e": {"train": -1}}}, "-1 scans"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_words(given: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(entries(**given))


@pytest.mark.slow
def test_the_command_writes_files_that_the_reader_of_official_files_finds(tmp_path: Path) -> None:
    out = tmp_path / "lesion"
    words = ["data", "lesion", "simulate", "--scale", "0.01", "--sites", "site_f", "--out", str(out)]
    assert main(words) == 0
    (case,) = official.cases(out)
    assert (case.site, case.split, case.id) == ("site_f", "eval_out", "f_eval_out_000")
    loaded = official.load(case, ("t1", "flair"))
    expected = drawn("site_f", "eval_out")
    np.testing.assert_array_equal(loaded.volumes, [expected.t1, expected.flair])
    np.testing.assert_array_equal(loaded.truth, expected.truth)
    np.testing.assert_array_equal(loaded.brain, expected.brain)
    image = nibabel.load(case.flair)
    assert nibabel.aff2axcodes(image.affine) == ("R", "A", "S")
    np.testing.assert_allclose(image.affine @ [71.5, 83.5, 71.5, 1], [0, 0, 0, 1])
    source = json.loads((out / "PROVENANCE.json").read_text())
    assert source["licence"].startswith("CC0-1.0; of the tissue maps: Copyright (C) 1993-2004 Louis Collins")
    assert "ICBM 152" in source["description"]
    again = dataset.write(tmp_path / "again.nii.gz", expected.flair)
    assert case.flair.read_bytes() == again.read_bytes(), "equal scans give equal files"


def test_extra_words_become_numbers_of_scans() -> None:
    assert actions.extra(["site_e:train=10", "site_e:dev_in=2"]) == {"site_e": {"train": 10, "dev_in": 2}}
    for wrong in ("site_e", "site_e:train", "site_e:train=ten", "site_e:train=-1"):
        with pytest.raises(ValueError, match="SITE:SPLIT=COUNT"):
            actions.extra([wrong])
    with pytest.raises(ValueError, match="twice"):
        actions.extra(["site_e:train=1", "site_e:train=2"])
