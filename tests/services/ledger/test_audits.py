"""Audit draws: at the rate that is logged, repeatable by who holds the secret, foreseeable by no other."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from models import artefact
from models.calibration import REFERENCE_LEVELS, Calibration, ExpectedError, RetentionTable
from services.policy.audit_draws import Draws, propensity, strata
from services.policy.decision import Policy
from tests.work import counted

SECRET = bytes(range(32))
DRAWS = Draws(SECRET, 77)


def policy(rate: float, strata: tuple[tuple[float, float], ...] = ()) -> Policy:
    return Policy("power", "m:1", "cpu", "tvar", 1.0, "fixed", audit_rate=rate, audit_strata=strata)


def test_the_rate_is_the_propensity() -> None:
    n = 1_000_000
    for rate in (0.001, 0.01, 0.3):
        drawn = int((DRAWS.uniforms(0, n) < rate).sum())
        assert stats.binomtest(drawn, n, rate).pvalue > 1e-4


def test_draws_are_uniform_and_independent_of_their_neighbours() -> None:
    u = np.concatenate([DRAWS.uniforms(first * 50, 50) for first in range(4000)])
    assert stats.kstest(u, "uniform").pvalue > 1e-4
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 4 / np.sqrt(len(u))
    words = DRAWS.uniforms(0, 100_000, b"audit"), DRAWS.uniforms(0, 100_000, b"priority")
    assert abs(np.corrcoef(*words)[0, 1]) < 4 / np.sqrt(100_000)


@given(st.integers(0, 2**63 - 1), st.integers(1, 300))
def test_what_is_logged_is_enough_to_draw_again(first: int, count: int) -> None:
    again = Draws(bytes(SECRET), 77)
    np.testing.assert_array_equal(again.uniforms(first, count), DRAWS.uniforms(first, count))
    assert again.uniforms(first, count)[0] == DRAWS.uniform(first) or count > 1
    assert DRAWS.uniform(first) == DRAWS.uniforms(first, 1)[0]


def test_another_secret_epoch_or_place_draws_otherwise() -> None:
    for other in (Draws(SECRET[::-1], 77), Draws(SECRET, 78)):
        assert not np.isin(other.uniforms(0, 1000), DRAWS.uniforms(0, 1000)).any()
    assert not np.isin(DRAWS.uniforms(1, 1000), DRAWS.uniforms(0, 1000)).any()


def test_certain_and_impossible_audits_are_that() -> None:
    u = DRAWS.uniforms(0, 100_000)
    assert (u < 1.0).all()
    assert not (u < 0.0).any()


def test_strata_give_each_unit_its_rate() -> None:
    u = np.array([0.1, 0.5, 0.50001, 2.0, np.inf], np.float32)
    actual = propensity(policy(0.02, ((0.5, 0.1), (1.0, 0.3))), u)
    np.testing.assert_allclose(actual, [0.1, 0.1, 0.3, 0.02, 0.02], rtol=1e-6)
    assert propensity(policy(0.02), u) == 0.02


def calibration(values: tuple[float, ...], errors: tuple[float, ...]) -> Calibration:
    return Calibration(
        RetentionTable("tvar", 10, (0.9,), (9.0,)), {"tvar": values}, None, ExpectedError("tvar", values, errors)
    )


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.9])
def test_stratified_rates_keep_the_mean_and_the_floor(rate: float) -> None:
    values = tuple(np.linspace(1, 100, len(REFERENCE_LEVELS)).tolist())
    layers = strata(calibration(values, values), threshold=90.0, rate=rate, least=rate / 5, measure="tvar")
    uppers, rates = np.array(layers).T
    assert (np.diff(uppers) > 0).all()
    assert rates.mean() == pytest.approx(rate, rel=1e-9)
    assert rates.min() >= rate / 5 * (1 - 1e-9)
    assert rates.max() <= 1
    assert rates.max() > 1.2 * rates.min() or rate > 0.8


def test_without_expected_errors_audits_are_uniform() -> None:
    bare = Calibration(RetentionTable("tvar", 10, (0.9,), (9.0,)), {"tvar": (1.0, 2.0)})
    assert strata(bare, 1.0, 0.01, 0.002, "tvar") == ()


def test_the_reference_artefacts_tell_enough_for_strata() -> None:
    folder = Path(__file__).resolve().parents[3] / "artefacts" / "vessel" / "dnn-10"
    (profiles,) = artefact.read(folder, "vessel").manifest.heads.values()
    (calibrated,) = profiles.values()
    threshold = calibrated.retention.threshold(0.95)
    rates = [rate for _, rate in strata(calibrated, threshold, 0.01, 0.002, calibrated.retention.measure)]
    assert len(rates) == 20
    assert np.mean(rates) == pytest.approx(0.01)


def test_draws_are_one_hash_of_any_number_of_units() -> None:
    """40 ns a unit of a large portion and 3 µs for one on a free core: no loop over units, and few steps for one."""
    with counted() as large:
        drawn = DRAWS.uniforms(0, 100_000) < 0.01
    assert len(drawn) == 100_000
    with counted() as single:
        assert 0 <= DRAWS.uniform(5) < 1
    assert large.lines < 30
    assert single.lines < 15
