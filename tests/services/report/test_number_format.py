"""Numbers as the report prints them."""

import math

import pytest

from services.report.number_format import as_given, change, count, numeral, percent, shown, tick, with_unit


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.23456, "", "1.235"),
        (0.00123456, "", "0.001235"),
        (12345.678, "", "12\u202f346"),
        (9.9999, "", "10.00"),
        (99999.9, "", "100\u202f000"),
        (1.5e-7, "", "1.500\u202f×\u202f10⁻⁷"),
        (-2.5e9, "", "−2.500\u202f×\u202f10⁹"),
        (0.62137, "1", "0.6214"),
        (-0.5, "1", "−0.5000"),
        (1e-6, "1", "1.000\u202f×\u202f10⁻⁶"),
        (0.0, "1", "0"),
        (None, "", "–"),
        (math.nan, "", "–"),
        (math.inf, "", "∞"),
        (-math.inf, "", "−∞"),
        (5e-324, "", "4.941\u202f×\u202f10⁻³²⁴"),
    ],
)
def test_a_number_has_four_significant_digits(value: float | None, unit: str, text: str) -> None:
    assert numeral(value, unit) == text


def test_a_unit_follows_its_number_and_not_a_dash() -> None:
    assert with_unit(2.5, "kW²") == "2.500\u202fkW²"
    assert with_unit(0.5, "1") == "0.5000"
    assert with_unit(2.5, "the unit of the file") == "2.500"
    assert with_unit(math.nan, "kW") == "–"
    assert as_given(250000.0, "kW²") == "250\u202f000\u202fkW²"


def test_counts_keep_all_digits() -> None:
    assert count(18108) == "18\u202f108"


@pytest.mark.parametrize(("share", "text"), [(0.62, "62"), (-0.19, "−19"), (0.004, "0.4"), (0.996, "99.6"), (1, "100")])
def test_shares_in_per_cent(share: float, text: str) -> None:
    assert percent(share) == f"{text}\u202f%"


@pytest.mark.parametrize(
    ("value", "text"), [(0.25, "0.25"), (1e-5, "10⁻⁵"), (2e6, "2×10⁶"), (-1.0, "−1"), (0.0, "0"), (math.inf, "")]
)
def test_axis_numbers_are_short(value: float, text: str) -> None:
    assert tick(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.03, "+3"), (-0.25, "−25"), (0.004, "+0.4"), (0.0, "0"), (1e-5, "0"), (-1e-5, "0"), (math.inf, "+∞")],
)
def test_a_change_has_its_sign(share: float, text: str) -> None:
    assert change(share) == f"{text}\u202f%"


def test_a_unit_behind_a_number_goes_without_its_scale() -> None:
    assert shown("points, 0 to 100") == "points"
    assert shown("(unit of the target)²") == ""
