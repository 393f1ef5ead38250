"""Unit ids are read strictly; request ids are a keyed permutation of them that gives nothing away."""

import itertools
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.labels.request_ids import RequestIds, delivery_id, unit_draw
from services.ledger.unit_ids import parse_unit, unit_text
from services.runtime.errors import InvalidInput

KEY, OTHER = RequestIds(b"k" * 32), RequestIds(b"o" * 32)
UNITS = st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))


@given(UNITS)
def test_ids_lead_back_to_their_unit_with_the_key_only(unit: tuple[int, int]) -> None:
    assert parse_unit(unit_text(unit)) == unit
    text = KEY.text(unit)
    assert KEY.unit(text) == unit
    assert OTHER.unit(text) != unit
    assert len(text) == 32


@given(st.text(max_size=40))
def test_any_text_is_a_unit_or_a_refusal(text: str) -> None:
    with suppress(InvalidInput):
        assert unit_text(parse_unit(text)) == text
    assert KEY.unit(text) is None or len(text) == 32


@pytest.mark.parametrize(
    "text", ["0123456789abcdef-01", "0123456789ABCDEF-1", "f" * 16 + "-1", "0" * 16 + "-" + "9" * 19]
)
def test_there_is_one_way_to_write_a_unit(text: str) -> None:
    with pytest.raises(InvalidInput, match="must be an id"):
        parse_unit(text)


def test_ids_of_neighbours_have_nothing_in_common() -> None:
    """About half of the bits differ, and the order of ids is not that of units."""
    ids = [int(KEY.text((5, n)), 16) for n in range(2000)]
    distances = [(a ^ b).bit_count() for a, b in itertools.pairwise(ids)]
    assert 62 < sum(distances) / len(distances) < 66
    rising = sum(a < b for a, b in itertools.pairwise(ids))
    assert 900 < rising < 1100


def test_draws_are_uniform_and_fixed() -> None:
    draws = [unit_draw(b"k" * 32, "second phase", (7, n)) for n in range(4000)]
    assert draws == [unit_draw(b"k" * 32, "second phase", (7, n)) for n in range(4000)]
    assert 0.18 < sum(draw < 0.2 for draw in draws) / 4000 < 0.22
    assert all(0 <= draw < 1 for draw in draws)


def test_a_delivery_is_named_by_what_it_is() -> None:
    names = {delivery_id(b"k", kind, (1, n), url) for kind in "ab" for n in (1, 2) for url in ("u", "v")}
    assert len(names) == 8
    assert delivery_id(b"k", "a", (1, 1), "u") == delivery_id(b"k", "a", (1, 1), "u")
