"""What no artefact is built from: each refusal names the cause and what to do, and leaves nothing behind."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from onnx import TensorProto, helper
from sklearn.linear_model import LinearRegression

import demur
from models.tasks.rows.refusal import Refused
from services.cli import main
from tests.models.rows.worlds import world

FLOAT = TensorProto.FLOAT


def linear(path: Path, *, outputs: int = 1, operator: str = "MatMul", domain: str = "", batch: Any = None) -> Path:
    """Write a linear model of six columns."""
    weights = helper.make_tensor("w", FLOAT, [6, 1], [2.0, 0, 0, 0, 0, 0])
    nodes = [helper.make_node(operator, ["rows", "w"], [f"y{at}"], domain=domain) for at in range(outputs)]
    values = [helper.make_tensor_value_info(f"y{at}", FLOAT, [batch, 1]) for at in range(outputs)]
    rows = helper.make_tensor_value_info("rows", FLOAT, [batch, 6])
    graph = helper.make_graph(nodes, "linear", [rows], values, [weights])
    opsets = [helper.make_opsetid("", 18), *([helper.make_opsetid(domain, 1)] if domain else [])]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def table(path: Path, change: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame, rows: int = 400) -> Path:
    frame, labels = world(rows)
    change(frame.assign(y=labels)).to_parquet(path)
    return path


def repeated(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(x5=3 * frame.y + 1)


CASES: dict[str, tuple[Callable[[Path], list[Any]], str]] = {
    "no such target": (
        lambda at: ["--model", linear(at / "m.onnx"), "--calibration", table(at / "t.parquet"), "--target", "price"],
        "has no such column; it has x0",
    ),
    "constant target": (
        lambda at: [
            *("--model", linear(at / "m.onnx")),
            *("--calibration", table(at / "t.parquet", lambda frame: frame.assign(y=1.0)), "--target", "y"),
        ],
        "nothing can be calibrated with a constant",
    ),
    "missing label": (
        lambda at: [
            *("--model", linear(at / "m.onnx")),
            *("--calibration", table(at / "t.parquet", lambda frame: frame.assign(y=frame.y.where(frame.y < 1)))),
            *("--target", "y"),
        ],
        "has no label; leave such rows out",
    ),
    "a column that repeats the target": (
        lambda at: [
            "--model",
            linear(at / "m.onnx"),
            "--calibration",
            table(at / "t.parquet", repeated),
            "--target",
            "y",
        ],
        "column x5: repeats the target y",
    ),
    "twenty rows": (
        lambda at: [
            *("--model", linear(at / "m.onnx")),
            *("--calibration", table(at / "t.parquet", rows=20), "--target", "y"),
        ],
        "20 labelled rows; 100 or more are needed",
    ),
    "a column that no JSON body can name": (
        lambda at: [
            *("--model", linear(at / "m.onnx"), "--target", "y"),
            *("--calibration", table(at / "t.parquet", lambda frame: frame.rename(columns={"x5": 'x"5'}))),
        ],
        "columns: name = 'x\"5': must hold no quotation mark, backslash or control character",
    ),
    "text where numbers were": (
        lambda at: [
            *("--model", linear(at / "m.onnx")),
            *("--calibration", table(at / "t.parquet", lambda frame: frame.assign(x3="ulm")), "--target", "y"),
        ],
        "column x3: ",
    ),
    "another number of columns": (
        lambda at: [
            *("--model", linear(at / "m.onnx")),
            *("--calibration", table(at / "t.parquet", lambda frame: frame.drop(columns="x5")), "--target", "y"),
        ],
        "the model takes 6 columns",
    ),
    "unknown operator": (
        lambda at: [
            *("--model", linear(at / "m.onnx", operator="Frobnicate", domain="com.example")),
            *("--calibration", table(at / "t.parquet"), "--target", "y"),
        ],
        "operator Frobnicate of 'com.example' is unknown here",
    ),
    "unknown operator of ONNX": (
        lambda at: [
            *("--model", linear(at / "m.onnx", operator="Frobnicate")),
            *("--calibration", table(at / "t.parquet"), "--target", "y"),
        ],
        "is no valid ONNX model",
    ),
    "three outputs": (
        lambda at: [
            *("--model", linear(at / "m.onnx", outputs=3)),
            *("--calibration", table(at / "t.parquet"), "--target", "y"),
        ],
        "it is not clear what its outputs mean (y0 [rows, 1], y1 [rows, 1], y2 [rows, 1])",
    ),
    "fixed batch": (
        lambda at: [
            *("--model", linear(at / "m.onnx", batch=1)),
            *("--calibration", table(at / "t.parquet"), "--target", "y"),
        ],
        "takes exactly 1 row(s); export the model with a batch of any size",
    ),
    "pickle": (
        lambda at: [
            *("--model", pickled(at / "m.pkl")),
            *("--calibration", table(at / "t.parquet"), "--target", "y"),
        ],
        "is a pickle, which runs code when it is opened",
    ),
    "pickle under another name": (
        lambda at: [
            *("--model", pickled(at / "m.onnx")),
            *("--calibration", table(at / "t.parquet"), "--target", "y"),
        ],
        "is a pickle, which runs code when it is opened",
    ),
    "no model": (
        lambda at: ["--model", at / "m.onnx", "--calibration", table(at / "t.parquet"), "--target", "y"],
        "no such file; bring one of",
    ),
    "not a graph": (
        lambda at: [
            *("--model", written(at / "m.onnx", b"nonsense")),
            *("--calibration", table(at / "t.parquet"), "--target", "y"),
        ],
        "is no ONNX model",
    ),
    "no table": (
        lambda at: ["--model", linear(at / "m.onnx"), "--calibration", at / "t.parquet", "--target", "y"],
        "no such file; give a table in one of",
    ),
    "kind that does not apply": (
        lambda at: [
            *("--model", linear(at / "m.onnx"), "--calibration", table(at / "t.parquet")),
            *("--target", "y", "--uncertainty", "native"),
        ],
        "--uncertainty = native: does not apply to this model, which allows",
    ),
    "risk without an acceptable error": (
        lambda at: [
            *("--model", linear(at / "m.onnx"), "--calibration", table(at / "t.parquet")),
            *("--target", "y", "--risk", "0.1"),
        ],
        "needs the largest acceptable error",
    ),
}


@pytest.mark.parametrize("name", ["<img src=x>", "__proto__", "model", "a-b", ""])
def test_a_head_is_refused_whose_name_answers_cannot_have(name: str, tmp_path: Path) -> None:
    lines = [f"[[columns]]\nname = 'x{place}'\nlower = -9.0\nupper = 9.0" for place in range(6)]
    schema = tmp_path / "schema.toml"
    schema.write_text("\n".join([*lines, f"[[targets]]\ncolumn = 'y'\nname = '{name}'\nkind = 'regression'"]))
    frame, labels = world(400)
    with pytest.raises(Refused) as refused:
        demur.build(
            LinearRegression().fit(frame, labels), frame, pd.Series(labels, name="y"),
            name="made", schema=schema, home=tmp_path / "home",
        )  # fmt: skip
    assert f"schema: target y: name = {name!r}: must be letters, digits and underscores" in str(refused.value)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def pickled(path: Path) -> Path:
    return written(path, pickle.dumps({"a": 1}))


def build(name: str, *arguments: object) -> int:
    return main(["models", "build", "rows", "--name", name, *map(str, arguments)])


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused_with_the_cause_and_nothing_is_written(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("DEMUR_HOME", str(home))
    arguments, reason = CASES[case]
    code = build("churn", "--out", tmp_path / "out", *arguments(tmp_path))
    error = capsys.readouterr().err
    assert code != 0
    assert reason in " ".join(error.split()), error
    assert not (tmp_path / "out").exists()
    assert list(work.iterdir()) == []
    assert not home.exists()


@pytest.mark.parametrize("name", ["Churn", "vessel", "rows", "monitor", "a b", "x" * 41, "a-", ""])
def test_a_name_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEMUR_HOME", str(tmp_path / "home"))
    model, rows = linear(tmp_path / "m.onnx"), table(tmp_path / "t.parquet")
    assert build(name, "--model", model, "--calibration", rows, "--target", "y") != 0
    assert f"--name = {name!r}: " in capsys.readouterr().err
    assert np.array_equal(sorted(path.name for path in tmp_path.iterdir()), ["m.onnx", "t.parquet"])
