"""Real forecasts and translations, judged as by other means."""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from nltk.translate.gleu_score import sentence_gleu
from sklearn.metrics import roc_auc_score

from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import ErrorOptions
from models.tasks.translation.data import predictions as translation
from models.tasks.weather.data import predictions as weather

CENTRES = ("CMCG", "ETA", "GASP", "GFS", "JMA", "NGPS", "TCWB", "UKMO")


def there(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path


def test_eight_weather_centres_as_an_ensemble(test_data: Path, tmp_path: Path) -> None:
    """Temperatures 48 h ahead in the Pacific Northwest; high stations are the shifted ones."""
    with gzip.open(there(test_data / "weather" / "pnw_srft_temperature_2004.csv.gz"), "rt") as file:
        rows = list(csv.DictReader(file))
    forecast = np.array([[float(row[centre]) - 273.15 for row in rows] for centre in CENTRES])
    observed = np.array([float(row["observation"]) - 273.15 for row in rows])
    high = np.array([float(row["elevation"]) > 1000 for row in rows])
    variance = np.broadcast_to(((forecast - observed) ** 2).mean(axis=1, keepdims=True), forecast.shape)
    path = tmp_path / "centres.npz"
    np.savez(path, members=np.stack([forecast, variance], 2), target=observed, shifted=high)
    document = evaluate(weather.read(path, ErrorOptions())).document()
    mean, spread = forecast.mean(0), forecast.var(0) + variance.mean(0)
    squared = (mean - observed) ** 2
    assert document["n"] == len(rows) > 30_000
    assert document["rmse"] == pytest.approx(np.sqrt(squared.mean()), rel=1e-12)
    assert document["roc_auc"] == pytest.approx(roc_auc_score(high, spread), rel=1e-9)
    _, group, count = np.unique(spread, return_inverse=True, return_counts=True)
    shared = (np.bincount(group, squared) / count)[np.sort(group)]
    curve = np.concatenate([[0], np.cumsum(shared)]) / len(rows)
    assert document["r_auc"] == pytest.approx(curve.mean(), rel=1e-9)
    assert document["in"]["n"] == int((~high).sum())


def test_three_translation_systems_as_an_n_best_list(test_data: Path, tmp_path: Path) -> None:
    folder = there(test_data / "translation" / "wmt22")
    references = (folder / "ref.ru.txt").read_text().split("\n")[:300]
    systems = [path.read_text().split("\n")[:300] for path in sorted((folder / "hyp").iterdir())]
    lines = []
    for number, texts in enumerate(zip(*systems, strict=True)):
        hypotheses = [{"text": text, "confidence": 1 / len(texts)} for text in texts]
        lines.append(json.dumps({"id": number, "uncertainty": float(len(set(texts))), "hypos": hypotheses}))
    (tmp_path / "submission.json").write_text("\n".join(lines))
    (tmp_path / "ref.txt").write_text("\n".join(references))
    options = ErrorOptions(companions={"references": tmp_path / "ref.txt"})
    document = evaluate(translation.read(tmp_path / "submission.json", options)).document()
    gleu = [
        np.mean([sentence_gleu([reference.split()], text.split()) if text.split() else 0.0 for text in texts])
        for reference, *texts in zip(references, *systems, strict=True)
    ]
    assert document["egleu"] == pytest.approx(100 * np.mean(gleu), rel=1e-9)
    assert document["bleu"] == pytest.approx(sacrebleu.corpus_bleu(systems[0], [references]).score, rel=1e-9)
