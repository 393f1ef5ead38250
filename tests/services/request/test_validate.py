"""Rows from the wire: either physically possible and unchanged, or a refusal that names the first wrong cell."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from models.schema import Feature, Schema
from services.request.validate import Column, Rows, check, named_rows, packed
from services.runtime.errors import DemurError, InvalidInput, TooLarge

SCHEMA = Schema.of(
    [
        Feature("speed", "m/s", 0, 20, "Speed."),
        Feature("heading", "°", -180, 180, "Heading."),
        Feature("wave", "m", 0.1, 15, "Wave height.", nullable=True),
    ]
)
MAX = 100
any_rows = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 6), st.just(3)),
    elements=st.floats(width=32) | st.sampled_from([0.0, 0.1, 15.0, 20.0, 20.000002, -180.0, 1.0]),
)


def columns(schema: Schema, sent: Iterable[Column], most: int) -> Rows:
    return check(schema, named_rows(schema, sent, most))


def pack(rows: np.ndarray, count: int | None = None) -> np.ndarray:
    return packed(SCHEMA, len(rows) if count is None else count, rows.astype("<f4").tobytes(), SCHEMA.hash, MAX)


def name(rows: np.ndarray, order: tuple[int, ...] = (2, 0, 1)) -> np.ndarray:
    return columns(SCHEMA, [Column(SCHEMA.names[i], rows[:, i], SCHEMA.features[i].unit) for i in order], MAX)


def outcome(read: Callable[[], np.ndarray]) -> Any:
    """What was read, or the refusal."""
    try:
        return read()
    except DemurError as refusal:
        return refusal


def possible(value: float, feature: Feature) -> bool:
    if np.isnan(value):
        return feature.nullable
    return bool(np.float32(feature.lower) <= value <= np.float32(feature.upper))


@given(any_rows)
def test_rows_pass_unchanged_or_their_first_wrong_cell_is_named(rows: np.ndarray) -> None:
    wrong = [
        (r, c)
        for r, row in enumerate(rows)
        for c, feature in enumerate(SCHEMA.features)
        if not possible(row[c], feature)
    ]
    if not wrong:
        np.testing.assert_array_equal(pack(rows), rows)
        np.testing.assert_array_equal(name(rows), rows)
        return
    row, column = wrong[0]
    feature = SCHEMA.features[column]
    for read in (pack, name):
        with pytest.raises(InvalidInput) as caught:
            read(rows)
        error = caught.value
        assert (error.field, error.index, error.unit) == (feature.name, row, feature.unit)
        assert error.code == ("out_of_range" if np.isfinite(rows[row, column]) else "not_finite")
        assert error.value == f"{rows[row, column]:g}"
        assert error.allowed == f"[{feature.lower:g}, {feature.upper:g}]"
        for part in (feature.name, feature.unit, f"{feature.lower:g}", f"{feature.upper:g}", f"row {row}"):
            assert part in error.message
        assert (f"{len(wrong) - 1} more" in error.message) == (len(wrong) > 1)


@given(any_rows, st.permutations(range(3)))
def test_packed_and_named_rows_are_one(rows: np.ndarray, order: list[int]) -> None:
    from_packed, other = outcome(lambda: pack(rows)), outcome(lambda: name(rows, tuple(order)))
    if isinstance(from_packed, DemurError):
        assert vars(from_packed) == vars(other)
    else:
        np.testing.assert_array_equal(from_packed, other)


def test_packed_rows_are_a_view() -> None:
    content = np.ones((4, 3), "<f4").tobytes()
    rows = packed(SCHEMA, 4, content, "", MAX)
    assert rows.base is not None
    assert not rows.flags.writeable


@given(st.integers(-3, 200), st.binary(max_size=100), st.sampled_from(["", SCHEMA.hash, "0" * 16]))
def test_packed_bytes_of_any_kind_are_refused_or_read(count: int, content: bytes, schema_hash: str) -> None:
    result = outcome(lambda: packed(SCHEMA, count, content, schema_hash, MAX))
    if isinstance(result, TooLarge):
        assert count > MAX
    elif isinstance(result, InvalidInput):
        assert result.message
        assert result.code in {"schema_mismatch", "no_rows", "wrong_length", "out_of_range", "not_finite"}
    else:
        assert result.shape == (count, 3)


ROW = np.array([[1, 1, 1]], np.float32)
GOOD = [Column("speed", [1.0]), Column("heading", [1.0]), Column("wave", [1.0])]


@pytest.mark.parametrize(
    ("given_columns", "code", "field", "unit", "value", "allowed"),
    [
        (GOOD[:2], "missing_column", "wave", "", "", "speed, heading, wave"),
        ([], "missing_column", "speed", "", "", "speed, heading, wave"),
        ([*GOOD, Column("speed", [1.0])], "doubled_column", "speed", "", "", "speed, heading, wave"),
        ([*GOOD, Column("draft", [1.0])], "unknown_column", "draft", "", "", "speed, heading, wave"),
        ([Column("speed", [1.0], "kn"), *GOOD[1:]], "wrong_unit", "speed", "m/s", "kn", "m/s"),
        ([Column("speed", [1.0, 2.0]), *GOOD[1:]], "unequal_lengths", "heading", "rows", "1", "2"),
        ([Column(c.name, []) for c in GOOD], "no_rows", "rows", "", "0", ""),
        ([Column("speed", [1e300]), *GOOD[1:]], "not_finite", "speed", "m/s", "inf", "[0, 20]"),
    ],
)
def test_columns_that_break_the_contract(
    given_columns: list[Column], code: str, field: str, unit: str, value: str, allowed: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        columns(SCHEMA, given_columns, MAX)
    error = caught.value
    assert (error.code, error.field, error.unit, error.value, error.allowed) == (code, field, unit, value, allowed)
    assert error.message


def test_the_message_lists_all_missing_columns_with_their_units() -> None:
    with pytest.raises(InvalidInput, match=r"all missing: heading, wave.*speed \(m/s\), heading \(°\), wave \(m\)"):
        columns(SCHEMA, GOOD[:1], MAX)


@pytest.mark.parametrize("length", [11, 13, 0, 24])
def test_a_wrong_length_names_what_it_should_be(length: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        packed(SCHEMA, 1, b"\0" * length, "", MAX)
    assert (caught.value.code, caught.value.value, caught.value.allowed) == ("wrong_length", str(length), "12")


def test_another_schema_is_refused_with_both_hashes() -> None:
    with pytest.raises(InvalidInput) as caught:
        packed(SCHEMA, 1, ROW.tobytes(), "f" * 16, MAX)
    assert (caught.value.code, caught.value.value, caught.value.allowed) == ("schema_mismatch", "f" * 16, SCHEMA.hash)


def test_more_rows_than_one_call_may_carry() -> None:
    for read in (lambda rows: pack(rows), lambda rows: name(rows)):
        assert len(read(np.ones((MAX, 3), np.float32))) == MAX
        with pytest.raises(TooLarge) as caught:
            read(np.ones((MAX + 1, 3), np.float32))
        assert (caught.value.value, caught.value.allowed) == (str(MAX + 1), f"[1, {MAX}]")


def test_limits_are_inclusive_in_float32() -> None:
    edge = np.array([[0, -180, 0.1], [20, 180, 15]], np.float32)
    np.testing.assert_array_equal(pack(edge), edge)
    beyond = np.array([[np.nextafter(np.float32(20), np.float32(21)), 0, 1]], np.float32)
    with pytest.raises(InvalidInput):
        pack(beyond)
