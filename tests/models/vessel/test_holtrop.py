"""Calm-water resistance against the worked example of the paper and against towing-tank facts."""

import numpy as np
import pytest

from simulators.vessel import holtrop
from simulators.vessel.hull import Form, Hull

SPEED = np.array([25 * 0.5144])
# Holtrop and Mennen (1982), Section 4. The paper gives lcb as 2.02 per cent aft of half of Lpp = 200 m; its
# formulas want the distance from half of the waterline: (-4.04 + 2.5)/205.
EXAMPLE = Form(
    length=205.0,
    beam=32.0,
    draft=10.0,
    draft_fore=10.0,
    draft_aft=10.0,
    volume=37_500.0,
    lcb=100.0 * (-0.0202 * 200.0 + 2.5) / 205.0,
    midship_coefficient=0.98,
    waterplane_coefficient=0.75,
    bulb_area=20.0,
    bulb_height=4.0,
    transom_area=16.0,
    appendage_area=50.0,
    appendage_factor=1.5,
    stern=10.0,
)


@pytest.fixture(scope="module")
def calm() -> holtrop.Resistance:
    return holtrop.resistance(EXAMPLE, SPEED, rough_appendages=True)


@pytest.mark.parametrize(
    ("part", "printed", "tolerance"),
    [
        ("friction", 869.63, 0.2),
        ("appendages", 8.83, 0.01),
        ("wave", 557.11, 0.6),
        ("bulb", 0.049, 0.0005),
        ("transom", 0.0, 0.0),
        ("correlation", 221.98, 0.1),
        ("total", 1793.26, 0.6),
    ],
)
def test_worked_example_in_kilonewtons(calm: holtrop.Resistance, part: str, printed: float, tolerance: float) -> None:
    assert getattr(calm, part)[0] / 1000.0 == pytest.approx(printed, abs=tolerance)


def test_worked_example_coefficients(calm: holtrop.Resistance) -> None:
    assert float(calm.form_factor) == pytest.approx(1.156, abs=5e-4)
    assert float(calm.wetted_surface) == pytest.approx(7381.45, abs=0.01)
    assert float(calm.correlation_coefficient) == pytest.approx(0.000352, abs=1e-6)
    assert calm.total[0] * SPEED[0] / 1000.0 == pytest.approx(23_063, rel=5e-4)
    assert float(holtrop.run_length(EXAMPLE)) == pytest.approx(81.385, abs=0.05)


def test_worked_example_interaction(calm: holtrop.Resistance) -> None:
    factors = holtrop.interaction(EXAMPLE, calm, diameter=8.0, area_ratio=0.7393)
    assert factors.wake[0] == pytest.approx(0.2584, abs=6e-4)
    assert float(factors.thrust_deduction) == pytest.approx(0.1747, abs=1e-4)
    assert float(factors.rotative) == pytest.approx(0.9931, abs=1e-4)


def test_wave_resistance_is_continuous_between_the_regimes() -> None:
    froude = np.linspace(0.38, 0.58, 2001)
    total = holtrop.resistance(EXAMPLE, froude * np.sqrt(9.81 * 205.0)).wave
    assert np.abs(np.diff(total) / total[:-1]).max() < 0.01


def test_resistance_rises_with_speed_and_draft() -> None:
    hull = Hull()
    drafts = np.linspace(8.0, 15.0, 15)[:, None] * np.ones((1, 40))
    speeds = np.linspace(2.5, 12.5, 40)[None, :] * np.ones((15, 1))
    form = hull.form(drafts.ravel(), drafts.ravel())
    total = holtrop.resistance(form, speeds.ravel()).total.reshape(15, 40)
    assert (np.diff(total, axis=1) > 0.0).all()
    assert (np.diff(total, axis=0) > 0.0).all()


def test_full_form_variant_on_a_very_large_tanker() -> None:
    """KVLCC2 particulars (public benchmark hull): measured S 27,194 m2 and form factor near 1.2."""
    tanker = Form(325.5, 58.0, 20.8, 20.8, 20.8, 312_622.0, 3.48, 0.998, 0.908, 0.0, 4.0, 0.0, 273.0, 1.5, 0.0)
    assert float(holtrop.wetted_surface(tanker)) == pytest.approx(27_194, rel=0.02)
    bulky = float(holtrop.form_factor(tanker, "bulky"))
    assert 1.15 < bulky < float(holtrop.form_factor(tanker))
    resistance = holtrop.resistance(tanker, np.array([15.5 * 0.5144]), "bulky")
    assert resistance.wave[0] < 0.15 * resistance.total[0]


def test_volume_and_waterplane_agree() -> None:
    hull, step = Hull(), 1e-4
    drafts = np.array([8.0, 11.0, 14.5])
    above, below = hull.form(drafts + step, drafts + step), hull.form(drafts - step, drafts - step)
    slope = (np.asarray(above.volume) - np.asarray(below.volume)) / (2.0 * step)
    form = hull.form(drafts, drafts)
    area = np.asarray(form.waterplane_coefficient) * np.asarray(form.length) * hull.beam
    np.testing.assert_allclose(slope, area, rtol=1e-6)
    weight = 1.025 * np.asarray(hull.form(np.array([14.5]), np.array([14.5])).volume)[0]
    assert hull.deadweight_max < weight < 1.6 * hull.deadweight_max


def test_trim_by_the_stern_moves_buoyancy_aft() -> None:
    form = Hull().form(np.array([11.0, 12.0, 13.0]), np.array([13.0, 12.0, 11.0]))
    assert (np.diff(np.asarray(form.lcb)) < 0.0).all()
