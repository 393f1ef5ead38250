"""Files of rows in every form that is read, by name and by content; all others are refused in a line."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from services.cli.rows import chunking, reader
from services.cli.rows.chunking import Selection

N = 250
NAMES = ["a", "b", "flag"]
WANTED = Selection(NAMES, frozenset({"a"}), frozenset({"flag"}), kept=["label", "note"])


def columns() -> dict[str, list[Any]]:
    random = np.random.default_rng(5)
    a: list[float | None] = random.normal(size=N).astype(np.float32).tolist()
    a[3] = None
    return {
        "time_id": list(range(100, 100 + N)),
        "note": [f'says "{number}", twice' for number in range(N)],
        "b": random.normal(size=N).astype(np.float32).tolist(),
        "a": a,
        "flag": (random.uniform(size=N) > 0.5).astype(int).tolist(),
        "label": random.normal(size=N).tolist(),
    }


def records() -> list[dict[str, Any]]:
    table = columns()
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def csv_bytes() -> bytes:
    pandas = pytest.importorskip("pandas")
    text: str = pandas.DataFrame(columns()).to_csv(index=False)
    return text.encode()


def lines() -> bytes:
    return "".join(json.dumps(row) + "\n" for row in records()).encode()


def arrow_table() -> Any:
    return pytest.importorskip("pyarrow").table(columns())


def write_feather(path: Path) -> None:
    pytest.importorskip("pyarrow.feather").write_feather(arrow_table(), path, chunksize=60)


def write_arrow_stream(path: Path) -> None:
    table = arrow_table()
    ipc = pytest.importorskip("pyarrow.ipc")
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=70)


def write_polars(path: Path) -> None:
    pytest.importorskip("polars").DataFrame(columns()).write_ipc(path)


FORMS: dict[str, Callable[[Path], Any]] = {
    "in.csv": lambda path: path.write_bytes(csv_bytes()),
    "in.csv.gz": lambda path: path.write_bytes(gzip.compress(csv_bytes())),
    "in.CSV": lambda path: path.write_bytes(csv_bytes()),
    "gzipped_csv_of_any_name": lambda path: path.write_bytes(gzip.compress(csv_bytes())),
    "in.json": lambda path: path.write_text(json.dumps(records())),
    "pretty.json": lambda path: path.write_text(json.dumps(records(), indent=2)),
    "in.json.gz": lambda path: path.write_bytes(gzip.compress(json.dumps(records()).encode())),
    "in.jsonl": lambda path: path.write_bytes(lines()),
    "in.jsonl.gz": lambda path: path.write_bytes(gzip.compress(lines())),
    "lines.json": lambda path: path.write_bytes(lines()),
    "in.ndjson": lambda path: path.write_bytes(lines().replace(b"\n", b"\r\n\n")),
    "json_of_any_name.txt": lambda path: path.write_text(" \n" + json.dumps(records())),
    "in.feather": write_feather,
    "feather_of_any_name": write_feather,
    "stream.arrow": write_arrow_stream,
    "polars.arrow": write_polars,
    "in.parquet": lambda path: pytest.importorskip("pyarrow.parquet").write_table(arrow_table(), path),
    "parquet_of_any_name": lambda path: pytest.importorskip("pyarrow.parquet").write_table(arrow_table(), path),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(chunking, "CHUNK_ROWS", 64)
    monkeypatch.setattr("services.cli.rows.csv_file.CHUNK_BYTES", 4096)
    monkeypatch.setattr("services.cli.rows.json_file._PIECE", 1000)
    FORMS[name](tmp_path / name)
    with reader.opened(tmp_path / name, WANTED) as (read, share):
        chunks = list(read)
        assert share() > 0.7
    expected = columns()
    assert len(chunks) > 2
    assert [chunk.start for chunk in chunks] == np.cumsum([0, *(len(part.table) for part in chunks[:-1])]).tolist()
    table = np.concatenate([chunk.table for chunk in chunks])
    for place, column in enumerate(NAMES):
        np.testing.assert_array_equal(table[:, place], np.array(expected[column], np.float32), err_msg=column)
    assert [row_id for chunk in chunks for row_id in chunk.ids] == [str(value) for value in expected["time_id"]]
    assert [float(label) for chunk in chunks for label in chunk.kept["label"]] == expected["label"]
    assert [note for chunk in chunks for note in chunk.kept["note"]] == expected["note"]
    assert not any(chunk.faults for chunk in chunks)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (
            "in.xlsx",
            b"PK\x03\x04",
            "in.xlsx is not a file of rows in a supported format; give CSV, JSON (a list of rows)",
        ),
        ("in.npz", b"PK\x03\x04", "give CSV, JSON"),
        ("in.csv.bz2", b"BZh91AY", "give CSV, JSON"),
        ("in.sav", b"\0\1\2\3", "give CSV, JSON"),
        ("in.json", b'{"a": {"0": 1}, "b": {"0": 1}, "flag": {"0": 1}}', "holds columns; a list of rows is needed"),
        ("in.json", b'{\n "a": [1],\n "b": [2]\n}', "a list of rows is needed"),
        ("in.json", b"3", "the file begins with '3'; a list of rows is needed"),
        ("in.json", b"", "the file begins with ''; a list of rows is needed"),
        ("in.json", b'[{"a": 1, "b": 2}]', "the file has no column 'flag'; it has a, b"),
        ("in.json", b'[{"a": 1, "b": 2, "flag": 0}; {}]', "row 0 (from 0) is followed by"),
        ("in.json", b'[{"a": 1, "b": 2, "flag": 0}', "row 0 (from 0) is followed by ''; a comma or ]"),
        ("in.json", b'[{"a": 1, "b": 2, "flag": 0}, {"a', "row 1 (from 0) of the list is not JSON"),
        ("in.json", b'[{"a": 1, "b": 2, "flag": 0}, ' + b"[" * 9999, "row 1 (from 0) of the list is not JSON"),
        ("in.feather", b"FEA1", "neither Arrow IPC nor Feather of version 2"),
        ("in.parquet", b"a,b\n", "arquet"),
    ],
)
def test_others_are_refused_in_a_line(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises((ValueError, OSError)) as caught, reader.opened(tmp_path / name, WANTED) as (read, _):
        list(read)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_gzipped_file_that_breaks_off_is_said(tmp_path: Path) -> None:
    whole = gzip.compress(csv_bytes())
    (tmp_path / "in.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="is truncated"), reader.opened(tmp_path / "in.csv.gz", WANTED) as (read, _):
        list(read)


@pytest.mark.parametrize("form", ["list", "lines"])
def test_json_rows_that_are_wrong_are_faults(tmp_path: Path, form: str) -> None:
    good: dict[str, Any] = {"a": 1, "b": 2, "flag": True}
    rows: list[Any] = [good, good | {"b": "x"}, {"b": 2, "flag": 0}, {"a": 1}, good | {"a": True}, [1], good]
    rows.append(good | {"b": 10**400})
    text = json.dumps(rows) if form == "list" else "\n".join(map(json.dumps, rows))
    (tmp_path / "in").write_text(text)
    with reader.opened(tmp_path / "in", WANTED) as (read, _):
        (chunk,) = read
    assert {row: fault[:32] for row, fault in chunk.faults.items()} == {
        1: "b = 'x' is not a number",
        3: "b is missing; this column needs ",
        4: "a = True is not a number",
        5: f"the {'row' if form == 'list' else 'line'} is [1]; an object {{column"[:32],
    }
    np.testing.assert_array_equal(chunk.table[[0, 2, 6]], [[1, 2, 1], [np.nan, 2, 0], [1, 2, 1]])
    assert chunk.table[7, 1] == np.inf, "the service's range refuses it"
    assert list(chunk.ids) == list(range(8))


def test_a_line_that_is_no_json_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"a": 1, "b": 2, "flag": 0}\n{"a": 1, "b"\n{"b": 3, "flag": 0}\n')
    with reader.opened(tmp_path / "in.jsonl", WANTED) as (read, _):
        (chunk,) = read
    assert list(chunk.faults) == [1]
    assert chunk.faults[1].startswith("the line is not JSON")


def test_nulls_of_arrow_files_are_faults(tmp_path: Path) -> None:
    arrow, feather = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather")
    feather.write_feather(arrow.table({"a": [1.0, None], "b": [None, 2.0], "flag": [True, False]}), tmp_path / "in")
    with reader.opened(tmp_path / "in", WANTED) as (read, _):
        (chunk,) = read
    assert chunk.faults == {0: "b is missing; this column needs a value"}
