"""Official files: what is written is read again, by name, and what is wrong is refused in words."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest

from models.evaluation.unit_errors import BadFile
from models.tasks.weather.data import dummies, official
from models.tasks.weather.data.features import METADATA, NAMES
from models.tasks.weather.data.table import UNKNOWN, Table, concatenate

EDIT = Callable[[list[list[str]]], None]


def same(first: Table, second: Table) -> None:
    for name in Table.__slots__:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


@pytest.fixture
def edited(splits: dict[str, Table], tmp_path: Path) -> Callable[[EDIT], Path]:
    """A CSV file of dev_out after a change to its cells (row 0 is the header)."""

    def make(edit: EDIT) -> Path:
        path = tmp_path / "changed.csv"
        official.write(path, [splits["dev_out"].rows(slice(0, 40))])
        cells = [line.split(",") for line in path.read_text().splitlines()]
        edit(cells)
        path.write_text("\n".join(",".join(row) for row in cells) + "\n")
        return path

    return make


def cell(row: int, name: str, value: str) -> EDIT:
    def edit(cells: list[list[str]]) -> None:
        cells[row + 1][cells[0].index(name)] = value

    return edit


@pytest.mark.parametrize("extension", official.FORMATS)
def test_what_is_written_is_read_again_bit_for_bit(splits: dict[str, Table], tmp_path: Path, extension: str) -> None:
    table = splits["train"]
    path = tmp_path / f"train.{extension}"
    official.write(path, [table.rows(slice(0, 5000)), table.rows(slice(5000, None))])
    same(official.read(path, training=True), table)
    assert list(tmp_path.iterdir()) == [path], "nothing unfinished is left"


def test_csv_has_the_official_header_and_codes(splits: dict[str, Table], tmp_path: Path) -> None:
    official.write(tmp_path / "a.csv", [splits["dev_out"]])
    header, first = (tmp_path / "a.csv").read_text().splitlines()[:2]
    assert header.split(",") == [*METADATA, *NAMES]
    assert first.split(",")[5] == "snow"
    code = pyarrow.csv.read_csv(tmp_path / "a.csv")["fact_cwsm_class"].to_numpy()
    np.testing.assert_array_equal(code, 10 * splits["dev_out"].precipitation)


@pytest.mark.parametrize(("layout", "wide"), [("no_meta", 123), ("placeless", 126), ("full", 129)])
def test_all_layouts_are_read(splits: dict[str, Table], tmp_path: Path, layout: str, wide: int) -> None:
    path = tmp_path / "a.csv"
    official.write(path, [splits["dev_out"]], layout)
    assert len(path.read_text().splitlines()[0].split(",")) == wide
    table = official.read(path, needed=())
    np.testing.assert_array_equal(table.features, splits["dev_out"].features)
    if layout == "no_meta":
        assert np.isnan(table.temperature).all()
        assert (table.precipitation == UNKNOWN).all()
        with pytest.raises(BadFile, match="column fact_temperature is missing"):
            official.read(path)
    if layout != "full":
        assert (table.climate == UNKNOWN).all()


def test_columns_are_matched_by_name_and_others_left_alone(
    edited: Callable[[EDIT], Path], splits: dict[str, Table]
) -> None:
    def turned(cells: list[list[str]]) -> None:
        for number, row in enumerate(cells):
            row.reverse()
            row.insert(3, "Unnamed: 0" if number == 0 else str(number))

    same(official.read(edited(turned)), splits["dev_out"].rows(slice(0, 40)))


def test_the_average_rows_are_found_and_accepted_in_training_files_only(
    splits: dict[str, Table], tmp_path: Path
) -> None:
    path = tmp_path / "train.csv"
    official.write(path, [splits["train"]])
    rows = np.flatnonzero(dummies.found_in(official.read(path, training=True)))
    assert rows.tolist() == [len(splits["train"]) - 2, len(splits["train"]) - 1]
    words = f"cmc_available = 0.99.* row {len(splits['train']) - 2} .* 0 or 1.*average row"
    with pytest.raises(BadFile, match=words):
        official.read(path)


def test_the_real_rows_that_are_public_pass(test_data: Path) -> None:
    path = test_data / "weather" / "shifts_train_head_visible_columns.csv"
    if not path.exists():
        pytest.skip("no real rows")
    table = official.read(path, partial=True, needed=METADATA)
    assert len(table) == 5
    assert table.precipitation.tolist() == [0, 2, 1, 2, 2]
    assert table.climate.tolist() == [1, 2, 2, 2, 1]
    assert table.features[0, NAMES.index("climate_pressure")] == np.float32(754.263405)
    assert np.isnan(table.features[:, NAMES.index("wrf_t2")]).all()
    with pytest.raises(BadFile, match="cmc_0_0_0_1000 is missing .109 missing"):
        official.read(path)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (cell(3, "gfs_temperature_sea", "288.2"), "gfs_temperature_sea = 288.2 °C in row 3 .*-95 to 65 °C"),
        (cell(3, "cmc_0_0_0_2", "15.1"), "cmc_0_0_0_2 = 15.1 K in row 3 .*175 to 340 K"),
        (cell(0, "cmc_0_3_0_0", "1013.2"), "cmc_0_3_0_0 = 1013.2 Pa in row 0"),
        (cell(1, "gfs_pressure", "1013.2"), "gfs_pressure = 1013.2 mmHg"),
        (cell(1, "wrf_rh2", "71"), "wrf_rh2 = 71 1 in row 1"),
        (cell(2, "gfs_available", "0.5"), "gfs_available = 0.5 1 in row 2 .*0 or 1"),
        (cell(2, "gfs_available", ""), "gfs_available = nan"),
        (cell(2, "sun_elevation", "inf"), "sun_elevation = inf degree"),
        (cell(2, "gfs_u_wind", "1e300"), "gfs_u_wind = inf m/s"),
        (cell(2, "gfs_soil_temperature", "-999"), "-999 °C .*or -9999 where missing"),
        (cell(2, "gfs_cloudness", "many"), "gfs_cloudness"),
        (cell(4, "fact_cwsm_class", "15"), "fact_cwsm_class = 15 in row 4 is no class code; allowed are 0, 10"),
        (cell(4, "fact_temperature", ""), "fact_temperature = nan °C in row 4"),
        (cell(4, "fact_latitude", "95"), "fact_latitude = 95 degree in row 4"),
        (cell(4, "climate", "boreal"), "climate = 'boreal' in row 4 is no climate; allowed are tropical, dry"),
        (cell(-1, "gfs_u_wind", "gfs_uwind"), "column gfs_u_wind is missing .1 missing.*'gfs_uwind'"),
        (cell(-1, "gfs_u_wind", "gfs_v_wind"), "gfs_u_wind is missing"),
        (cell(-1, "fact_time", "gfs_v_wind"), "2 columns gfs_v_wind"),
    ],
)
def test_what_is_wrong_is_refused_with_row_column_value_and_range(
    edited: Callable[[EDIT], Path], edit: EDIT, words: str
) -> None:
    with pytest.raises(BadFile, match=words) as caught:
        official.read(edited(edit))
    assert "changed.csv" in str(caught.value)


def test_missing_values_and_the_sentinel_pass(edited: Callable[[EDIT], Path]) -> None:
    def edit(cells: list[list[str]]) -> None:
        cell(0, "gfs_soil_temperature", "-9999.0")(cells)
        cell(0, "wrf_t2", "NaN")(cells)
        cell(1, "cmc_0_1_11_0", "")(cells)

    table = official.read(edited(edit))
    assert table.features[0, NAMES.index("gfs_soil_temperature")] == -9999.0
    assert np.isnan(table.features[0, NAMES.index("wrf_t2")])
    assert np.isnan(table.features[1, NAMES.index("cmc_0_1_11_0")])


def test_an_unfinished_file_never_has_its_name(splits: dict[str, Table], tmp_path: Path) -> None:
    def broken() -> object:
        yield splits["dev_in"]
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        official.write(tmp_path / "a.csv", broken())  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_tables_are_joined_and_cut(splits: dict[str, Table]) -> None:
    table = splits["dev_out"]
    same(concatenate([table.rows(slice(0, 7)), table.rows(np.arange(7, len(table)))]), table)
    assert len(concatenate([])) == 0
