"""Tables of errors and uncertainties: what is read, and what is refused by file and column."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.evaluation import generic
from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import BadFile, ErrorOptions, UnitErrors

ROWS = "error,uncertainty,shifted,site\n1.5,0.1,0,a\n0.5,0.2,1,b\n2,nan,1,a\n3,,0,b\n"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    return path


def test_a_csv_file_is_read(tmp_path: Path) -> None:
    judged = generic.read(written(tmp_path, ROWS), ErrorOptions(by=("site",), acceptable=1.0))
    np.testing.assert_array_equal(judged.error.values, [1.5, 0.5, 2, 3])
    np.testing.assert_array_equal(judged.uncertainty, [0.1, 0.2, np.nan, np.nan])
    assert judged.shifted is not None
    assert judged.shifted.tolist() == [False, True, True, False]
    assert judged.groups["site"].tolist() == ["a", "b", "a", "b"]
    assert judged.error.acceptable == 1.0
    assert judged.notes == ("2 units have no uncertainty: they rank as the least certain",)


def test_parquet_gives_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = {"error": rng.random(50), "uncertainty": rng.random(50), "shifted": rng.integers(0, 2, 50)}
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(columns), path)
    text = "\n".join(",".join(repr(value.item()) for value in row) for row in zip(*columns.values(), strict=True))
    same = generic.read(written(tmp_path, "error,uncertainty,shifted\n" + text), ErrorOptions())
    judged = generic.read(path, ErrorOptions())
    for array, other in ((judged.error.values, same.error.values), (judged.uncertainty, same.uncertainty)):
        np.testing.assert_array_equal(array, other)


def test_the_error_may_be_another_column(tmp_path: Path) -> None:
    path = written(tmp_path, "cost,uncertainty\n1,1\n2,2\n")
    assert generic.read(path, ErrorOptions(error="cost")).error_name == "cost"


def test_figures_by_domain_and_group_are_those_of_their_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [(rng.random(), rng.random(), int(rng.random() < 0.5), rng.choice(["x", "y"])) for _ in range(60)]
    path = written(tmp_path, "error,uncertainty,shifted,site\n" + "\n".join(",".join(map(str, row)) for row in rows))
    result = evaluate(generic.read(path, ErrorOptions(by=("site",), acceptable=0.5)), by=("site",))

    def alone(keep: Callable[[tuple], bool]) -> UnitErrors:
        text = "\n".join(f"{error},{uncertainty}" for error, uncertainty, *rest in rows if keep(tuple(rest)))
        return generic.read(written(tmp_path, "error,uncertainty\n" + text), ErrorOptions(acceptable=0.5))

    parts = [
        (result.domains["in"], alone(lambda rest: rest[0] == 0)),
        (result.domains["shifted"], alone(lambda rest: rest[0] == 1)),
        (result.groups["site"]["x"], alone(lambda rest: rest[1] == "x")),
    ]
    for part, judged in parts:
        assert part.headline.r_auc == evaluate(judged).full.headline.r_auc
        assert part.headline.f1_at_95 == evaluate(judged).full.headline.f1_at_95


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("error,uncertainty\n", "has no rows"),
        ("error,error,uncertainty\n1,2,3\n", "there are 2 columns error; one is needed"),
        ("\n1,2\n", "is empty|column error is missing"),
        ("error;uncertainty\n1;2\n", "column error is missing; the file has error;uncertainty"),
        ("error\n1\n", "column uncertainty is missing; the file has error"),
        ("uncertainty\n1\n", "column error is missing"),
        ("error,uncertainty\n1,2\nx,3\n", "column error: .*invalid value 'x'"),
        ("error,uncertainty\n1,2\n,3\n", r"row 1 \(from 0\) has no error"),
        ("error,uncertainty\n1,2\n1,2,3\n", "Expected 2 columns, got 3"),
        ("error,uncertainty,shifted\n1,2,0\n1,2,2\n", r"shifted\[1\] is 2.0; 0 .in-domain. or 1"),
    ],
)
def test_bad_tables_are_refused_by_file_and_column(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(BadFile, match=f"rows.csv.*{words}"):
        generic.read(written(tmp_path, text), ErrorOptions())


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"not parquet")
    with pytest.raises(BadFile, match=r"rows.parquet cannot be read as Parquet"):
        generic.read(path, ErrorOptions())


def test_parquet_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "rows.PQ"
    pq.write_table(pa.table({"error": [1.0], "uncertainty": [2.0]}), path)
    assert generic.read(path, ErrorOptions()).error.values.tolist() == [1.0]


def test_columns_of_lists_or_of_no_text_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"error": [[1.0, 2.0]], "uncertainty": [1.0]}), path)
    with pytest.raises(BadFile, match=r"rows.parquet: column error holds list<.*double>"):
        generic.read(path, ErrorOptions())
    pq.write_table(pa.table({"error": [1.0], "uncertainty": [1.0], "site": [["a"]]}), path)
    with pytest.raises(BadFile, match="rows.parquet: column site holds list"):
        generic.read(path, ErrorOptions(by=("site",)))
    path = tmp_path / "rows.csv"
    path.write_bytes(b"error,uncertainty,site\n1,2,caf\xe9\n")
    with pytest.raises(BadFile, match="rows.csv: column site holds binary, which is no text in UTF-8"):
        generic.read(path, ErrorOptions(by=("site",)))


def test_groups_of_numbers_and_empty_cells_are_groups(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"error": [1.0, 2.0, 3.0], "uncertainty": [1.0] * 3, "zone": [1, None, 1]}), path)
    zones = evaluate(generic.read(path, ErrorOptions(by=("zone",))), by=("zone",)).groups["zone"]
    assert {name: part.headline.n for name, part in zones.items()} == {"1": 2, "": 1}


def test_groups_tell_domains_apart_too(tmp_path: Path) -> None:
    rows = "error,uncertainty,shifted,site\n1,1,0,a\n1,2,1,a\n1,3,0,b\n1,4,0,b\n"
    sites = evaluate(generic.read(written(tmp_path, rows), ErrorOptions(by=("site",))), by=("site",)).document()["by"][
        "site"
    ]
    assert sites["a"]["roc_auc"] == 1.0
    assert np.isnan(sites["b"]["roc_auc"])


def test_text_in_a_parquet_column_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"error": ["a"], "uncertainty": [1.0]}), path)
    with pytest.raises(BadFile, match="column error holds string"):
        generic.read(path, ErrorOptions())
