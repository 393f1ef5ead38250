"""``demur data``: each task offers its own actions; files, provenance and refusals."""

import json
from importlib.metadata import EntryPoints
from pathlib import Path

import numpy as np
import pytest

from models.tasks.weather.data import dummies, official, partition
from models.tasks.weather.data.table import CLIMATES, Table
from models.tasks.weather.training import workbench
from services.cli import main
from simulators.vessel import actions as vessel

SPLITS = ("train", "dev_in", "dev_out", "eval_in", "eval_out")


def reports(directory: Path, extension: str = "csv") -> dict[str, Table]:
    return {path.stem: official.read(path, training=True) for path in sorted(directory.glob(f"*.{extension}"))}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("weather")
    code = main(["data", "weather", "simulate", "--scale", "0.001", "--seed", "2", "--out", str(out), "--extended"])
    assert code == 0
    return out


def test_vessel_keeps_its_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def simulate_files(*arguments: object) -> list[Path]:
        calls.append(arguments[:4])
        (tmp_path / "train.csv").write_text("time_id")
        return [tmp_path / "train.csv"]

    monkeypatch.setattr(vessel, "simulate_files", simulate_files)
    words = ["data", "vessel", "simulate", "--scale", "0.5", "--generalisation", "10", "--out", str(tmp_path)]
    assert main([*words, "--json"]) == 0
    document = {"files": [str(tmp_path / "train.csv")], "datasheet": "docs/datasheets/vessel-simulator.md"}
    assert json.loads(capsys.readouterr().out) == document
    assert main([*words, "--seed", "3"]) == 0
    assert "datasheet: docs/datasheets/vessel-simulator.md" in capsys.readouterr().out
    assert calls == [(tmp_path, 0.5, 0, 10), (tmp_path, 0.5, 3, 10)]


def test_weather_writes_all_splits_with_their_provenance(simulated: Path) -> None:
    splits = reports(simulated)
    assert set(splits) == {*SPLITS, "train_xclim", "dev_xclim", "train_xtime", "dev_xtime"}
    assert len(splits["train"]) == int(partition.counts(0.001)["train"].sum()) + partition.DUMMIES
    source = json.loads((simulated / "PROVENANCE.json").read_text())
    assert source["licence"] == "CC0-1.0"
    assert "seed 2, scale 0.001" in source["description"]
    assert set(workbench.read_files(simulated)) == set(splits)


def test_parquet_holds_the_same_rows_and_no_meta_the_same_features(simulated: Path, tmp_path: Path) -> None:
    words = ["data", "weather", "simulate", "--scale", "0.001", "--seed", "2", "--out", str(tmp_path), "--no-meta"]
    assert main([*words, "--format", "parquet"]) == 0
    for name in SPLITS:
        table = official.read(tmp_path / f"{name}.parquet", training=True)
        expected = official.read(simulated / f"{name}.csv", training=True)
        np.testing.assert_array_equal(table.features, expected.features)
        np.testing.assert_array_equal(table.temperature, expected.temperature)
        alone = official.read(tmp_path / f"{name}_no_meta.parquet", needed=(), training=True)
        np.testing.assert_array_equal(alone.features, expected.features)


def test_files_are_divided_anew_without_losing_or_doubling_a_report(simulated: Path, tmp_path: Path) -> None:
    files = [str(path) for path in sorted(simulated.glob("*.csv"))]
    words = ["data", "weather", "partition", *files, "--out", str(tmp_path), "--time-split", "0.5", "0", "0.25", "0.25"]
    climates = ["--in-climates", "snow", "--dev-climates", "mild temperate", "--eval-climates", "tropical", "dry"]
    assert main([*words, *climates, "--in-split", "0.8", "0.1", "0.1"]) == 0
    splits = reports(tmp_path)
    assert set(splits) == set(SPLITS)
    assert {CLIMATES[code] for code in np.unique(splits["eval_out"].climate)} == {"tropical", "dry"}
    assert set(splits["train"].climate.tolist()) == {CLIMATES.index("snow")}
    assert dummies.found_in(splits["train"]).sum() == 2
    assert not dummies.found_in(splits["eval_in"]).any()
    inside = sum(len(splits[name]) for name in ("train", "dev_in", "eval_in")) - 2
    every = [table.rows(~dummies.found_in(table)) for table in reports(simulated).values()]
    begin = min(float(table.time.min()) for table in every)
    end = max(float(table.time.max()) for table in every)
    expected = sum(
        int(((table.climate == CLIMATES.index("snow")) & (table.time <= 0.5 * (begin + end))).sum()) for table in every
    )
    assert inside == expected
    source = json.loads((tmp_path / "PROVENANCE.json").read_text())
    assert source["licence"] == "CC0-1.0"
    assert source["description"].endswith("divided anew")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--time-split", "0.6", "0.1", "0.1", "0.1"], "time-split"),
        (["--in-climates", "mars"], "no climate 'mars'"),
    ],
)
def test_impossible_partitions_fail_in_words(
    simulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], words: str
) -> None:
    source = str(simulated / "dev_in.csv")
    assert main(["data", "weather", "partition", source, "--out", str(tmp_path / "new"), *more]) == 1
    assert words in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_file_is_never_divided_over_itself(simulated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (simulated / "train.csv").read_bytes()
    assert main(["data", "weather", "partition", str(simulated / "train.csv"), "--out", str(simulated)]) == 1
    assert "would be overwritten" in capsys.readouterr().err
    assert (simulated / "train.csv").read_bytes() == before
    assert not list(simulated.glob("*.part"))


@pytest.mark.parametrize("scale", ["0", "2", "nan"])
def test_a_scale_outside_its_range_fails_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], scale: str
) -> None:
    assert main(["data", "weather", "simulate", "--scale", scale, "--out", str(tmp_path / "new")]) == 1
    assert "(0, 1]" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_without_simulators_the_command_says_how_to_install_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.workbench.entry_points", lambda group: EntryPoints())
    assert main(["data", "vessel", "simulate", "--scale", "0.5", "--out", str(tmp_path)]) == 1
    assert "pip install -e simulators" in capsys.readouterr().err
