"""Scans in the official layout are found by the names of their files, and refused where these do not fit."""

import gzip
from pathlib import Path

import nibabel
import numpy as np
import pytest

from models.evaluation.unit_errors import BadFile
from models.tasks.lesion.data import official
from tests.models.lesion.nifti import SHAPE, box, saved

RNG = np.random.default_rng(0)


def written(folder: Path, case_id: str, *, flat: bool = False, **changed: object) -> Path:
    """The files of one scan below a split's folder; None leaves one out."""
    volumes = {
        "flair": RNG.random(SHAPE) + 1,
        "t1": RNG.random(SHAPE) + 2,
        "gt": box(2),
        "fg_mask": np.ones(SHAPE, bool),
    } | changed
    for kind, values in volumes.items():
        if values is not None:
            saved((folder if flat else folder / kind) / official.NAMES[kind].format(id=case_id), values)
    return folder


def test_real_layouts_of_several_data_sets_are_read_below_one_root(tmp_path: Path) -> None:
    written(tmp_path / "shifts_ms_pt1" / "msseg" / "train", "10")
    written(tmp_path / "shifts_ms_pt1" / "msseg" / "train", "2", t1=None)
    written(tmp_path / "shifts_ms_pt1" / "msseg" / "eval_in", "2")
    written(tmp_path / "shifts_ms_pt2" / "best" / "train", "2")
    written(tmp_path / "shifts_ms_pt2" / "ljubljana" / "dev_out", "1", gt=None, fg_mask=None)
    saved(tmp_path / "shifts_ms_pt1" / "msseg" / "train" / "t2" / "2_T2_isovox.nii.gz", np.ones(SHAPE))
    cases = official.cases(tmp_path)
    assert [(case.site, case.split, case.id) for case in cases] == [
        ("best", "train", "2"),
        ("ljubljana", "dev_out", "1"),
        ("msseg", "train", "2"),
        ("msseg", "train", "10"),
        ("msseg", "eval_in", "2"),
    ]
    assert cases[2].t1 is None
    assert cases[1].truth is None
    assert cases[1].brain is None
    assert {case.site for case in official.cases(tmp_path, "train")} == {"best", "msseg"}
    inner = tmp_path / "shifts_ms_pt1" / "msseg" / "train"
    assert [(case.site, case.split, case.id) for case in official.cases(inner)] == [
        ("msseg", "train", "2"),
        ("msseg", "train", "10"),
    ]


def test_ids_belong_together_by_name_whatever_digits_folders_have(tmp_path: Path) -> None:
    """The released loader sorts by all digits of the path; a file that lacks shifts its pairs."""
    split = tmp_path / "shifts_2022" / "site7" / "train"
    for number, case_id in enumerate(("1", "2", "3")):
        written(split, case_id, gt=box(number))
    (split / "t1" / "1_T1_isovox.nii.gz").unlink()
    for number, case in enumerate(official.cases(tmp_path)):
        assert case.flair.name.startswith(case.id)
        assert (case.t1 is None) == (case.id == "1")
        np.testing.assert_array_equal(official.load(case, ("flair",)).truth, box(number))


def test_files_may_all_lie_in_one_folder(tmp_path: Path) -> None:
    written(tmp_path / "mine", "x", flat=True)
    (case,) = official.cases(tmp_path)
    assert (case.site, case.split, case.id) == ("mine", "", "x")
    assert case.truth is not None


def test_channels_come_in_the_order_asked_for(tmp_path: Path) -> None:
    first, second = RNG.random(SHAPE).astype(np.float32), RNG.random(SHAPE).astype(np.float32)
    written(tmp_path / "a" / "train", "1", flair=first, t1=second)
    (case,) = official.cases(tmp_path)
    both = official.load(case, ("t1", "flair"))
    np.testing.assert_array_equal(both.volumes, [second, first])
    assert both.volumes.dtype == np.float32
    np.testing.assert_array_equal(both.affine, np.eye(4))
    assert official.load(case, ("flair",)).volumes.shape == (1, *SHAPE)


def test_what_is_missing_or_doubled_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="is no folder"):
        official.cases(tmp_path / "nowhere")
    with pytest.raises(BadFile, match="holds no scans"):
        official.cases(tmp_path)
    with pytest.raises(BadFile, match="split is 'test'; the official ones are train"):
        official.cases(tmp_path, "test")
    split = written(tmp_path / "a" / "train", "1", t1=None)
    with pytest.raises(BadFile, match="holds no scans of the split dev_in"):
        official.cases(tmp_path, "dev_in")
    with pytest.raises(BadFile, match=r"scan 1 has no 1_T1_isovox\.nii\.gz, and t1 is asked"):
        official.load(official.cases(tmp_path)[0], ("flair", "t1"))
    double = saved(split / "1_gt_isovox.nii.gz", box(1))
    with pytest.raises(BadFile, match=r"1_gt_isovox\.nii\.gz and .* are one image of one scan"):
        official.cases(tmp_path)
    double.unlink()
    written(tmp_path / "part2" / "a" / "train", "1")
    with pytest.raises(BadFile, match="are one scan by name"):
        official.cases(tmp_path)
    written(tmp_path / "b" / "train", "7", flair=None)
    with pytest.raises(BadFile, match=r"has no 7_FLAIR_isovox\.nii\.gz"):
        official.cases(tmp_path / "b")


@pytest.mark.parametrize("kind", ["t1", "gt", "fg_mask"])
def test_images_of_another_grid_are_refused(tmp_path: Path, kind: str) -> None:
    split = written(tmp_path / "a" / "train", "1")
    path = split / kind / official.NAMES[kind].format(id="1")
    saved(path, np.ones((*SHAPE[:2], SHAPE[2] + 1)))
    with pytest.raises(BadFile, match=r"has the shape \[12, 10, 9\], and .*FLAIR.* \[12, 10, 8\]"):
        official.load(official.cases(tmp_path)[0], ("flair", "t1"))
    affine = np.diag([1.0, 1, 1, 1])
    affine[0, 3] = 0.5
    nibabel.save(nibabel.Nifti1Image(np.ones(SHAPE, np.uint8), affine), path)
    with pytest.raises(BadFile, match=r"lies up to 0\.5 mm away from .*FLAIR"):
        official.load(official.cases(tmp_path)[0], ("flair", "t1"))
    affine[0, 3] = 0.05
    nibabel.save(nibabel.Nifti1Image(np.ones(SHAPE, np.uint8), affine), path)
    official.load(official.cases(tmp_path)[0], ("flair", "t1"))


def test_voxels_that_are_no_numbers_and_masks_that_are_none_are_refused(tmp_path: Path) -> None:
    split = written(tmp_path / "a" / "train", "1")
    (case,) = official.cases(tmp_path)
    for wrong in (np.nan, np.inf, 1e300):
        values = np.ones(SHAPE)
        values[3, 3, 3] = wrong
        saved(split / "flair" / "1_FLAIR_isovox.nii.gz", values, kind=np.float64)
        with pytest.raises(BadFile, match="not finite in float32"):
            official.load(case, ("flair",))
    written(split, "1", gt=2 * box(1).astype(np.uint8))
    with pytest.raises(BadFile, match=r"holds 2\.0; a mask is 0 or 1"):
        official.load(case, ("flair",))
    case.flair.write_bytes(gzip.compress(b"no image"))
    with pytest.raises(BadFile, match="cannot be read as NIfTI"):
        official.load(case, ("flair",))
