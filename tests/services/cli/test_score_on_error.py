"""``demur score`` of rows that are refused: they lose nobody else, cost no more than others, and say why."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import demur
from services.cli import main
from services.cli.rows import csv_file, scorer
from services.cli.rows.chunking import Table
from tests.clients.weather_service import NAMES, WeatherStandIn, some_rows

ROWS = 300


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "CHUNK_BYTES", 2000)


def score(target: str, *words: object) -> int:
    return main(["score", "weather", *map(str, words), "--target", target])


def write(path: Path, rows: np.ndarray, bad: dict[int, dict[str, Any]]) -> Path:
    """A file with an identity and a label; some cells are others."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time_id", *NAMES, "fact_temperature"])
        for number, row in enumerate(rows.tolist()):
            cells: list[Any] = ["" if np.isnan(value) else value for value in row]
            for name, value in bad.get(number, {}).items():
                cells[NAMES.index(name)] = value
            writer.writerow([f"id{number}", *cells, number])
    return path


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


BAD: dict[int, dict[str, Any]] = {
    0: {"sun_elevation": 91},
    7: {"gfs_humidity": "wet"},
    150: {"gfs_available": 0.5},
    151: {"gfs_available": ""},
    299: {"gfs_temperature_sea": "inf"},
}
SAYS = {
    0: "sun_elevation = 91 °: must be -90 to 90 °",
    7: "gfs_humidity = 'wet' is not a number",
    150: "gfs_available = 0.5: must be one of 0, 1",
    151: "gfs_available = '' is not a number",
    299: "gfs_temperature_sea = inf °C: must be ",
}


def test_a_refused_row_is_deferred_and_its_neighbours_are_answered(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = some_rows(ROWS)
    whole, broken = write(tmp_path / "whole.csv", rows, {}), write(tmp_path / "broken.csv", rows, BAD)
    assert score(target, whole, tmp_path / "expected.csv") == 0
    assert score(target, broken, tmp_path / "out.csv", "--json") == 1
    counts = json.loads(capsys.readouterr().out.partition("\n")[2])
    actual, expected = table(tmp_path / "out.csv"), table(tmp_path / "expected.csv")
    assert (counts["rows"], counts["failed"], len(actual)) == (ROWS, len(BAD), ROWS)
    for number, (row, other) in enumerate(zip(actual, expected, strict=True)):
        assert (row["time_id"], row["fact_temperature"]) == (f"id{number}", str(number))
        if number in BAD:
            assert row["error"].startswith(SAYS[number])
            assert " in row " not in row["error"]
            assert (row["temperature.deferred"], row["precipitation.reason"]) == ("1", "invalid_input")
            assert row["temperature.mean"] == row["temperature.uncertainty"] == row["precipitation.class"] == ""
        else:
            same = {name for name in row if not name.endswith(("prediction_id", "shifted", "shift_reasons"))}
            assert {name: row[name] for name in same} == {name: other[name] for name in same}


def test_refused_rows_are_left_out(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = write(tmp_path / "in.csv", some_rows(ROWS), BAD), tmp_path / "out.csv"
    assert score(target, source, out, "--on-error", "skip") == 1
    assert "300 rows" in (output := capsys.readouterr().out)
    assert "5 refused and left out" in output
    assert [row["time_id"] for row in table(out)] == [f"id{number}" for number in range(ROWS) if number not in BAD]


@pytest.mark.parametrize("first", [0, 7, 150, 299])
def test_the_run_ends_at_the_first_refused_row(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], first: int
) -> None:
    bad = {number: cells for number, cells in BAD.items() if number >= first}
    source, out = write(tmp_path / "in.csv", some_rows(ROWS), bad), tmp_path / "out.csv"
    assert score(target, source, out, "--on-error", "fail") == 1
    assert f"row {first} (from 0): {SAYS[first]}" in capsys.readouterr().err
    written = table(out) if out.exists() else []
    assert [row["time_id"] for row in written] == [f"id{number}" for number in range(first)]
    assert {row["error"] for row in written} <= {""}


@pytest.mark.parametrize("way", ["defer", "skip", "fail"])
def test_what_only_the_service_refuses(
    target: str, weather: WeatherStandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    rows = np.nan_to_num(some_rows(ROWS))
    source, out = write(tmp_path / "in.csv", rows, {}), tmp_path / "out.csv"
    weather.refused_above = 80.0
    refused = [f"id{number}" for number in np.flatnonzero(rows[:, 0] > 80)]
    assert 5 < len(refused) < 50
    assert score(target, source, out, "--on-error", way) == 1
    written = table(out)
    if way == "defer":
        assert [row["time_id"] for row in written if row["error"]] == refused
        assert {row["error"] for row in written} == {"", "sun_elevation is too high"}
        assert len(written) == ROWS
    elif way == "skip":
        assert [row["time_id"] for row in written] == [
            f"id{number}" for number in range(ROWS) if f"id{number}" not in refused
        ]
    else:
        assert [row["time_id"] for row in written] == [f"id{number}" for number in range(int(refused[0][2:]))]
        assert f"row {refused[0][2:]} (from 0): sun_elevation is too high" in capsys.readouterr().err


def test_a_file_of_refused_rows_alone(target: str, tmp_path: Path) -> None:
    bad = {number: {"sun_elevation": 1000} for number in range(ROWS)}
    source, out = write(tmp_path / "in.csv", some_rows(ROWS), bad), tmp_path / "out.csv"
    assert score(target, source, out) == 1
    assert {row["temperature.reason"] for row in table(out)} == {"invalid_input"}
    assert len(table(out)) == ROWS


def test_a_file_that_breaks_off_is_scored_as_far_as_it_goes(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = np.nan_to_num(some_rows(ROWS)).tolist()
    text = json.dumps([dict(zip(NAMES, row, strict=True)) for row in rows])
    (tmp_path / "in.json").write_text(text[: len(text) // 2])
    assert score(target, tmp_path / "in.json", tmp_path / "out.csv") == 1
    error = capsys.readouterr().err
    number = len(table(tmp_path / "out.csv"))
    assert 100 < number < ROWS
    assert f"row {number} (from 0) of the list is not JSON, or the file is truncated" in error
    assert f"after {number} rows, which are in {tmp_path / 'out.csv'}" in error


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_salvage_asks_a_bounded_number_of_times(share: float) -> None:
    rows = np.random.default_rng(3).uniform(size=(1000, 1)).astype(np.float32)
    asked = 0

    def predict(table: Table) -> np.ndarray:
        nonlocal asked
        asked += 1
        bad = np.flatnonzero(table[:, 0] < share)
        if len(bad):
            raise demur.InvalidInput(f"a = {table[bad[0], 0]} in row {bad[0]} is small", index=int(bad[0]))
        return table[:, 0]

    answers, places, faults = scorer.salvaged(predict, rows)
    bad = np.flatnonzero(rows[:, 0] < share).tolist()
    good = np.flatnonzero(rows[:, 0] >= share).tolist()
    assert (places, sorted(faults)) == (good, bad)
    assert all(fault.endswith("is small") and "in row" not in fault for fault in faults.values())
    np.testing.assert_array_equal(np.concatenate([*answers, []]), rows[good, 0])
    assert asked <= len(rows) / scorer.PIECE_ROWS + 1 + 2 * len(bad)


def test_a_refusal_of_all_rows_is_no_fault_of_one() -> None:
    def predict(table: Table) -> None:
        raise demur.InvalidInput("another schema", code="schema_mismatch")

    with pytest.raises(demur.InvalidInput, match="another schema"):
        scorer.salvaged(predict, np.zeros((3, 1), np.float32))
