"""What `demur score` reads and writes, without a service: rows of CSV files, and output that is never half there."""

import gzip
import io
import os
from pathlib import Path

import numpy as np
import pytest

from services.cli.output import CommandError
from services.cli.rows import csv_file
from services.cli.rows.chunking import Selection
from services.cli.rows.csv_file import chunks
from services.cli.rows.output_file import replacing


def test_quoted_cells_and_identities_of_any_kind() -> None:
    text = (
        '\ufeff"b",time_id,note,"a"\r\n'
        '"1.5","2020-01-01 00:03","says ""#1"", twice",2\r\n'
        "\r\n"
        '3,00123,"two\nlines",4\r\n'
    )
    (chunk,) = chunks(io.BytesIO(text.encode()), Selection(["a", "b"]))
    np.testing.assert_array_equal(chunk.table, np.array([[2, 1.5], [4, 3]], np.float32))
    assert chunk.table.dtype == np.float32
    assert list(chunk.ids) == ["2020-01-01 00:03", "00123"]


def test_rows_without_identity_are_counted_over_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "CHUNK_BYTES", 10)
    parts = list(chunks(io.BytesIO(b"a\n" + b"1\n" * 5 + b"\n" * 20 + b"2\n" * 4), Selection(["a"])))
    assert len(parts) == 2
    assert [row for chunk in parts for row in chunk.ids] == list(range(9))
    assert [chunk.start for chunk in parts] == np.cumsum([0, *(len(chunk.table) for chunk in parts[:-1])]).tolist()


def test_a_quoted_line_break_does_not_split_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "CHUNK_BYTES", 6)
    parts = list(chunks(io.BytesIO(b'a,time_id\n1,"x\ny\nz"\n2,w\n'), Selection(["a"])))
    assert [name for chunk in parts for name in chunk.ids] == ["x\ny\nz", "w"]


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("x,1", "a = 'x' is not a number"),
        (",1", "a = '' is not a number"),
        ("1", "the row has 1 values instead of 2"),
        ("1_0,1", "a = '1_0' is not a number"),
    ],
)
def test_what_is_wrong_is_a_fault_of_its_chunk(monkeypatch: pytest.MonkeyPatch, bad: str, says: str) -> None:
    monkeypatch.setattr(csv_file, "CHUNK_BYTES", 16)  # four rows
    text = "a,b\n" + "1,2\n" * 7 + bad + "\n" + "1,2\n" * 3
    parts = list(chunks(io.BytesIO(text.encode()), Selection(["a", "b"])))
    assert {chunk.start + row: fault for chunk in parts for row, fault in chunk.faults.items()} == {7: says}
    assert sum(len(chunk.table) for chunk in parts) == 11


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n"])
def test_a_missing_column_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="no column 'c'"):
        list(chunks(io.BytesIO(text.encode()), Selection(["c"])))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text("precious")
    return path


def test_output_appears_when_it_is_complete_or_with_what_was_written(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    with replacing(output, source) as file:
        file.write("new")
        assert not output.exists()
    assert output.read_text() == "new"
    with pytest.raises(ZeroDivisionError), replacing(output, source) as file:
        file.write(f"half{1 / 0}")
    assert output.read_text() == "new", "nothing was written"
    with pytest.raises(ZeroDivisionError), replacing(output, source) as file:
        assert 1 / (file.write("half") - len("half"))
    assert output.read_text() == "half"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "out.csv"]


def test_a_name_that_ends_in_gz_is_gzipped(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv.gz"
    with replacing(output, source) as file:
        file.write("a,b\r\n")
    assert gzip.decompress(output.read_bytes()) == b"a,b\r\n"


def test_the_input_is_never_overwritten(source: Path, tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(source)
    (tmp_path / "hard.csv").hardlink_to(source)
    (tmp_path / "out.csv.part").hardlink_to(source)
    for name in ("in.csv", "link.csv", "hard.csv", "out.csv"):
        with pytest.raises(CommandError, match="destroy the input"), replacing(tmp_path / name, source):
            pass
    assert source.read_text() == "precious"


def test_a_link_keeps_pointing_to_its_file(source: Path, tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "out.csv")
    with replacing(tmp_path / "link.csv", source) as file:
        file.write("new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "out.csv").read_text() == "new"


def test_a_pipe_is_written_directly(source: Path) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as read, os.fdopen(writing, "w"):
        with replacing(Path(f"/dev/fd/{writing}"), source) as file:
            file.write("new\n")
        assert read.readline() == "new\n"


def test_a_device_is_written_directly(source: Path) -> None:
    with replacing(Path("/dev/null"), source) as file:
        file.write("new")
    assert not Path("/dev/null").is_file()
