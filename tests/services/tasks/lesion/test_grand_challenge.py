"""``demur score lesion`` on folders of Grand Challenge, made and read by ITK."""

import json
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from models.evaluation.unit_errors import ErrorOptions
from models.tasks.lesion.data import predictions
from services.cli import main
from tests.clients.lesion_service import LesionStandIn
from tests.services.tasks.tables import table

SHAPE = (30, 32, 28)
DIRECTION = np.array([[0.0, 0, -1], [1, 0, 0], [0, -1, 0]])
"""Axes that grow to the back, to the feet and to the right: a matrix that is not its own transpose."""
SLOTS = [f"images/white-matter-multiple-sclerosis-lesion-{kind}" for kind in ("segmentation", "uncertainty-map")]


def made(values: np.ndarray) -> Any:
    """An image of ITK with odd directions."""
    itk = pytest.importorskip("SimpleITK")
    image = itk.GetImageFromArray(values.transpose())
    image.SetSpacing((1.0, 1.0, 1.0))
    image.SetOrigin((-14.0, 15.5, -13.25))
    image.SetDirection(DIRECTION.ravel().tolist())
    return image


def volumes(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """An image and its lesions."""
    random = np.random.default_rng(seed)
    truth = np.zeros(SHAPE, bool)
    truth[8:13, 8:13, 8:13] = truth[18:21, 20:24, 12:15] = True
    image = np.zeros(SHAPE, np.float32)
    image[3:-3, 3:-3, 3:-3] = (random.normal(1, 0.3, SHAPE) + 4 * truth)[3:-3, 3:-3, 3:-3]
    return image, truth


def given(root: Path, *names: str) -> None:
    """Images as the challenge gives them, and truths with official names."""
    itk = pytest.importorskip("SimpleITK")
    folder = root / "input" / "images" / "brain-mri"
    folder.mkdir(parents=True)
    (root / "truth").mkdir()
    for number, name in enumerate(names):
        image, truth = volumes(number)
        itk.WriteImage(made(image), str(folder / f"{name}.mha"), True)
        itk.WriteImage(made(truth.astype(np.uint8)), str(root / "truth" / f"{name}_gt_isovox.mha"))


def summary(out: Path) -> list[dict[str, str]]:
    return table(out / "summary.csv")


def score(target: str, *words: object) -> int:
    return main(["score", "lesion", *map(str, words), "--target", target])


def test_a_folder_of_the_challenge_goes_in_and_out(
    target: str, lesion: LesionStandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    itk = pytest.importorskip("SimpleITK")
    given(tmp_path, "0f3a", "77b1")
    out = tmp_path / "out"
    assert score(target, tmp_path / "input", out, "--submission") == 0
    sent = nibabel.Nifti1Image.from_bytes(lesion.scans[0]["flair"])
    image, truth = volumes(0)
    np.testing.assert_array_equal(np.asarray(sent.dataobj), image)
    source = made(image)
    for index in ((0, 0, 0), (29, 3, 7), (2, 31, 27)):
        place = np.array(source.TransformIndexToPhysicalPoint(index)) * (-1, -1, 1)
        np.testing.assert_allclose((sent.affine @ [*index, 1])[:3], place, atol=1e-4)
    mask, uncertainty = (itk.ReadImage(str(out / slot / "0f3a.mha")) for slot in SLOTS)
    for written in (mask, uncertainty):
        assert written.GetSize() == source.GetSize()
        np.testing.assert_allclose(written.GetDirection(), source.GetDirection(), atol=1e-12)
        np.testing.assert_allclose(written.GetOrigin(), source.GetOrigin(), atol=1e-12)
    np.testing.assert_array_equal(itk.GetArrayFromImage(mask).transpose() == 1, truth)
    rmi = nibabel.load(out / "0f3a_uncs_rmi.nii.gz")
    np.testing.assert_array_equal(itk.GetArrayFromImage(uncertainty).transpose(), np.asarray(rmi.dataobj, np.float32))
    results = json.loads((out / "results.json").read_text())
    assert results[0] == {
        "segmentation": [{"type": "metaio_image", "filename": "0f3a.mha"}],
        "uncertainty": [{"type": "metaio_image", "filename": "0f3a.mha"}],
        "inputs": [{"type": "metaio_image", "filename": "0f3a.mha"}],
        "error_messages": [],
    }
    assert len(results) == 2


def test_the_submission_alone_is_judged_as_the_nifti_files_are(target: str, tmp_path: Path) -> None:
    given(tmp_path, "0f3a", "77b1")
    out = tmp_path / "out"
    assert score(target, tmp_path / "input" / "images" / "brain-mri", out, "--submission") == 0
    (tmp_path / "alone").mkdir()
    (out / "images").rename(tmp_path / "alone" / "images")
    options = ErrorOptions(companions={"ground_truth": str(tmp_path / "truth")})
    official, challenge = predictions.read(out, options), predictions.read(tmp_path / "alone", options)
    assert official.labels == challenge.labels
    for name, column in official.errors.items():
        np.testing.assert_array_equal(column.values, challenge.errors[name].values, err_msg=name)
    np.testing.assert_allclose(official.measures["mean_rmi"], challenge.measures["mean_rmi"], rtol=1e-6)
    assert official.errors["ndsc_error"].values.max() < 0.01


def test_a_broken_image_spoils_no_other(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given(tmp_path, "a", "b", "c")
    image = tmp_path / "input" / "images" / "brain-mri" / "b.mha"
    image.write_bytes(image.read_bytes()[:-100])
    out = tmp_path / "out"
    assert score(target, tmp_path / "input", out, "--submission") == 1
    rows = summary(out)
    assert [(row["id"], row["reason"]) for row in rows if row["decision"] == "defer" and row["error"]] == [
        ("b", "invalid_input")
    ]
    assert "b.mha cannot be read as MetaImage" in rows[1]["error"]
    assert [case["error_messages"] == [] for case in json.loads((out / "results.json").read_text())] == [
        True,
        False,
        True,
    ]
    assert sorted(path.name for path in (out / SLOTS[0]).iterdir()) == ["a.mha", "c.mha"]
    assert score(target, tmp_path / "input", tmp_path / "skip", "--on-error", "skip") == 1
    assert "b" not in [row["id"] for row in summary(tmp_path / "skip")]
    assert score(target, tmp_path / "input", tmp_path / "fail", "--on-error", "fail", "--submission") == 1
    assert [row["id"] for row in summary(tmp_path / "fail")] == ["a"]
    assert len(json.loads((tmp_path / "fail" / "results.json").read_text())) == 2
    assert "demur score: b: " in capsys.readouterr().err


def test_images_of_several_kinds_are_refused(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given(tmp_path, "a")
    other = tmp_path / "input" / "images" / "t1-mri"
    other.mkdir()
    (other / "a.mha").write_bytes((tmp_path / "input" / "images" / "brain-mri" / "a.mha").read_bytes())
    assert score(target, tmp_path / "input", tmp_path / "out") == 1
    assert "kinds brain-mri, t1-mri; give the folder of the FLAIR images" in capsys.readouterr().err
