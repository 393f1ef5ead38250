"""Coefficients of areas, and derivatives of the F1 area, against curves and differences."""

import numpy as np
import pytest

from models.assessment import retention
from models.assessment.convention import OFFICIAL, PAPER, Convention
from models.estimation.ladder import Ladder, f_area, f_values, partial_sums

COUNTS = np.array([1.0, 3, 0, 2, 1, 4])


@pytest.mark.parametrize("convention", [OFFICIAL, PAPER], ids=lambda item: item.name)
@pytest.mark.parametrize("flat", [False, True])
def test_the_slope_of_the_f1_area_is_that_of_small_changes(convention: Convention, flat: bool) -> None:
    rng = np.random.default_rng(0)
    ladder = Ladder(np.ones(11), flat=True) if flat else Ladder(COUNTS)
    hits = rng.random(len(ladder)) * ladder.count
    slope = f_area(ladder, hits, convention)[1]
    for cell in np.flatnonzero(ladder.count):
        change = np.zeros(len(ladder))
        change[cell] = 1e-6
        difference = f_area(ladder, hits + change, convention)[0] - f_area(ladder, hits - change, convention)[0]
        assert slope[cell] == pytest.approx(difference / 2e-6, rel=1e-3 if flat else 0.02)


@pytest.mark.parametrize("area", ["mean", "trapezoid"])
def test_units_that_share_a_cell_share_their_errors(area: str) -> None:
    rng = np.random.default_rng(1)
    uncertainty = np.repeat(np.arange(6.0), COUNTS.astype(int))
    error = rng.random(11)
    curve = retention.error_curve(error, uncertainty)
    totals = np.bincount(uncertainty.astype(int), error, 6)
    ladder = Ladder(COUNTS)
    assert totals @ ladder.area_coefficients(area) == pytest.approx(retention.r_auc(curve, area), rel=1e-12)
    for kept in (0.0, 0.5, 1.0, 2.5, 4.0, 7.0, 11.0):
        actual = partial_sums(totals, *ladder.steps(np.array([kept])))[0] / 11
        assert actual == pytest.approx(retention.error_at(curve, kept / 11), rel=1e-12, abs=1e-15)


def test_f1_of_hits_is_the_released_one() -> None:
    hits = np.array([0.0, 1, 1, 2, 3, 3])
    known = retention.f_of_hits(np.diff(hits, prepend=0.0), 3)
    np.testing.assert_allclose(f_values(hits, np.arange(6.0), 3.0), known, rtol=1e-12)
    assert np.isnan(f_values(hits, np.arange(6.0), 0.0)).all()


def test_a_sum_of_squares_inside_a_cell_is_near_that_of_its_units() -> None:
    """A cell whose units are all acceptable, or all not, has the slope of its units, but for how they share it."""
    hits = np.array([1.0, 3, 0, 2, 0, 0])
    slope = f_area(Ladder(COUNTS), hits, OFFICIAL)[1]
    units = np.repeat(np.arange(6), COUNTS.astype(int))
    of_units = f_area(Ladder(np.ones(11), flat=True), (hits[units] > 0).astype(float), OFFICIAL)[1]
    mean = np.bincount(units, of_units, 6)[COUNTS > 0] / COUNTS[COUNTS > 0]
    np.testing.assert_allclose(slope[COUNTS > 0], mean, atol=2e-5)
