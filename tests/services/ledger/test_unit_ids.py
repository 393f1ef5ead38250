"""Identities of units as texts."""

import pytest

from services.ledger.unit_ids import MOST_SEQUENCE, UnitIds


@pytest.mark.parametrize(
    "ids", [UnitIds(0xABC, 98, 4), UnitIds(0, 0, 1), UnitIds(MOST_SEQUENCE, MOST_SEQUENCE - 1, 2), UnitIds(5, 7, 0)]
)
def test_texts_are_those_of_single_units(ids: UnitIds) -> None:
    assert ids.texts() == [ids.text(index) for index in range(ids.count)]


def test_texts_have_all_digits_of_the_epoch() -> None:
    assert UnitIds(0xABC, 9, 2).texts() == ["0000000000000abc-9", "0000000000000abc-10"]
