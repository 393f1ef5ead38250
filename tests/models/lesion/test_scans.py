"""Files found by name in any folder, what folders say, and refusals that name the file."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import BadFile, ErrorOptions, UnitErrors
from models.tasks.lesion.data.predictions import read
from tests.models.lesion.nifti import SHAPE, box, saved, scan


def notes(judged: UnitErrors) -> str:
    return "; ".join(judged.notes)


def test_folders_say_what_is_shifted_and_digits_in_them_do_not_matter(tmp_path: Path) -> None:
    places = {
        "pt1/msseg/dev_in": False,
        "pt2/best/eval_in": False,
        "pt1/train": False,
        "pt2/Ljubljana/7": True,
        "pt3/eval_out": True,
        "site/Shifted": True,
    }
    for number, folder in enumerate(places, 10):
        scan(tmp_path / folder, str(number), seed=number)
    judged = read(tmp_path, ErrorOptions(by=("folder",)))
    actual = dict(zip(judged.groups["folder"].tolist(), judged.shifted.tolist(), strict=True))
    assert actual == places
    section = evaluate(judged, ("folder",)).document()["by"]["folder"]["pt1/train"]
    assert section["n"] == 1
    scan(tmp_path / "routine", "2")  # "out" inside a word
    judged = read(tmp_path, ErrorOptions())
    assert judged.shifted is None
    assert "no folder says whether shifted, so no scan counts as either: 2" in notes(judged)


def test_scans_come_by_folder_and_number(tmp_path: Path) -> None:
    for name in ("10", "9", "b"):
        scan(tmp_path, name, uncs_rmi=np.full(SHAPE, float(name) if name.isdigit() else 0.0))
    assert read(tmp_path, ErrorOptions()).measures["mean_rmi"].tolist() == [0, 9, 10]


def test_ground_truth_may_lie_elsewhere_in_folders_of_its_own(tmp_path: Path) -> None:
    """The published layout: one folder a kind, below one a part; both parts count their patients from 1."""
    for part, value in (("dev_in", 0.1), ("dev_out", 0.2)):
        scan(
            tmp_path / "predictions" / part,
            "1",
            gt_isovox=None,
            isovox_fg_mask=None,
            pred_seg=box(1) if part == "dev_in" else box(4),
            uncs_rmi=np.full(SHAPE, value),
        )
        data = tmp_path / "data" / part
        saved(data / "gt" / "1_gt_isovox.nii.gz", box(1) if part == "dev_in" else box(4))
        saved(data / "fg_mask" / "1_isovox_fg_mask.nii.gz", np.ones(SHAPE, bool))
    saved(tmp_path / "data" / "dev_out" / "gt" / "2_gt_isovox.nii.gz", box(1))
    judged = read(tmp_path / "predictions", ErrorOptions(companions={"ground_truth": tmp_path / "data"}))
    assert judged.errors["dice_error"].values.tolist() == [0, 0]
    assert judged.shifted.tolist() == [False, True]
    assert judged.notes == ("1 ground truths have no prediction and are left out: 2",)


def test_one_scan_may_have_a_folder_for_each_kind(tmp_path: Path) -> None:
    values = scan(tmp_path / "all", "5")
    for kind, volume in values.items():
        saved(tmp_path / "apart" / kind / f"5_{kind}.nii.gz", volume)
    together, apart = (read(tmp_path / name, ErrorOptions()) for name in ("all", "apart"))
    assert together.own is not None
    assert apart.own is not None
    assert together.own(None) == apart.own(None)
    assert together.labels == apart.labels


def without(folder: Path, name: str) -> None:
    (folder / name).unlink()


WRONG = {
    "no truth": (lambda d: without(d, "1_gt_isovox.nii.gz"), "1_pred_seg.nii.gz has no ground truth: 1_gt_isovox"),
    "no map": (lambda d: without(d, "1_uncs_rmi.nii.gz"), "1_pred_seg.nii.gz has no uncertainty map: 1_uncs_rmi"),
    "no prediction": (lambda d: without(d, "1_pred_seg.nii.gz"), "has no predictions: files ID_pred_seg.nii.gz"),
    "shape": (lambda d: saved(d / "1_pred_seg.nii.gz", box(1)[1:]), r"1_pred_seg.nii.gz has the shape \[11, 10, 8\]"),
    "map shape": (lambda d: saved(d / "1_uncs_rmi.nii.gz", np.ones((3, 3, 3))), "1_uncs_rmi.nii.gz has the shape"),
    "mask shape": (lambda d: saved(d / "1_isovox_fg_mask.nii.gz", box(1)[1:]), "1_isovox_fg_mask.nii.gz has the sh"),
    "flat": (
        lambda d: saved(d / "1_gt_isovox.nii.gz", box(1)[0]),
        r"1_gt_isovox.nii.gz has the shape \[10, 8\]; a vol",
    ),
    "values": (lambda d: saved(d / "1_pred_seg.nii.gz", 0.5 * box(1)), "1_pred_seg.nii.gz holds 0.5; a mask is 0 or 1"),
    "truth values": (lambda d: saved(d / "1_gt_isovox.nii.gz", 2.0 * box(1)), "1_gt_isovox.nii.gz holds 2.0"),
    "truth nan": (lambda d: saved(d / "1_gt_isovox.nii.gz", np.full(SHAPE, np.nan)), "1_gt_isovox.nii.gz holds nan"),
    "map nan": (lambda d: saved(d / "1_uncs_rmi.nii.gz", np.full(SHAPE, np.nan)), "1_uncs_rmi.nii.gz is not finite in"),
    "all lesion": (lambda d: saved(d / "1_gt_isovox.nii.gz", np.ones(SHAPE, bool)), "marks every voxel as lesion"),
    "no brain": (lambda d: saved(d / "1_isovox_fg_mask.nii.gz", np.zeros(SHAPE, bool)), "1_isovox_fg_mask.* is empty"),
    "one member": (lambda d: saved(d / "1_pred_prob_member0.nii.gz", 0.5 * box(1)), "is the only member of its scan"),
    "probability": (
        lambda d: [without(d, "1_pred_seg.nii.gz"), saved(d / "1_pred_prob.nii.gz", 3.0 * box(1))],
        "1_pred_prob.nii.gz holds 3.0; probabilities lie between 0 and 1",
    ),
    "unlike measures": (
        lambda d: [scan(d, "2"), saved(d / "2_uncs_entropy.nii.gz", np.ones(SHAPE))],
        "1_pred_seg.nii.gz has no 1_uncs_entropy.nii.gz, and scan 2 has",
    ),
    "unlike members": (
        lambda d: scan(d, "2", pred_prob_member1=0.5 * box(1), pred_prob_member2=0.5 * box(1)),
        "2_pred_seg.nii.gz has another number of members than scan 1",
    ),
    "twice": (
        lambda d: saved(d / "more" / "1_uncs_rmi.nii.gz", np.ones(SHAPE)),
        "more/1_uncs_rmi.nii.gz belongs to no scan",
    ),
    "one truth for two": (
        lambda d: [scan(d / "x", "1", gt_isovox=None)],
        "1_gt_isovox.nii.gz would serve two scans of id 1",
    ),
    "orphan": (lambda d: saved(d / "9_uncs_rmi.nii.gz", np.ones(SHAPE)), "9_uncs_rmi.nii.gz belongs to no scan"),
    "garbage": (lambda d: (d / "1_pred_seg.nii.gz").write_bytes(b"\x07" * 500), "1_pred_seg.nii.gz cannot be read"),
    "garbage inside": (
        lambda d: (d / "1_pred_seg.nii.gz").write_bytes(gzip.compress(b"\x07" * 500)),
        "1_pred_seg.nii.gz cannot be read as NIfTI",
    ),
    "empty file": (lambda d: (d / "1_gt_isovox.nii.gz").write_bytes(b""), "1_gt_isovox.nii.gz cannot be read as NIfTI"),
    "cut off": (
        lambda d: (d / "1_uncs_rmi.nii.gz").write_bytes((d / "1_uncs_rmi.nii.gz").read_bytes()[:900]),
        "1_uncs_rmi.nii.gz cannot be read as NIfTI",
    ),
}


@pytest.mark.parametrize("case", WRONG, ids=WRONG)
def test_wrong_folders_are_refused_by_file(case: str, tmp_path: Path) -> None:
    scan(tmp_path)
    read(tmp_path, ErrorOptions())
    spoil, message = WRONG[case]
    spoil(tmp_path)
    with pytest.raises(BadFile, match=message) as refusal:
        read(tmp_path, ErrorOptions())
    assert str(tmp_path) in str(refusal.value)


def test_what_is_no_folder_or_an_empty_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="has no predictions"):
        read(tmp_path, ErrorOptions())
    with pytest.raises(BadFile, match="1.nii.gz is no folder"):
        read(saved(tmp_path / "1.nii.gz", box(1)), ErrorOptions())
    scan(tmp_path)
    with pytest.raises(BadFile, match="nowhere is no folder"):
        read(tmp_path, ErrorOptions(companions={"ground_truth": tmp_path / "nowhere"}))


def test_garbled_headers_are_refused_in_words_whatever_the_bytes(tmp_path: Path) -> None:
    scan(tmp_path)
    path = tmp_path / "1_pred_seg.nii.gz"
    plain, rng = gzip.decompress(path.read_bytes()), np.random.default_rng(2)
    for _ in range(200):
        content = bytearray(plain)
        for index in rng.integers(0, 352, 2):
            content[index] ^= int(rng.integers(1, 256))
        path.write_bytes(gzip.compress(bytes(content), 1))
        try:
            read(path.parent, ErrorOptions())
        except BadFile as refusal:
            named = str(path) in str(refusal)
            assert named, refusal  # noqa: PT017


@pytest.mark.parametrize("folder", ["dev_in/out", "fold_out", "time_out/x", "not_shifted", "site"])
def test_folders_that_say_nothing_or_both_leave_the_domain_open(tmp_path: Path, folder: str) -> None:
    scan(tmp_path / folder)
    assert read(tmp_path, ErrorOptions()).shifted is None
