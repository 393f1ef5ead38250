"""Rows from data frames, and answers back into them; the package itself imports no frame library."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import demur
from demur._description import Feature
from demur._rows.packing import Layout, pack
from tests.clients.stand_in import serving
from tests.clients.weather_service import METADATA, NAMES, WeatherStandIn, some_rows

UNITS = ("°", "°C", "°C", "1", "%")
FLAGS = frozenset({"gfs_available"})
LAYOUT = Layout(NAMES, UNITS, "hash", 100, frozenset(NAMES), METADATA, FLAGS)


def pandas_frame(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


def polars_frame(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("polars").DataFrame(columns)


def arrow_table(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("pyarrow").table(columns)


FRAMES = (pandas_frame, polars_frame, arrow_table, dict)


def lists(rows: np.ndarray) -> dict[str, list[float | None]]:
    """Columns of Python values, None for NaN, the flag as a boolean."""
    values: dict[str, Any] = {}
    for name, column in zip(NAMES, rows.T.tolist(), strict=True):
        values[name] = [None if np.isnan(value) else value for value in column]
    values["gfs_available"] = [bool(value) for value in values["gfs_available"]]
    return values


METADATA_VALUES: dict[str, Any] = {
    "fact_time": [1.5e9, 1.6e9, None],
    "fact_latitude": [55.0, 56.0, 57.0],
    "fact_longitude": ["east", "west", ""],
    "fact_temperature": [None, None, None],
    "fact_cwsm_class": [0, 10, 20],
    "climate": ["dry", "polar", "dry"],
}


@pytest.mark.parametrize("frame", FRAMES)
@settings(deadline=None, max_examples=25)
@given(
    size=st.integers(0, 30), seed=st.integers(0, 99), order=st.permutations(NAMES), repeats=st.sampled_from([1, 100])
)
def test_every_frame_packs_as_its_array(
    frame: Callable[..., Any], size: int, seed: int, order: Any, repeats: int
) -> None:
    rows = np.tile(some_rows(size, seed), (repeats, 1))  # more than a block, too
    columns = lists(rows)
    packed = pack(frame({name: columns[name] for name in order}), LAYOUT)
    np.testing.assert_array_equal(packed, rows)
    assert packed.dtype == np.dtype("<f4")
    assert packed.flags.c_contiguous


@pytest.mark.parametrize("frame", FRAMES)
def test_metadata_are_dropped_whatever_they_hold(frame: Callable[..., Any]) -> None:
    rows = some_rows(3)
    columns = METADATA_VALUES | lists(rows)
    np.testing.assert_array_equal(pack(frame(columns), LAYOUT), rows)
    some = {name: values for name, values in columns.items() if name not in METADATA[1:4]}
    np.testing.assert_array_equal(pack(frame(some), LAYOUT), rows)
    strict = Layout(NAMES, UNITS, "hash", 100, frozenset(NAMES), (), FLAGS)
    with pytest.raises(demur.InvalidInput, match="'fact_time' is not a column"):
        pack(frame(columns), strict)


def test_metadata_are_not_even_read() -> None:
    class Guarded(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            assert name not in METADATA
            return super().__getitem__(name)

    rows = some_rows(2)
    np.testing.assert_array_equal(pack(Guarded(dict.fromkeys(METADATA, object()) | lists(rows)), LAYOUT), rows)


@pytest.mark.parametrize("frame", FRAMES)
def test_text_in_a_feature_is_named(frame: Callable[..., Any]) -> None:
    columns = lists(some_rows(3)) | {"gfs_humidity": ["12", "wet", "dry"]}
    with pytest.raises(demur.InvalidInput, match="gfs_humidity holds") as caught:
        pack(frame(columns), LAYOUT)
    assert (caught.value.code, caught.value.field, caught.value.unit) == ("not_numbers", "gfs_humidity", "%")
    assert "'12' in row 0" in str(caught.value)
    with pytest.raises(demur.InvalidInput, match="'wet' in row 1") as caught:
        pack({**columns, "gfs_humidity": np.array([1, "wet", None], object)}, LAYOUT)
    assert caught.value.index == 1


@pytest.mark.parametrize("frame", FRAMES)
def test_booleans_are_numbers_in_flags_only(frame: Callable[..., Any]) -> None:
    columns = lists(some_rows(3))
    for flags in ([True, False, True], [True, None, False]):
        expected = [np.nan if flag is None else float(flag) for flag in flags]
        np.testing.assert_array_equal(pack(frame(columns | {"gfs_available": flags}), LAYOUT)[:, 3], expected)
        with pytest.raises(demur.InvalidInput, match="gfs_humidity holds"):
            pack(frame(columns | {"gfs_humidity": flags}), LAYOUT)


@pytest.mark.parametrize("frame", FRAMES)
def test_other_kinds_of_values_are_refused(frame: Callable[..., Any]) -> None:
    columns = lists(some_rows(2)) | {"gfs_humidity": np.array(["2020-01-01", "2020-01-02"], "datetime64[us]")}
    with pytest.raises(demur.InvalidInput, match="gfs_humidity holds") as caught:
        pack(frame(columns), LAYOUT)
    assert caught.value.field == "gfs_humidity"


@pytest.mark.parametrize(
    "kind", ["Int64", "UInt8", "Float32", "Float64", "int64[pyarrow]", "double[pyarrow]", "object", "category"]
)
def test_nullable_columns_of_pandas(kind: str) -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([3, None, 7], dtype=kind)
    if kind == "object":
        series = pandas.Series([3, pandas.NA, 7], dtype=object)
    packed = pack(pandas.DataFrame(lists(some_rows(3)) | {"gfs_humidity": series}), LAYOUT)
    np.testing.assert_array_equal(packed[:, 4], [3, np.nan, 7])


def test_the_index_of_a_frame_means_nothing() -> None:
    rows = some_rows(4)
    frame = pandas_frame(lists(rows)).set_axis(["a", "b", "a", "c"], axis=0)
    np.testing.assert_array_equal(pack(frame, LAYOUT), rows)
    np.testing.assert_array_equal(pack(frame.iloc[::-1], LAYOUT), rows[::-1])


def test_doubled_columns_of_a_frame_are_named() -> None:
    frame = pandas_frame(lists(some_rows(2)))
    with pytest.raises(demur.InvalidInput, match="'gfs_humidity' is given twice"):
        pack(frame[[*NAMES, "gfs_humidity"]], LAYOUT)
    with pytest.raises(demur.InvalidInput, match="'gfs_humidity' is given twice"):
        pack(frame[[*NAMES[:-2], "gfs_humidity", "gfs_humidity"]], LAYOUT)


def test_a_lazy_frame_is_to_be_collected() -> None:
    with pytest.raises(demur.InvalidInput, match=r"LazyFrame, which holds no values yet; collect\(\) it") as caught:
        pack(polars_frame(lists(some_rows(2))).lazy(), LAYOUT)
    assert caught.value.field == "rows"


def test_masked_columns_of_any_kind() -> None:
    for values in ([1, 2, 3], np.array([1, 2, 3], np.float32), np.array([1, 2, 3], object)):
        masked = np.ma.array(values, mask=[False, True, False])
        packed = pack(lists(some_rows(3)) | {"gfs_humidity": masked}, LAYOUT)
        np.testing.assert_array_equal(packed[:, 4], [1, np.nan, 3])
    with pytest.raises(demur.InvalidInput, match="gfs_humidity holds"):
        pack(lists(some_rows(2)) | {"gfs_humidity": np.ma.array(["1", "2"], mask=[False, True])}, LAYOUT)


@pytest.mark.parametrize("kind", [np.float32, object])
def test_an_array_with_the_metadata_says_how_to_drop_them(kind: Any) -> None:
    whole = np.hstack([np.full((4, 6), "dry", object), some_rows(4)]) if kind is object else np.zeros((4, 11), kind)
    with pytest.raises(demur.InvalidInput) as caught:
        pack(whole, LAYOUT)
    for words in ("shape [4, 11]", "the 6 metadata columns", "climate", "pass columns by name", "rows[:, 6:]"):
        assert words in str(caught.value)
    np.testing.assert_array_equal(pack(whole[:, 6:], LAYOUT), whole[:, 6:].astype(np.float32))
    with pytest.raises(demur.InvalidInput, match=r"rows\[6:\] where"):
        pack(whole[0], LAYOUT)
    for width in (4, 6, 10, 12):
        with pytest.raises(demur.InvalidInput) as caught:
            pack(np.zeros((2, width)), LAYOUT)
        assert "metadata" not in str(caught.value)


WIDE_NAMES = tuple(f"gfs_temperature_{level}" for level in range(1000, 1123))
WIDE = Layout(WIDE_NAMES, ("°C",) * 123, "hash", 0, frozenset(WIDE_NAMES), METADATA)


@pytest.mark.parametrize(
    ("rows", "code", "words"),
    [
        (np.zeros((2, 122)), "wrong_shape", "shape [2, 122], not [N, 123]"),
        (np.zeros((2, 124)), "wrong_shape", "describe() names the columns in order"),
        (np.zeros((2, 129)), "wrong_shape", "rows[:, 6:]"),
        (dict.fromkeys(WIDE_NAMES[1:], 0), "missing_column", "'gfs_temperature_1000' is missing (all missing: gfs_t"),
        (dict.fromkeys(WIDE_NAMES[:2], 0), "missing_column", "and 89 more)"),
        (
            dict.fromkeys((*WIDE_NAMES[1:], "gfs_temprature_1000"), 0),
            "unknown_column",
            "'gfs_temprature_1000' is not a column of this model; describe() names the 123 columns; similar ones are "
            "gfs_temperature_1000 (°C)",
        ),
        (dict.fromkeys((*WIDE_NAMES, "x"), 0), "unknown_column", "describe() names the 123 columns"),
    ],
)
def test_messages_about_wide_schemas_stay_short(rows: Any, code: str, words: str) -> None:
    with pytest.raises(demur.InvalidInput) as caught:
        pack(rows, WIDE)
    assert caught.value.code == code
    assert words in str(caught.value)
    assert len(str(caught.value)) < 1200


@pytest.mark.parametrize(("values", "flag"), [((0.0, 1.0), True), ((1.0, 0.0), True), ((0.0, 2.0), False), ((), False)])
def test_a_flag_is_a_column_of_zeros_and_ones(values: tuple[float, ...], flag: bool) -> None:
    feature = Feature("f", "1", 0, 2, 0, 2, "", False, values=values)
    described = demur.Description("t", "m", "h", (feature,), (), (), 0)
    assert Layout.of(described).flags == ({"f"} if flag else set())


@pytest.fixture(scope="module")
def answer() -> Iterator[demur.WeatherAnswer]:
    with serving(WeatherStandIn(withhold=True)) as target, demur.connect(target, timeout=10) as client:
        frame = pandas_frame(METADATA_VALUES | lists(some_rows(3)))
        np.testing.assert_array_equal(
            client.weather.predict(frame).temperature.total, client.weather.predict(some_rows(3)).temperature.total
        )
        yield client.weather.predict(some_rows(50))


SCORES = ["total", "data", "knowledge", "uncertainty"]
COMMON = [*SCORES, "deferred", "shifted", "prediction_id", "reason", "shift_reasons", "shifted_inputs"]


def test_answers_are_flat_columns(answer: demur.WeatherAnswer) -> None:
    columns = answer.to_dict()
    assert list(columns) == [
        *(f"temperature.{name}" for name in ["mean", *COMMON]),
        *(f"precipitation.{name}" for name in ["class", "p0", "p1", "p2", *COMMON]),
    ]
    assert {values.shape for values in columns.values()} == {(50,)}
    np.testing.assert_array_equal(columns["precipitation.p2"], answer.precipitation.probabilities[:, 2])
    np.testing.assert_array_equal(columns["precipitation.class"], answer.precipitation.classes)
    assert columns["temperature.prediction_id"].tolist() == list(answer.temperature.prediction_ids)
    assert answer.temperature.to_dict().keys() == {"mean", *COMMON}


def test_answers_become_frames(answer: demur.WeatherAnswer) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = answer.to_dict()
    for frame in (pandas.DataFrame(columns), polars.DataFrame(columns)):
        assert list(frame.columns) == list(columns)
        assert len(frame) == 50
        for name, values in columns.items():
            back = np.asarray(frame[name])
            np.testing.assert_array_equal(back, values, err_msg=name)
            if values.dtype.kind != "U":
                assert back.dtype == values.dtype
    assert polars.DataFrame(columns)["precipitation.prediction_id"].dtype == polars.String


def test_answers_of_one_head_have_plain_names(client: demur.Client, rows: Any, vessel: Any) -> None:
    answer = client.vessel.predict(rows(6))
    assert list(answer.to_dict()) == ["mean", *COMMON]
    assert len(pandas_frame(answer.to_dict())) == len(polars_frame(answer.to_dict())) == 6
    vessel.singular = True
    assert "knowledge" not in client.vessel.predict(rows(6)).to_dict()


def test_frames_ask_about_ships_too(client: demur.Client, rows: Any, columns: Any) -> None:
    batch = rows(40)
    expected = client.vessel.predict(batch).mean
    for frame in (pandas_frame, polars_frame, arrow_table):
        np.testing.assert_array_equal(client.vessel.predict(frame(columns(batch))).mean, expected)
        (streamed,) = client.vessel.stream([frame(columns(batch))], chunk_rows=7)
        np.testing.assert_array_equal(streamed.mean, expected)


def test_a_wish_may_name_the_only_head(client: demur.Client, vessel: Any, rows: Any) -> None:
    client.vessel.predict(rows(2), defer_above={"power": 5.0})
    (_,) = client.vessel.stream([rows(2)], defer_above={"power": 5.0})
    for question in vessel.questions:
        assert dict(question.defer_above_by_head) == {"power": 5.0}
        assert not question.HasField("defer_above")
