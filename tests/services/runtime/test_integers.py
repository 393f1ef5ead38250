"""Integers of JSON: a number without a fraction is one."""

import pytest

from services.runtime.errors import InvalidInput
from services.transport.http.decoding import Integer, integer


@pytest.mark.parametrize(("value", "expected"), [(49, 49), (49.0, 49), (-0.0, 0), (2**63, 2**63), (2.0**53, 2**53)])
def test_a_number_without_a_fraction_is_an_integer(value: Integer, expected: int) -> None:
    actual = integer("count", value)
    assert (actual, type(actual)) == (expected, int)


@pytest.mark.parametrize("value", [0.5, 49.00001, 1e300, 2.0**53 + 2, float("inf"), float("nan")])
def test_others_are_refused(value: float) -> None:
    with pytest.raises(InvalidInput, match="count = .* requests: expected an integer, such as 49") as refused:
        integer("count", value, "requests")
    assert (refused.value.field, refused.value.allowed) == ("count", "integers")
