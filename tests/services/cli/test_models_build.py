"""``demur models build rows``: an edited schema is that of the artefact, and a risk is certified or refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier

from services.cli import main

Build = Callable[..., tuple[int, str]]


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Build:
    """Runs the command on a model of two classes with 4000 labelled rows; its exit code and what it said."""
    generator = np.random.default_rng(1)
    frame = pd.DataFrame({"a": generator.normal(size=6000), "b": generator.uniform(0, 10, 6000)}).astype("float32")
    labels = (frame.a + generator.normal(size=6000) * 0.5 > 0).astype(int)
    model = LGBMClassifier(n_estimators=50, verbose=-1).fit(frame[:2000], labels[:2000])
    model.booster_.save_model(str(tmp_path / "m.txt"))
    frame[2000:].assign(y=labels[2000:]).to_parquet(tmp_path / "labelled.parquet")
    monkeypatch.setenv("DEMUR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def run(*more: str) -> tuple[int, str]:
        inputs = ["--model", "m.txt", "--calibration", "labelled.parquet", "--target", "y"]
        code = main(["models", "build", "rows", "--name", "churn", *inputs, *more])
        output = capsys.readouterr()
        return code, output.out + output.err

    return run


def built(folder: str) -> Any:
    return json.loads(Path(folder, "manifest.json").read_text())


def test_an_edited_schema_is_that_of_the_artefact(build: Build) -> None:
    assert build("--draft")[0] == 0
    assert not Path("home", "bentoml", "models", "churn").exists()
    draft = Path("churn.schema.toml")
    text = draft.read_text()
    draft.write_text(text.replace('unit = "1"', 'unit = "km"', 1))
    code, said = build("--schema", "churn.schema.toml", "--out", "artefact")
    assert code == 0, said
    assert [column["unit"] for column in built("artefact")["schema"]] == ["km", "1"]


def test_a_risk_is_certified_or_refused_for_the_number_of_rows(build: Build) -> None:
    code, said = build("--risk", "0.08", "--out", "artefact")
    assert code == 0, said
    assert "0.65 of in-domain rows are answered" in said
    code, said = build("--risk", "0.0001", "--out", "other")
    assert code == 2
    assert "needs at least 29956 units" in said
    assert not Path("other").exists()
