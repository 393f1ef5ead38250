"""``demur score`` for tasks of several heads and missing values, against a service that keeps the contract."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import demur
from services.cli import score
from services.cli.options import Options
from services.cli.output import CommandError
from services.cli.rows import chunking, csv_file
from services.cli.rows.chunking import Chunk, Selection
from services.cli.rows.scored_table import Answered, Scored
from tests.clients.weather_service import METADATA, NAMES, WeatherStandIn, members_of, some_rows

NULLABLE = ("a", "c")


def read(text: str, nullable: tuple[str, ...] = NULLABLE) -> np.ndarray:
    parts = list(csv_file.chunks(io.BytesIO(text.encode()), Selection(["a", "b", "c"], frozenset(nullable))))
    assert not any(chunk.faults for chunk in parts)
    return np.concatenate([chunk.table for chunk in parts])


@pytest.mark.parametrize(
    "row",
    [
        "1,2,",
        "1,2,nan",
        "1,2,NaN",
        '1,2,""',
        "1,2, ",
        '"1","2",""',
        "1,2,,,,",
        '1,2,,"x,,y"',
        '1,2,,"x\n,y,"',
        " 1 ,2,",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_an_empty_cell_is_a_missing_value(row: str, end: str) -> None:
    np.testing.assert_array_equal(read(f"a,b,c,d,e,f\n{row}{end}"), [[1, 2, np.nan]])


def test_rows_of_missing_values_pass() -> None:
    np.testing.assert_array_equal(
        read("b,a,c\n3,,\n4,,1\n5,1,\n"), [[np.nan, 3, np.nan], [np.nan, 4, 1], [1, 5, np.nan]]
    )


def test_empty_cells_take_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(csv_file, "_rewritten")
    actual = read("x,a,c,b,y\n,,,3,\r\n,1,,3,\n", ("a", "c"))
    np.testing.assert_array_equal(actual, [[np.nan, 3, np.nan], [1, 3, np.nan]])
    np.testing.assert_array_equal(read("a,b,c\n,2,\n", ("a", "c")), [[np.nan, 2, np.nan]])


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("1,,3", "b = '' is not a number"),
        (",,", "b = '' is not a number"),
        ("1, ,3", "b = ' ' is not a number"),
        ("NA,2,3", "a = 'NA' is not a number; leave the cell of a missing value empty"),
        (",2,null", "c = 'null' is not a number; leave the cell of a missing value empty"),
        (",2", "the row has 2 values instead of 3"),
        (",2,1_0", "c = '1_0' is not a number; leave the cell of a missing value empty"),
    ],
)
def test_garbage_is_a_fault_of_its_row(row: str, says: str) -> None:
    selection = Selection(["a", "b", "c"], frozenset(NULLABLE))
    (chunk,) = csv_file.chunks(io.BytesIO(f"a,b,c\n1,2,3\n,2,\n{row}\n4,5,6\n".encode()), selection)
    assert chunk.faults == {2: says}
    np.testing.assert_array_equal(np.delete(chunk.table, 2, 0), [[1, 2, 3], [np.nan, 2, np.nan], [4, 5, 6]])


def test_nan_in_a_column_that_needs_values_is_left_to_the_service() -> None:
    np.testing.assert_array_equal(read("a,b,c\n,nan,1\n"), [[np.nan, np.nan, 1]])


def test_doubled_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="2 columns 'a'"):
        read("a,b,c,a\n1,2,3,4\n")


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.tuples(*(st.one_of(st.none(), st.floats(width=32, allow_infinity=False)) for _ in range(3))), min_size=1
    ),
    st.sampled_from(["", " ", "nan", '""']),
    st.integers(1, 60),
)
def test_what_was_written_is_read(rows: list[tuple[float | None, ...]], missing: str, size: int) -> None:
    lines = [",".join([str(i), *(missing if x is None else repr(x) for x in row), "z"]) for i, row in enumerate(rows)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_file, "CHUNK_BYTES", size)
        actual = read("\n".join(["i,a,b,c,z", *lines]), ("a", "b", "c"))
    expected = [[np.nan if x is None else x for x in row] for row in rows]
    np.testing.assert_array_equal(actual, np.array(expected, np.float32))


OPTIONS = {"on_error": "defer", "members": False, "keep": None, "submission": None}


def asked(target: str, source: Path, output: Path, task: str = "weather", **more: Any) -> Options:
    options = {"task": task, "input": source, "output": output, "target": target, "purpose": "replay", "json": True}
    return Options(**options | OPTIONS | more)


def write_csv(path: Path, rows: np.ndarray, more: dict[str, Any]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*more, *NAMES])
        for i, row in enumerate(rows.tolist()):
            cells = ["" if np.isnan(value) else value for value in row]
            writer.writerow([*(values[i] for values in more.values()), *cells])


def write_parquet(path: Path, rows: np.ndarray, more: dict[str, Any]) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {name: arrow.array(rows[:, i], mask=np.isnan(rows[:, i])) for i, name in enumerate(NAMES)}
    columns["gfs_available"] = arrow.array(rows[:, 3] == 1)
    parquet.write_table(arrow.table(more | columns), path, row_group_size=37)


WRITERS = {"csv": write_csv, "parquet": write_parquet}


@pytest.mark.parametrize("kind", WRITERS)
def test_heads_are_columns_of_one_table(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_file, "CHUNK_BYTES", 2000)
    monkeypatch.setattr(chunking, "CHUNK_ROWS", 100)
    rows = some_rows(500)
    more = {name: [f"{name}, {i}" for i in range(500)] for name in METADATA}
    source, output = tmp_path / f"in.{kind}", tmp_path / "out.csv"
    WRITERS[kind](source, rows, more)
    assert score.run(asked(target, source, output)) == 0
    counts = json.loads(capsys.readouterr().out)
    header, *lines = csv.reader(output.read_text().splitlines())
    table = dict(zip(header, zip(*lines, strict=True), strict=True))
    shared = ["total", "data", "knowledge", "uncertainty", "deferred", "shifted", "prediction_id"]
    shared += ["reason", "shift_reasons", "shifted_inputs"]
    assert header == [
        "row",
        *(f"temperature.{name}" for name in ["mean", *shared]),
        *(f"precipitation.{name}" for name in ["class", "p0", "p1", "p2", *shared]),
        "error",
        *METADATA,
    ]
    assert table["climate"] == tuple(more["climate"])
    means, probabilities = members_of(rows)
    assert table["row"] == tuple(map(str, range(500)))
    np.testing.assert_array_equal(np.array(table["temperature.mean"], np.float32), means.mean(axis=0))
    for place in range(3):
        actual = np.array(table[f"precipitation.p{place}"], np.float32)
        np.testing.assert_array_equal(actual, probabilities.mean(axis=0)[:, place])
    assert table["precipitation.class"] == tuple(map(str, probabilities.mean(axis=0).argmax(axis=-1)))
    assert set(table["precipitation.deferred"]) == {"0", "1"}
    for head in ("temperature", "precipitation"):
        assert counts[head]["deferred"] == table[f"{head}.deferred"].count("1")
        assert counts[head]["shifted"] == table[f"{head}.shifted"].count("1")
        assert len(set(table[f"{head}.prediction_id"])) == 500
        deferred = [reason for reason in table[f"{head}.reason"] if reason]
        assert counts[head]["reasons"] == {"above_threshold": len(deferred)}
        assert [bool(int(flag)) for flag in table[f"{head}.deferred"]] == [
            bool(reason) for reason in table[f"{head}.reason"]
        ]
        assert [bool(int(flag)) for flag in table[f"{head}.shifted"]] == [
            bool(reasons) for reasons in table[f"{head}.shift_reasons"]
        ]
    assert (counts["rows"], counts["failed"], set(table["error"])) == (500, 0, {""})


@pytest.mark.parametrize("kind", WRITERS)
def test_identities_of_the_file_are_kept(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    source, output = tmp_path / f"in.{kind}", tmp_path / "out.csv"
    WRITERS[kind](source, some_rows(3), {"time_id": [70, 50, 60]})
    assert score.run(asked(target, source, output)) == 0
    assert [line[0] for line in csv.reader(output.read_text().splitlines())] == ["time_id", "70", "50", "60"]


def test_a_head_alone_keeps_its_name(
    target: str, weather: WeatherStandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weather.heads = ("temperature",)
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    write_csv(source, some_rows(3), {})
    assert score.run(asked(target, source, output)) == 0
    assert output.read_text().startswith("row,temperature.mean,temperature.total,")
    assert list(json.loads(capsys.readouterr().out)) == ["rows", "failed", "temperature"]


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("gfs_humidity", ["1", "2", "x"], "column gfs_humidity holds"),
        ("gfs_humidity", [True, False, None], "column gfs_humidity holds bool"),
        (None, None, "no column 'gfs_humidity'"),
    ],
)
def test_wrong_parquet_is_said(
    target: str, tmp_path: Path, name: str | None, values: Any, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunking, "CHUNK_ROWS", 2)
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns: dict[str, Any] = dict(zip(NAMES, some_rows(3).T, strict=True)) | ({name: values} if name else {})
    if name is None:
        del columns["gfs_humidity"]
    parquet.write_table(arrow.table(columns), tmp_path / "in.parquet")
    with pytest.raises(CommandError) as caught:
        score.run(asked(target, tmp_path / "in.parquet", tmp_path / "out.csv"))
    assert says in str(caught.value)
    assert not (tmp_path / "out.csv").exists()


def test_what_is_no_parquet_is_said(target: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "in.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(CommandError, match="arquet"):
        score.run(asked(target, tmp_path / "in.parquet", tmp_path / "out.csv"))


def gaussian(n: int, *, single: bool = False) -> dict[str, np.ndarray]:
    """An answer of an only head."""
    column = np.linspace(0, 1, n, dtype=np.float32)
    columns = {name: column for name in ("mean", "total", "data", "knowledge", "uncertainty")}
    if single:
        del columns["knowledge"]
    flags = {"deferred": column > 0.5, "shifted": column > 0.8}
    reasons = np.where(flags["deferred"], "above_threshold", "")
    ids = np.array([f"id{i}" for i in range(n)], str)
    nothing = np.array([""] * n, str)
    words = {"prediction_id": ids, "reason": reasons, "shift_reasons": nothing, "shifted_inputs": nothing}
    return columns | flags | words


def power() -> demur.Head:
    return demur.Head("power", "gaussian", "kW", "tvar", "", "", "", None)


@pytest.mark.parametrize("single", [False, True])
def test_the_table_of_an_only_head_is_plain(single: bool) -> None:
    text = io.StringIO()
    scored = Scored(csv.writer(text), [power()])
    scored.add(Chunk(0, np.zeros((2, 1), np.float32), range(2)), Answered(np.arange(2), gaussian(2, single=single), {}))
    scored.close()
    knowledge = ("", "") if single else ("0.0", "1.0")
    assert text.getvalue() == (
        "time_id,mean,total,data,knowledge,uncertainty,deferred,shifted,prediction_id,reason,shift_reasons,"
        "shifted_inputs,error\r\n"
        f"0,0.0,0.0,0.0,{knowledge[0]},0.0,0,0,id0,,,,\r\n"
        f"1,1.0,1.0,1.0,{knowledge[1]},1.0,1,1,id1,above_threshold,,,\r\n"
    )
    counts = {"rows": 2, "failed": 0, "deferred": 1, "shifted": 1, "reasons": {"above_threshold": 1}}
    assert scored.counts() == counts
    assert scored.text() == "2 rows, 1 deferred, 1 shifted"


def test_a_file_without_rows_gives_a_header(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.csv").write_text(",".join(NAMES) + "\n")
    assert score.run(asked(target, tmp_path / "in.csv", tmp_path / "out.csv")) == 0
    assert (tmp_path / "out.csv").read_text().startswith("row,temperature.mean,")
    assert json.loads(capsys.readouterr().out)["rows"] == 0
    scored = Scored(csv.writer(text := io.StringIO()), [power()])
    scored.close()
    assert text.getvalue().startswith("time_id,mean,total,")
    assert scored.counts() == {"rows": 0, "failed": 0, "deferred": 0, "shifted": 0, "reasons": {}}
