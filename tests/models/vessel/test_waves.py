"""Added resistance in waves."""

import numpy as np
import pytest

from simulators.vessel import waves
from simulators.vessel.hull import Hull

HULL = Hull()
TABLE = waves.HeadWaves(HULL)


def test_spectrum_holds_the_wave_height() -> None:
    omega = np.linspace(0.05, 12.0, 20_000)
    energy = np.trapezoid(waves.bretschneider(omega, 3.0, 10.0), omega)
    assert 4.0 * np.sqrt(energy) == pytest.approx(3.0, rel=2e-3)
    assert omega[waves.bretschneider(omega, 3.0, 10.0).argmax()] == pytest.approx(2 * np.pi / 10.0, abs=1e-3)


def test_stawave1_by_hand() -> None:
    force = waves.stawave1(np.array([2.0]), 40.0, 90.0)
    assert force == pytest.approx(1025 * 9.81 * 4.0 * 40.0 * (2.0 / 3.0) / 16.0)


def test_motion_resistance_peaks_where_its_formula_says() -> None:
    omega = np.linspace(0.2, 1.5, 5001)
    speed, draft, block = np.array(10.0), np.array(12.0), np.array(0.65)
    _, motion = waves.transfer(omega, speed, draft, block, 286.0, 48.2)
    froude = 10.0 / np.sqrt(9.81 * 286.0)
    peak = 1.17 * froude**-0.143 / (np.sqrt(286.0 / 9.81) * 0.25 ** (1 / 3))
    assert omega[motion.argmax()] == pytest.approx(peak, abs=1e-3)
    height = 4 * 1025 * 9.81 * 48.2**2 / 286 * 60.3 * 0.65**1.34 * froude**1.5 * np.exp(-3.5 * froude)
    assert motion.max() == pytest.approx(height, rel=1e-4)


def test_reflection_grows_to_its_short_wave_limit() -> None:
    omega = np.linspace(0.1, 6.0, 200)
    reflection, _ = waves.transfer(omega, np.array(10.0), np.array(12.0), np.array(0.65), 286.0, 48.2)
    assert np.isfinite(reflection).all()
    assert (np.diff(reflection) >= 0.0).all()
    f1 = 0.692 * (10.0 / np.sqrt(12.0 * 9.81)) ** 0.769 + 1.81 * 0.65**6.95
    assert reflection[-1] == pytest.approx(0.5 * 1025 * 9.81 * 48.2 * f1, rel=1e-6)


def test_table_agrees_with_direct_integration() -> None:
    """Off the grid points, against a finer integral."""
    speed, height, draft = 9.3, 3.4, 12.3
    omega = np.linspace(0.1, 8.0, 8001)
    form = HULL.form(np.array([draft]), np.array([draft]))
    block = np.asarray(form.volume) / (HULL.length_perpendiculars * HULL.beam * draft)
    reflection, motion = waves.transfer(
        omega, np.array(speed), np.array(draft), block, HULL.length_perpendiculars, HULL.beam
    )
    spectrum = waves.bretschneider(omega, height, float(waves.peak_period(np.array(height))))
    direct = 2.0 * np.trapezoid((reflection + motion) * spectrum, omega)
    table = TABLE.resistance(np.array([speed]), np.array([height]), np.array([draft]))[0]
    assert table == pytest.approx(direct, rel=0.01)


def test_resistance_rises_with_height_and_is_of_stawave1_size() -> None:
    height = np.linspace(0.0, 8.0, 65)
    force = TABLE.resistance(np.full(65, 9.0), height, np.full(65, 12.0))
    assert force[0] == 0.0
    assert (np.diff(force) > 0.0).all()
    simple = waves.stawave1(height[24:25], HULL.beam, 72.0)[0]
    assert 0.3 * simple < force[24] < 3.0 * simple


def test_heading_weight() -> None:
    degrees = np.deg2rad(np.array([0.0, 45.0, 72.5, 100.0, 180.0]))
    np.testing.assert_allclose(waves.heading_weight(degrees, np.full(5, 30.0)), [1, 1, 0.5, 0, 0], atol=1e-9)
    calm = waves.heading_weight(degrees, np.zeros(5))
    np.testing.assert_allclose(calm, calm[0])
    assert 0.3 < calm[0] < 0.5
