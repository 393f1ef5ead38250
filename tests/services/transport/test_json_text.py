"""Texts of many values are those that msgspec writes for lists."""

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.ledger.unit_ids import UnitIds
from services.transport.http.json_text import Choices, numbers, unit_ids


def written(value: Any) -> bytes:
    return msgspec.json.encode(value)


@given(st.lists(st.floats(width=32), max_size=5))
def test_numbers_are_written_with_the_digits_of_float64(values: list[float]) -> None:
    assert written(numbers(np.array(values, np.float32))) == written(values)


def test_numbers_that_do_not_exist_are_null() -> None:
    assert written(numbers(np.array([[np.nan, 1], [np.inf, -0.0]], np.float32))) == b"[[null,1.0],[null,-0.0]]"


@pytest.mark.parametrize("first", [0, 7, 998, 999, 1000, 1001, 1999, 2000, 9_999, 10**12 - 3, 2**63 - 3001])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 1000, 1001, 3000])
def test_ids_are_written_across_blocks(first: int, count: int) -> None:
    ids = UnitIds(0xABC, first, count)
    assert written(unit_ids(ids)) == written([ids.text(place) for place in range(count)])


@given(st.lists(st.integers(0, 3), max_size=9))
def test_choices_are_listed_by_index(indices: list[int]) -> None:
    values: list[Any] = ['a \u20ac "b"', 1.5, [], float("nan")]
    assert written(Choices(values).listed(np.array(indices, np.uint8))) == written([values[place] for place in indices])
