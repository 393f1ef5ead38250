"""The lesion service as `demur up` starts it: simulated scans in, maps, tables and figures out, and their figures."""

import csv
import gzip
import json
import subprocess
import zipfile
from pathlib import Path

import nibabel
import numpy as np
import pytest

import demur
from tests.e2e.conftest import Installation

MOST_SECONDS = 1200
"""Half a minute's work, on a machine that does much else."""
pytestmark = pytest.mark.timeout(MOST_SECONDS)


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory, served: Installation) -> Path:
    """One training scan, one development and one evaluation scan of one site, in the official layout."""
    folder = tmp_path_factory.mktemp("lesion")
    words = ("data", "lesion", "simulate", "--scale", "0.01", "--sites", "site_b", "--out", str(folder))
    ran = served.run(*words, timeout=MOST_SECONDS)
    assert ran.returncode == 0, ran.stderr
    return folder


def target(served: Installation) -> str:
    return f"127.0.0.1:{4004 + served.offset}"


def flair_of(scans: Path) -> Path:
    (path,) = (scans / "site_b" / "eval_in" / "flair").iterdir()
    return path


def test_the_reference_artefact_serves_scans(served: Installation, scans: Path) -> None:
    stages: list[str] = []
    with demur.connect(target(served)) as client:
        described = client.lesion.describe()
        answer = client.lesion.predict(flair_of(scans), progress=lambda share, stage: stages.append(stage))
    assert described.model.startswith("lesion-unet-5:")
    assert [(head.name, head.unit) for head in described.heads] == [("lesions", "1")]
    assert answer.model == described.model
    assert set(answer.files) == {"mask", "probability", "total", "data", "knowledge", "rmi", "advice"}
    assert "segmenting" in stages
    truth = (
        np.asarray(nibabel.load(str(flair_of(scans)).replace("/flair/", "/gt/").replace("FLAIR", "gt")).dataobj) == 1
    )
    mask = np.asarray(nibabel.Nifti1Image.from_bytes(gzip.decompress(answer.files["mask"])).dataobj) == 1
    dice = 2 * (truth & mask).sum() / (truth.sum() + mask.sum())
    assert dice > 0.4  # its own model card says more
    # A voxel is 1 mm3 to the rounding of a determinant, which differs between CPUs.
    assert answer.volume_mm3 == pytest.approx(mask.sum(), rel=1e-12)


def test_a_folder_is_scored_drawn_and_judged(served: Installation, scans: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    source = scans / "site_b" / "eval_in"
    ran = served.run("score", "lesion", str(source), str(out), "--figure")
    assert ran.returncode == 0, ran.stderr
    with (out / "summary.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["decision"] in ("answer", "defer")
    (figure,) = out.rglob("*_figure.png")
    assert figure.read_bytes()[:4] == b"\x89PNG"
    judged = served.run(
        "evaluate", "--task", "lesion", "--predictions", str(out), "--ground-truth", str(source), "--json"
    )
    assert judged.returncode == 0, judged.stderr
    evaluation = json.loads(judged.stdout)
    (figures, *_) = evaluation["measures"].values()
    assert 0 < figures["error"] < 0.6


def test_curl_of_the_page_answers(served: Installation, scans: Path, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{3004 + served.offset}/v1/predict"
    archive = tmp_path / "answer.zip"
    form = ["-F", f"flair=@{flair_of(scans)}", "-F", "maps=mask,probability", "-H", "accept: application/zip"]
    ran = subprocess.run(["curl", "-sS", "--fail-with-body", *form, "-o", str(archive), url], capture_output=True)
    assert ran.returncode == 0, ran.stderr
    assert zipfile.ZipFile(archive).namelist() == ["answer.json", "mask.nii.gz", "probability.nii.gz"]
