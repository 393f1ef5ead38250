"""``demur score lesion`` against a service that keeps the contract: what is written, and that ``evaluate`` reads it."""

import json
from pathlib import Path

import nibabel
import numpy as np
import pytest

from models.evaluation.unit_errors import ErrorOptions
from models.tasks.lesion.data import inputs, predictions
from services.cli import main
from tests.clients.lesion_service import SINGLE, LesionStandIn
from tests.clients.stand_in import serving
from tests.services.tasks.tables import table

SHAPE = (30, 32, 28)
AFFINE = np.array([[-1.0, 0, 0, 14], [0, 1, 0, -15], [0, 0, 1, -13], [0, 0, 0, 1]])


def volume(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An image, the brain in it, and its lesions."""
    random = np.random.default_rng(seed)
    brain = np.zeros(SHAPE, bool)
    brain[3:-3, 3:-3, 3:-3] = True
    truth = np.zeros(SHAPE, bool)
    truth[8:13, 8:13, 8:13] = truth[18:21, 20:24, 12:15] = True
    return np.where(brain, random.normal(1, 0.3, SHAPE) + 4 * truth, 0), brain, truth


def save(path: Path, values: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = np.uint8 if values.dtype == bool else np.float32
    nibabel.save(nibabel.Nifti1Image(values.astype(kind), AFFINE), path)
    return path


def official(root: Path, scan_id: str, seed: int = 0) -> None:
    flair, brain, truth = volume(seed)
    save(root / "flair" / f"{scan_id}_FLAIR_isovox.nii.gz", flair)
    save(root / "t1" / f"{scan_id}_T1_isovox.nii.gz", flair)
    save(root / "fg_mask" / f"{scan_id}_isovox_fg_mask.nii.gz", brain)
    save(root / "gt" / f"{scan_id}_gt_isovox.nii.gz", truth)


def score(target: str, *arguments: object) -> int:
    return main(["score", "lesion", *map(str, arguments), "--target", target])


def test_one_file_of_any_name(target: str, lesion: LesionStandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    flair, brain, truth = volume()
    scan, mask = save(tmp_path / "anna.nii", flair), save(tmp_path / "brain.nii.gz", brain)
    gold = save(tmp_path / "gold.nii.gz", truth)
    out = tmp_path / "new" / "out"
    assert score(target, scan, out, "--brain-mask", mask, "--t1", scan, "--truth", gold, "--figure") == 0
    output = capsys.readouterr().out
    assert "anna: answered" in output
    assert output.endswith(f"1 scan, 0 deferred, 0 shifted → {out}\n")
    assert lesion.scans == [
        {"flair": scan.read_bytes(), "t1": scan.read_bytes(), "brain_mask": mask.read_bytes()},
    ]
    kinds = ("pred_seg", "pred_prob", "uncs_entropy", "uncs_data_entropy", "uncs_mi", "uncs_rmi", "advice")
    names = {f"anna_{kind}.nii.gz" for kind in kinds} | {"anna_lesions.csv", "anna_figure.png", "summary.csv"}
    assert {path.name for path in out.iterdir()} == names
    image = nibabel.load(out / "anna_pred_seg.nii.gz")
    np.testing.assert_array_equal(np.asarray(image.dataobj) == 1, truth)
    np.testing.assert_array_equal(image.affine, AFFINE)
    assert (out / "anna_figure.png").read_bytes().startswith(b"\x89PNG")
    assert [row["volume_mm3"] for row in table(out / "anna_lesions.csv")] == ["1200.0", "34.5"]
    (row,) = table(out / "summary.csv")
    assert (row["id"], row["folder"], row["decision"], row["measure"]) == (
        "anna",
        ".",
        "answer",
        "scan_structural_uncertainty",
    )
    assert (row["count"], row["count_lower"], row["count_upper"], row["level"]) == ("2", "1.0", "4.0", "0.9")
    assert (row["volume_mm3_upper"], row["shifted"], row["remarks"]) == ("2000.0", "0", "thick_slices")
    assert (row["prediction_id"], row["error"]) == ("000000000000feed-100", "")


def test_a_folder_of_sites_keeps_its_folders_and_can_be_judged(
    target: str, lesion: LesionStandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    for place, ids in {"best/dev_in": ("2", "10"), "ljubljana/dev_out": ("2",)}.items():
        for scan_id in ids:
            official(data / place, scan_id, seed=int(scan_id))
    assert score(target, data, out, "--json", "--purpose", "explore") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["scans"], document["deferred"], document["shifted"], document["failed"]) == (3, 1, 1, 0)
    order = [("best/dev_in", "2"), ("best/dev_in", "10"), ("ljubljana/dev_out", "2")]
    assert [(answer["folder"], answer["id"]) for answer in document["answers"]] == order
    assert [(row["folder"], row["id"]) for row in table(out / "summary.csv")] == order
    assert [set(scan) for scan in lesion.scans] == [{"flair", "brain_mask"}] * 3, "the model wants no T1"
    assert "best/dev_in/2_pred_seg.nii.gz" in document["answers"][0]["files"]
    judged = predictions.read(out, ErrorOptions(companions={"ground_truth": str(data)}))
    errors = judged.errors["ndsc_error"].values
    assert len(errors) == 3
    assert judged.shifted.tolist() == [False, False, True]
    assert judged.groups["folder"].tolist() == ["best/dev_in", "best/dev_in", "ljubljana/dev_out"]
    assert errors.max() < 0.01, "these lesions are easy"
    assert next(iter(judged.measures)) == "mean_rmi"


@pytest.mark.parametrize("channels", [("flair", "t1"), ()])
def test_models_that_want_t1_or_do_not_say_get_it(
    target: str, lesion: LesionStandIn, tmp_path: Path, channels: tuple[str, ...]
) -> None:
    lesion.channels = channels
    official(tmp_path / "data", "1")
    assert score(target, tmp_path / "data", tmp_path / "out") == 0
    assert set(lesion.scans[0]) == {"flair", "t1", "brain_mask"}
    assert score(target, tmp_path / "data" / "flair" / "1_FLAIR_isovox.nii.gz", tmp_path / "one") == 0
    assert lesion.scans[0] == lesion.scans[1], "a scan alone is asked about as in its folder"


def test_single_models_are_judged_by_entropy(target: str, lesion: LesionStandIn, tmp_path: Path) -> None:
    lesion.maps = SINGLE
    official(tmp_path / "data", "1")
    assert score(target, tmp_path / "data", tmp_path / "out", "--figure") == 0
    judged = predictions.read(tmp_path / "out", ErrorOptions(companions={"ground_truth": str(tmp_path / "data")}))
    assert list(judged.measures) == ["mean_entropy"]
    assert table(tmp_path / "out" / "summary.csv")[0]["rmi"] == ""


def test_a_scan_that_fails_spoils_no_other(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    for scan_id in ("1", "3"):
        official(data, scan_id)
    (data / "flair" / "2_FLAIR_isovox.nii.gz").write_bytes(b"bad")
    save(data / "gt" / "3_gt_isovox.nii.gz", np.zeros((2, 2, 2), bool))
    assert score(target, data, out, "--figure") == 1
    output = capsys.readouterr().out
    assert "2: failed: flair is not NIfTI" in output
    assert "3 scans, 0 deferred, 0 shifted, 1 failed, 1 without a figure" in output
    rows = table(out / "summary.csv")
    assert [bool(row["error"]) for row in rows] == [False, True, True]
    assert "has the shape [2, 2, 2], and the image [30, 32, 28]" in rows[2]["error"]
    assert (out / "3_pred_seg.nii.gz").is_file(), "only its figure is missing"
    assert not (out / "2_pred_seg.nii.gz").exists()


def test_a_withheld_prediction_leaves_its_decision(target: str, lesion: LesionStandIn, tmp_path: Path) -> None:
    lesion.withhold = True
    for scan_id in ("1", "2"):
        official(tmp_path / "data", scan_id)
    assert score(target, tmp_path / "data", tmp_path / "out", "--figure") == 0
    rows = table(tmp_path / "out" / "summary.csv")
    assert [(row["decision"], row["count"]) for row in rows] == [("answer", "2"), ("defer", "")]
    assert not (tmp_path / "out" / "2_figure.png").exists()


def test_what_came_before_the_service_was_lost_is_written(
    lesion: LesionStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for scan_id in "123":
        official(tmp_path / "data", scan_id)
    right = lesion.answer

    def lost(number, *others):
        if number == 1:
            raise RuntimeError("lost")
        return right(number, *others)

    monkeypatch.setattr(lesion, "answer", lost)
    with serving(lesion) as target:
        assert score(target, tmp_path / "data", tmp_path / "out") == 1
    assert [row["id"] for row in table(tmp_path / "out" / "summary.csv")] == ["1"]
    assert "demur score: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.nii.gz", "out"], "does not exist"),
        (["text.txt", "out"], "is no image by its name"),
        (["empty", "out"], "has no scans"),
        (["data", "text.txt"], "the output must be a folder"),
        (["data", "out", "--truth", "text.txt"], "--truth is for a single scan"),
        (["double", "out"], "are of one scan by name"),
    ],
)
def test_what_cannot_be_scored_is_said_before_the_service_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    official(tmp_path / "data", "1")
    official(tmp_path / "double", "1")
    save(tmp_path / "double" / "1_FLAIR_isovox.nii.gz", volume()[0])
    assert score("127.0.0.1:9", *arguments) == 1
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_digits_of_folders_and_order_mean_nothing(tmp_path: Path) -> None:
    for place in ("shifts_ms_pt2/best/train", "shifts_ms_pt1/msseg/train"):
        official(tmp_path / place, "7")
    scans = inputs.find(tmp_path)
    assert [(entry.id, entry.folder.as_posix()) for entry in scans] == [
        ("7", "shifts_ms_pt1/msseg/train"),
        ("7", "shifts_ms_pt2/best/train"),
    ]
    for scan in scans:
        for path in (scan.t1, scan.brain_mask, scan.truth):
            assert path is not None
            assert path.is_relative_to(tmp_path / scan.folder)
