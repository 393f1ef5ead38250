"""From a file to figures with plain commands, for every task on real data: `demur score`, then `demur evaluate`."""

import csv
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import demur
from models.assessment.segmentation import ndsc
from models.tasks.lesion.data import volumes
from tests.e2e.conftest import Installation

PORTS = {"weather": 4001, "translation": 4002, "motion": 4003, "lesion": 4004, "vessel": 4005}


def there(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path


def connected(served: Installation, task: str) -> demur.Client:
    return demur.connect(f"127.0.0.1:{PORTS[task] + served.offset}")


def scored(served: Installation, task: str, *words: object, code: int = 0) -> dict[str, Any]:
    ran = served.run("score", task, *map(str, words), "--json", timeout=600)
    assert ran.returncode == code, ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


def evaluated(served: Installation, task: str, predictions: Path, *words: object) -> dict[str, Any]:
    ran = served.run("evaluate", "--task", task, "--predictions", str(predictions), *map(str, words), "--json")
    assert ran.returncode == 0, ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


def trapezoid_r_auc(errors: np.ndarray, uncertainty: np.ndarray) -> float:
    """Area under the error-retention curve over [0, 1], by hand."""
    curve = np.concatenate([[0], np.cumsum(errors[np.argsort(uncertainty, kind="stable")])]) / len(errors)
    return float(np.trapezoid(curve, np.linspace(0, 1, len(curve))))


@pytest.fixture(scope="module")
def rows(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,301 rows of the vessel with powers; row 1,999 has a speed that no ship reaches."""
    source = there(test_data / "power" / "model_labelled_synthetic_inputs.csv.gz")
    path = tmp_path_factory.mktemp("vessel") / "rows.csv"
    with gzip.open(source, "rt") as file, path.open("w", newline="") as out:
        header, *table = list(csv.reader(file))[:2302]
        table[1999][header.index("stw")] = "355"
        writer = csv.writer(out)
        writer.writerow(["time_id", *header[:-1], "power"])
        writer.writerows([number, *row] for number, row in enumerate(table))
    return path


def test_vessel_rows_with_a_bad_one(served: Installation, rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "scored.csv"
    counts = scored(served, "vessel", rows, out, "--members", code=1)
    assert (counts["rows"], counts["failed"]) == (2301, 1)
    with rows.open() as file:
        good = [row for number, row in enumerate(csv.DictReader(file)) if number != 1999]
    with connected(served, "vessel") as client:
        names = client.vessel.describe().names
        columns = {name: [float(row[name]) for row in good] for name in names}
        answer = client.vessel.predict(columns, members=True, purpose="replay")
    power = np.array([float(row["power"]) for row in good])
    assert answer.member_means is not None
    assert answer.member_variances is not None
    means, spreads = np.float64(answer.member_means), np.float64(answer.member_variances)
    errors = (means.mean(axis=0) - power) ** 2
    report = evaluated(served, "vessel", out)
    assert report["n"] == 2300
    assert report["notes"] == ["1 rows have no prediction (refused, or withheld): they are left out"]
    assert report["rmse"] == pytest.approx(float(np.sqrt(errors.mean())), rel=1e-12)
    total = spreads.mean(axis=0) + means.var(axis=0)
    assert report["measures"]["tvar"]["r_auc"] == pytest.approx(trapezoid_r_auc(errors, total), rel=1e-9)
    assert report["r_auc"] == pytest.approx(trapezoid_r_auc(errors, answer.uncertainty), rel=1e-9)
    with out.open() as file:
        table = list(csv.DictReader(file))
    assert "stw = 355 kn: must be " in table[1999]["error"]
    reasons = {row["reason"] for row in table} - {"impossible_prediction"}
    assert reasons == {"", "above_threshold", "invalid_input"}


def test_vessel_submission_is_judged_as_its_table(served: Installation, test_data: Path, tmp_path: Path) -> None:
    source = there(test_data / "power" / "shifts_real_rows.csv")
    out, submission = tmp_path / "scored.csv", tmp_path / "vessel-power-estimates.json"
    scored(served, "vessel", source, out, "--submission", submission)
    records = json.loads(submission.read_text())
    with source.open() as file:
        assert [record["time_id"] for record in records] == [int(row["time_id"]) for row in csv.DictReader(file)]
    table = evaluated(served, "vessel", out)
    official = evaluated(served, "vessel", submission, "--ground-truth", source)
    for figure in ("n", "r_auc", "f1_auc", "f1_at_95", "rmse", "mae", "mape"):
        assert official[figure] == table[figure], figure


def test_weather_submission_and_both_heads(served: Installation, tmp_path: Path) -> None:
    """There is no real file of the benchmark's 129 columns; its simulator has them."""
    assert served.run("data", "weather", "simulate", "--scale", "0.0005", "--out", str(tmp_path)).returncode == 0
    source, out, submission = tmp_path / "eval_in.csv", tmp_path / "scored.csv.gz", tmp_path / "df_submission.tar.gz"
    scored(served, "weather", source, out, "--members", "--submission", submission)
    with source.open() as file:
        facts = list(csv.DictReader(file))
    with connected(served, "weather") as client:
        names = client.weather.describe().names
        columns = {name: [float(row[name] or "nan") for row in facts] for name in names}
        answer = client.weather.predict(columns, purpose="replay")
    assert answer.temperature is not None
    assert answer.precipitation is not None
    truth = np.array([float(row["fact_temperature"]) for row in facts])
    temperature = evaluated(served, "weather", out, "--by", "climate")
    assert temperature["rmse"] == pytest.approx(
        float(np.sqrt(((answer.temperature.mean - truth) ** 2).mean())), rel=1e-6
    )
    precipitation = evaluated(served, "weather", out, "--head", "precipitation")
    codes = np.array([float(row["fact_cwsm_class"]) for row in facts])
    assert precipitation["accuracy"] == pytest.approx(float((10 * answer.precipitation.classes == codes).mean()))
    official = evaluated(served, "weather", submission, "--ground-truth", source, "--by", "climate")
    for figure in ("n", "r_auc", "f1_auc", "f1_at_95", "rmse", "mae"):
        assert official[figure] == pytest.approx(temperature[figure], rel=1e-6), figure


def test_a_real_scene(served: Installation, test_data: Path, tmp_path: Path) -> None:
    source = there(test_data / "motion" / "shifts_test_scene.pb")
    counts = scored(served, "motion", source, tmp_path)
    report = evaluated(served, "motion", tmp_path / "submission.pb", "--scenes", source)
    assert report["n"] == counts["requests"] == 2
    with (tmp_path / "summary.csv").open() as file:
        assert all(bool(row["reason"]) == (row["decision"] != "answer") for row in csv.DictReader(file))


def test_real_sentences(served: Installation, test_data: Path, tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu")
    gleu = pytest.importorskip("nltk.translate.gleu_score").sentence_gleu
    folder = there(test_data / "translation" / "wmt22")
    for name in ("src.en.txt", "ref.ru.txt"):
        lines = (folder / name).read_text().splitlines()[:6]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    scored(served, "translation", tmp_path / "src.en.txt", tmp_path / "out")
    submission, references = tmp_path / "out" / "submission.jsonl", tmp_path / "ref.ru.txt"
    report = evaluated(served, "translation", submission, "--references", references)
    expected = []
    for line, truth in zip(submission.read_text().splitlines(), references.read_text().splitlines(), strict=True):
        hypotheses = json.loads(line)["hypos"]
        shares = [
            hypothesis["confidence"] * gleu([truth.split()], hypothesis["text"].split())
            for hypothesis in hypotheses
            if hypothesis["text"]
        ]
        expected.append(100 * sum(shares))
    assert report["egleu"] == pytest.approx(float(np.mean(expected)), rel=1e-9)


@pytest.mark.timeout(900)
def test_a_real_scan_as_grand_challenge_has_it(served: Installation, test_data: Path, tmp_path: Path) -> None:
    itk = pytest.importorskip("SimpleITK")
    patient = there(test_data / "lesion" / "ljubljana_cross_sectional" / "patient07")
    images, truths = tmp_path / "input" / "images" / "brain-mri", tmp_path / "truth"
    for folder in (images, truths):
        folder.mkdir(parents=True)
    itk.WriteImage(itk.ReadImage(str(patient / "FLAIR.nii.gz")), str(images / "07.mha"), True)
    shutil.copy(patient / "lesion_mask.nii.gz", truths / "07_gt_isovox.nii.gz")
    counts = scored(served, "lesion", tmp_path / "input", tmp_path / "out", "--submission")
    assert (counts["scans"], counts["left_out"]) == (1, 0)
    (answer,) = counts["answers"]
    assert bool(answer["reason"]) == answer["deferred"]
    report = evaluated(served, "lesion", tmp_path / "out", "--ground-truth", truths)
    (tmp_path / "alone").mkdir()
    shutil.move(tmp_path / "out" / "images", tmp_path / "alone" / "images")
    challenge = evaluated(served, "lesion", tmp_path / "alone", "--ground-truth", truths)
    slot = tmp_path / "alone" / "images" / "white-matter-multiple-sclerosis-lesion-segmentation" / "07.mha"
    mask = itk.GetArrayFromImage(itk.ReadImage(str(slot))).transpose() == 1
    source = itk.ReadImage(str(images / "07.mha"))
    assert itk.ReadImage(str(slot)).GetDirection() == source.GetDirection()
    _, truth = volumes.mask(truths / "07_gt_isovox.nii.gz")
    expected = ndsc(truth, mask)
    assert 0 < expected < 1
    assert report["ndsc"] == challenge["ndsc"] == pytest.approx(expected, rel=1e-9)
