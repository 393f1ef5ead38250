"""The B-series and the operating point."""

import numpy as np
import pytest

from simulators.vessel import bseries
from simulators.vessel.propeller import Propeller


def straightforward(terms: np.ndarray, j: float, p: float, a: float, z: int) -> float:
    """The polynomial as it is printed, term by term."""
    return sum(c * j**s * p**t * a**u * z**v for c, s, t, u, v in terms.tolist())


def test_the_tables_have_the_published_sizes() -> None:
    assert bseries.KT_TERMS.shape == (39, 5)
    assert bseries.KQ_TERMS.shape == (47, 5)
    assert set(np.unique(bseries.KT_TERMS[:, 1])) == set(np.unique(bseries.KQ_TERMS[:, 1])) == {0, 1, 2, 3}


@pytest.mark.parametrize("j", [0.0, 0.35, 0.8, 1.1])
@pytest.mark.parametrize(("p", "a", "z"), [(0.8, 0.55, 4), (1.0, 0.75, 5), (1.2, 0.9, 6)])
def test_the_cubic_is_the_polynomial(j: float, p: float, a: float, z: int) -> None:
    for terms in (bseries.KT_TERMS, bseries.KQ_TERMS):
        cubic = np.polynomial.polynomial.polyval(j, bseries.cubic(terms, p, a, z))
        assert cubic == pytest.approx(straightforward(terms, j, p, a, z), abs=1e-12)


def test_propeller_of_the_worked_example() -> None:
    """Holtrop and Mennen (1982): a B4-74 of 8 m at J 0.7184 has K_T 0.18802, K_Q 0.0333, eta 0.646."""
    pitch = np.linspace(0.9, 1.2, 3001)
    thrust = np.array([straightforward(bseries.KT_TERMS, 0.7184, p, 0.7393, 4) for p in pitch])
    at = float(np.interp(0.18802, thrust, pitch))
    torque = straightforward(bseries.KQ_TERMS, 0.7184, at, 0.7393, 4)
    assert torque == pytest.approx(0.033275, rel=0.01)
    assert 0.7184 * 0.18802 / (2 * np.pi * torque) == pytest.approx(0.6461, abs=0.005)


def test_open_water_curves_look_like_a_propeller() -> None:
    """Chart values of B5-75, P/D 1.0: K_T(0) near 0.44, zero thrust near J 1.06, best efficiency near 0.7."""
    thrust = bseries.cubic(bseries.KT_TERMS, 1.0, 0.75, 5)
    torque = bseries.cubic(bseries.KQ_TERMS, 1.0, 0.75, 5)
    j = np.linspace(0.0, 1.05, 400)
    kt, kq = np.polynomial.polynomial.polyval(j, thrust), np.polynomial.polynomial.polyval(j, torque)
    efficiency = j * kt / (2.0 * np.pi * kq)
    assert kt[0] == pytest.approx(0.45, abs=0.03)
    assert (np.diff(kt) < 0.0).all()
    assert (np.diff(kq) < 0.0).all()
    assert 0.60 < efficiency.max() < 0.75
    assert 0.75 < j[efficiency.argmax()] < 0.95


def test_reynolds_correction_vanishes_at_model_scale_and_helps_the_ship() -> None:
    scales = np.log10(np.array([2e6, 5e7])) - 0.301
    j, shape = 0.7, (1.0, 0.75, 5)
    for correction, sign in ((bseries.reynolds_thrust, 1.0), (bseries.reynolds_torque, -1.0)):
        zero, one, two = correction(scales, *shape)
        value = np.broadcast_to(zero, 2) + np.broadcast_to(one, 2) * j + np.broadcast_to(two, 2) * j**2
        assert abs(value[0]) < 1e-3
        assert sign * (value[1] - value[0]) > 0.0


def test_operating_point_balances_the_thrust() -> None:
    propeller = Propeller()
    rng = np.random.default_rng(5)
    thrust, inflow = rng.uniform(1e5, 3e6, 2000), rng.uniform(2.0, 9.0, 2000)
    point = propeller.operate(thrust, inflow)
    log_rn = propeller._log_reynolds(
        inflow, np.interp(thrust / (1025 * propeller.diameter**2 * inflow**2), *propeller._inverse)
    )
    correction = bseries.reynolds_thrust(log_rn, propeller.pitch_ratio, propeller.area_ratio, propeller.blades)
    kt = np.polynomial.polynomial.polyval(point.advance, propeller.thrust_curve)
    kt = kt + correction[0] + correction[1] * point.advance + correction[2] * point.advance**2
    np.testing.assert_allclose(kt * 1025 * point.rate**2 * propeller.diameter**4, thrust, rtol=1e-9)
    np.testing.assert_allclose(point.advance * point.rate * propeller.diameter, inflow, rtol=1e-12)
    np.testing.assert_allclose(point.efficiency * point.power, thrust * inflow, rtol=1e-12)
    assert (point.efficiency > 0.0).all()
    assert (point.efficiency < 0.80).all()


def test_windmilling_and_starting_stay_finite() -> None:
    point = Propeller().operate(np.array([-1e9, -1e5, 0.0, 1e9]), np.array([0.0, 5.0, 5.0, 0.0]))
    for values in (point.advance, point.rate, point.power):
        assert np.isfinite(values).all()


def test_cavitation_costs_only_beyond_the_criterion() -> None:
    propeller = Propeller()
    thrust, immersion = np.linspace(0.0, 6e6, 50), np.full(50, 8.0)
    factor = propeller.cavitation_factor(thrust, immersion)
    enough = propeller.keller_area(thrust, immersion) <= propeller.area_ratio
    assert (factor[enough] == 1.0).all()
    assert (factor[~enough] > 1.0).all()
    assert enough.any()
    assert not enough.all()
    loading, limit = propeller.burrill(np.array([1e6, 5e6]), np.full(2, 7.5), np.full(2, 1.6), np.full(2, 8.0))
    assert loading[0] < limit[0]
    assert loading[1] > limit[1]
