"""The page of real scans, on toy scans in the folders of the real ones."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("monai")

import torch

from models.calibration import retention_table
from models.tasks.lesion.artefact import build, export
from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.networks import architectures
from models.tasks.lesion.networks.settings import preset
from studies.lesion_real import judge
from studies.lesion_real.__main__ import main
from tests.models.lesion import nifti, toys

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def artefact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two networks that know nothing."""
    settings = preset("tiny", "unet")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        members = [architectures.network(settings.sizes, 32) for _ in range(2)]
    exported = export.exported(
        "unet", members, settings.sizes, seeds=(0, 1), channels=("flair",), window=(32, 32, 32), training={}
    )
    return build.build(exported, Recipe(threshold=0.5), tmp_path_factory.mktemp("made") / "unet-2").directory


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One scan with a mask and one without, as they lie in the real folders."""
    folder = tmp_path / "lesion"
    made = toys.example(1, 48)
    image = 100 + 12 * made.image[0].astype(np.float32)
    image[:4] = 0
    truth = made.truth.copy()
    truth[:4] = False
    cross = folder / "ljubljana_cross_sectional" / "patient07"
    for name, values in {"FLAIR": image, "T1": image, "lesion_mask": truth}.items():
        nifti.saved(cross / f"{name}.nii.gz", values)
    nifti.saved(folder / "ljubljana_longitudinal_raw" / "patient01" / "study1_FLAIR.nii.gz", image)
    monkeypatch.setenv("DEMUR_TEST_DATA", str(tmp_path))
    return folder


def test_the_page_has_a_row_a_scan_and_names_the_authors(artefact: Path, real: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main([str(artefact), "--out", str(out), "--pictures", str(tmp_path / "pictures")]) == 0
    page = (out / "lesion-real.md").read_text()
    rows = [line for line in page.splitlines() if "patient" in line and line.startswith("|")]
    assert [row.split(" | ")[0] for row in rows] == ["| patient07", "| raw patient01 study1"]
    assert "Lesjak" in page
    assert "no independent test set" in page.split("\n\n")[1]
    assert "Run on cpu " in page
    assert "CC BY" in page
    assert "| – | – | – | – |" in rows[1]
    assert all("**deferred**" in row for row in rows)  # nothing is calibrated
    assert (tmp_path / "pictures" / "lesion-real-unet-2.png").stat().st_size > 10_000
    (out / "lesion-real.md").write_text(page + "Seen by a person.\n")
    assert main([str(artefact), "--out", str(out), "--only", "07"]) == 0
    again = (out / "lesion-real.md").read_text()
    assert again.endswith("Seen by a person.\n")
    assert "raw patient01" not in again


def test_scores_and_decisions_are_those_of_the_served_mask(artefact: Path, real: Path) -> None:
    from dataclasses import replace

    from models.assessment.segmentation import ndsc
    from models.tasks.lesion.inference.segment import segment

    opened = judge.opened(artefact)
    assert opened.policy.mode == "defer_all"
    scan = judge.scans(real)[0]
    image, truth = scan.read(("flair",)), scan.lesions()
    assert image is not None
    assert truth is not None
    segmentation = segment(image, opened.members, opened.recipe)
    assert segmentation.structural is not None
    table = retention_table("scan_structural_uncertainty", np.full(99, segmentation.structural, np.float32))
    odd = bool(segmentation.remarks)
    cases = ((0.0, False, "answered"), (-0.01, False, "deferred: uncertainty"), (0.0, True, "deferred: shift"))
    for shift, careful, decision in cases:
        policy = replace(opened.policy, mode="fixed", threshold=table.threshold(0.95) + shift, defer_on_shift=careful)
        limited = replace(opened, policy=policy)
        (result,) = judge.results(limited, [scan], threads=1)
        assert result.said.decision == (decision if odd or not careful else "answered")
        assert result.said.shifted == "remarks" * bool(segmentation.remarks)
        assert result.scores is not None
        assert result.scores["ndsc"] == ndsc(truth, segmentation.mask)
        assert result.panel.truth is not None
        assert result.panel.flair.shape == result.panel.truth.shape == result.panel.uncertainty.shape


def test_scans_without_a_channel_are_left_out(artefact: Path, real: Path) -> None:
    with_t1, without = judge.scans(real)
    assert with_t1.read(("flair", "t1")) is not None
    assert without.read(("flair", "t1")) is None


def test_real_scans_are_found(test_data: Path) -> None:
    if not (test_data / "lesion").is_dir():
        pytest.skip(f"no real scans in {test_data}")
    scans = judge.scans(test_data / "lesion")
    assert [scan.truth is not None for scan in scans] == [True] * 3 + [False] * 4
    assert all(scan.flair.exists() for scan in scans)


def test_without_the_scans_it_says_where_they_should_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEMUR_TEST_DATA", str(tmp_path))
    assert main(["--out", str(tmp_path)]) == 1
    assert "DEMUR_TEST_DATA" in capsys.readouterr().err
