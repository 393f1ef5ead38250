"""Calm-water resistance and hull-propeller interaction by Holtrop and Mennen.

Published content: J. Holtrop and G.G.J. Mennen, "An approximate power prediction method", International
Shipbuilding Progress 29 (1982), 166-170, with the worked example that the tests reproduce; J. Holtrop, "A
statistical re-analysis of resistance and propulsion data", ISP 31 (1984), for the wave resistance above
Fn 0.40 and for the form factor of the full-form variant. Symbols are the papers'.

Nikolopoulos and Boulougouris (2019) recalibrated the constants of this method for tankers and bulk carriers by
a genetic search. Their constants are not reproduced here. The full-form variant instead takes the form factor of
the 1984 re-analysis, which has no singularity at C_P = 0.95, and holds the wave coefficients inside the regime of
such ships (C_P at most 0.85, Fn at most 0.22 in the interference term).
"""

from dataclasses import dataclass

import numpy as np

from simulators.vessel.hull import Form, ShipType
from simulators.vessel.units import GRAVITY, SEA_DENSITY, SEA_VISCOSITY, Floats

_WAVE_LOW, _WAVE_HIGH = 0.40, 0.55


@dataclass(frozen=True, slots=True)
class Resistance:
    """Calm-water resistance by component, each an array [N] in N, with the coefficients that other parts need."""

    friction: Floats
    """Frictional resistance R_F of a flat plate of the wetted surface."""
    form_factor: Floats
    """Form factor 1 + k1."""
    appendages: Floats
    """Resistance of the appendages, R_APP."""
    wave: Floats
    """Wave resistance R_W."""
    bulb: Floats
    """Resistance of the bulb, R_B."""
    transom: Floats
    """Resistance of the transom, R_TR."""
    correlation: Floats
    """Model-ship correlation resistance R_A: hull roughness of 150 um and still air."""
    wetted_surface: Floats
    """Wetted surface S, m2."""
    friction_coefficient: Floats
    """Friction coefficient C_F (ITTC-1957)."""
    correlation_coefficient: Floats
    """Correlation coefficient C_A."""

    @property
    def total(self) -> Floats:
        """Total resistance R_total, N."""
        viscous = self.friction * self.form_factor
        return viscous + self.appendages + self.wave + self.bulb + self.transom + self.correlation


@dataclass(frozen=True, slots=True)
class Interaction:
    """Hull-propeller interaction, dimensionless arrays [N]."""

    wake: Floats
    """Taylor wake fraction w."""
    thrust_deduction: Floats
    """Thrust deduction t."""
    rotative: Floats
    """Relative rotative efficiency eta_R."""


def wetted_surface(form: Form) -> Floats:
    """Return the wetted surface S [N] in m2 with the bulb (1982, Section 2)."""
    c_b, c_m = form.block_coefficient, form.midship_coefficient
    shape = 0.453 + 0.4425 * c_b - 0.2862 * c_m - 0.003467 * form.beam / form.draft
    shape = shape + 0.3696 * form.waterplane_coefficient
    girth = form.length * (2.0 * form.draft + form.beam) * np.sqrt(c_m)
    return np.asarray(girth * shape + 2.38 * form.bulb_area / c_b)


def friction_coefficient(speed: Floats, length: Floats | float) -> Floats:
    """Return C_F [N] of the ITTC-1957 line; speed [N] in m/s, length in m."""
    reynolds = np.maximum(speed, 0.1) * length / SEA_VISCOSITY
    return np.asarray(0.075 / (np.log10(reynolds) - 2.0) ** 2)


def run_length(form: Form) -> Floats:
    """Return the length of the run L_R [N] in m (1982, Section 2)."""
    c_p = form.prismatic_coefficient
    return np.asarray(form.length * (1.0 - c_p + 0.06 * c_p * form.lcb / (4.0 * c_p - 1.0)))


def form_factor(form: Form, ship_type: ShipType = "slender") -> Floats:
    """Return 1 + k1 [N]: the 1982 formula for slender hulls, that of 1984 for bulky ones."""
    c_p, c13 = form.prismatic_coefficient, 1.0 + 0.003 * form.stern
    length, beam, draft = form.length, form.beam, form.draft
    t_l = np.asarray(draft / length, np.float64)
    run = run_length(form)
    if ship_type == "bulky":
        c14 = 1.0 + 0.011 * form.stern
        ratio = (beam / length) ** 1.06806 * t_l**0.46106 * (length / run) ** 0.121563
        ratio = ratio * (length**3 / form.volume) ** 0.36486 * (1.0 - c_p) ** -0.604247
        return np.asarray(0.93 + 0.487118 * c14 * ratio)
    shallow = 48.20 * np.maximum(t_l - 0.02, 0.0) ** 2.078 + 0.479948
    c12 = np.where(t_l > 0.05, t_l**0.2228446, shallow)
    slope = np.maximum(1.0 - c_p + 0.0225 * form.lcb, 0.02) ** 0.6906
    return np.asarray(c13 * (0.93 + c12 * (beam / run) ** 0.92497 * (0.95 - c_p) ** -0.521448 * slope))


def _entrance_angle(form: Form, run: Floats) -> Floats:
    """Return half the angle of entrance of the waterline, i_E [N], in degrees (1982, Section 2)."""
    length, beam = form.length, form.beam
    fine = np.maximum(1.0 - form.prismatic_coefficient - 0.0225 * form.lcb, 0.02) ** 0.6367
    power = (length / beam) ** 0.80856 * (1.0 - form.waterplane_coefficient) ** 0.30484 * fine
    power = power * (run / beam) ** 0.34574 * (100.0 * form.volume / length**3) ** 0.16302
    return np.asarray(1.0 + 89.0 * np.exp(-power))


def _bulb_damping(form: Form) -> Floats:
    """Return c2 [N], the reduction of wave resistance by the bulb (1982, Section 2)."""
    area = np.asarray(form.bulb_area, np.float64)
    lever = 0.31 * np.sqrt(area) + form.draft_fore - form.bulb_height
    c3 = 0.56 * area**1.5 / (form.beam * form.draft * lever)
    return np.asarray(np.exp(-1.89 * np.sqrt(c3)))


def _wave_resistance(form: Form, speed: Floats, c2: Floats, ship_type: ShipType) -> Floats:
    """Return R_W [N] in N: 1982 up to Fn 0.40, 1984 from Fn 0.55, linear in Fn between."""
    length, beam, draft, volume = form.length, form.beam, form.draft, form.volume
    c_p = np.asarray(form.prismatic_coefficient, np.float64)
    if ship_type == "bulky":
        c_p = np.minimum(c_p, 0.85)
    b_l = np.asarray(beam / length, np.float64)
    c7 = np.where(b_l < 0.11, 0.229577 * np.cbrt(b_l), np.where(b_l > 0.25, 0.5 - 0.0625 / b_l, b_l))
    entrance = _entrance_angle(form, run_length(form))
    c5 = 1.0 - 0.8 * form.transom_area / (beam * draft * form.midship_coefficient)
    scale = c2 * c5 * volume * SEA_DENSITY * GRAVITY
    c1 = 2223105.0 * c7**3.78613 * (draft / beam) ** 1.07961 * (90.0 - entrance) ** -1.37565
    full = 8.07981 * c_p - 13.8673 * c_p**2 + 6.984388 * c_p**3
    c16 = np.where(c_p < 0.80, full, 1.73014 - 0.7067 * c_p)
    m1 = 0.0140407 * length / draft - 1.75254 * np.cbrt(volume) / length - 4.79323 * b_l - c16
    slender = np.asarray(length**3 / volume, np.float64)
    c15 = np.clip(-1.69385 + (np.cbrt(slender) - 8.0) / 2.36, -1.69385, 0.0)
    c15 = np.where(slender < 512.0, -1.69385, c15)
    wave_length = np.where(b_l > 1.0 / 12.0, 1.446 * c_p - 0.03 / b_l, 1.446 * c_p - 0.36)
    fn = np.maximum(speed / np.sqrt(GRAVITY * length), 0.02)

    def low(froude: Floats) -> Floats:
        inner = np.minimum(froude, 0.22) if ship_type == "bulky" else froude
        m2 = c15 * c_p**2 * np.exp(-0.1 * inner**-2)
        return np.asarray(c1 * scale * np.exp(m1 * froude**-0.9 + m2 * np.cos(wave_length * inner**-2)))

    if not np.any(fn > _WAVE_LOW):
        return low(fn)
    c17 = 6919.3 * np.asarray(form.midship_coefficient) ** -1.3346
    c17 = c17 * (volume / length**3) ** 2.00977 * (length / beam - 2.0) ** 1.40692
    m3 = -7.2035 * b_l**0.326869 * (draft / beam) ** 0.605375

    def high(froude: Floats) -> Floats:
        m4 = 0.4 * c15 * np.exp(-0.034 * froude**-3.29)
        return np.asarray(c17 * scale * np.exp(m3 * froude**-0.9 + m4 * np.cos(wave_length * froude**-2)))

    edge = np.full_like(fn, _WAVE_LOW), np.full_like(fn, _WAVE_HIGH)
    share = np.clip((fn - _WAVE_LOW) / (_WAVE_HIGH - _WAVE_LOW), 0.0, 1.0)
    between = low(edge[0]) * (1.0 - share) + high(edge[1]) * share
    return np.where(fn <= _WAVE_LOW, low(fn), np.where(fn >= _WAVE_HIGH, high(fn), between))


def _bulb_resistance(form: Form, speed: Floats) -> Floats:
    """Return R_B [N] in N, the pressure resistance of a bulb near the surface (1982, Section 2)."""
    area = np.asarray(form.bulb_area, np.float64)
    depth = np.maximum(form.draft_fore - 1.5 * form.bulb_height, 0.05)
    emergence = np.maximum(0.56 * np.sqrt(area) / depth, 1e-3)
    immersion = np.maximum(form.draft_fore - form.bulb_height - 0.25 * np.sqrt(area), 0.05)
    fni = speed / np.sqrt(GRAVITY * immersion + 0.15 * speed**2)
    weight = 0.11 * np.exp(-3.0 * emergence**-2) * area**1.5 * SEA_DENSITY * GRAVITY
    return np.asarray(weight * fni**3 / (1.0 + fni**2))


def _transom_resistance(form: Form, speed: Floats) -> Floats:
    """Return R_TR [N] in N, the pressure resistance of an immersed transom (1982, Section 2)."""
    area = np.asarray(form.transom_area, np.float64)
    spread = form.beam * (1.0 + form.waterplane_coefficient)
    fnt = speed / np.sqrt(2.0 * GRAVITY * np.maximum(area, 1e-6) / spread)
    c6 = np.maximum(0.2 * (1.0 - 0.2 * fnt), 0.0)
    return np.asarray(0.5 * SEA_DENSITY * speed**2 * area * c6)


def resistance(
    form: Form, speed: Floats, ship_type: ShipType = "slender", *, rough_appendages: bool = False
) -> Resistance:
    """Return the calm-water resistance of `form` at `speed` [N] in m/s (1982, Section 2).

    The text takes the model-ship correlation R_A over the hull's surface S; the printed number of the worked
    example takes it over S + S_APP, as with `rough_appendages`.
    """
    speed = np.maximum(np.asarray(speed, np.float64), 0.1)
    surface = wetted_surface(form)
    c_f = friction_coefficient(speed, form.length)
    dynamic = 0.5 * SEA_DENSITY * speed**2
    c2 = _bulb_damping(form)
    c4 = np.minimum(form.draft_fore / form.length, 0.04)
    c_a = 0.006 * (form.length + 100.0) ** -0.16 - 0.00205
    c_a = c_a + 0.003 * np.sqrt(form.length / 7.5) * form.block_coefficient**4 * c2 * (0.04 - c4)
    return Resistance(
        friction=np.asarray(dynamic * surface * c_f),
        form_factor=form_factor(form, ship_type),
        appendages=np.asarray(dynamic * form.appendage_area * form.appendage_factor * c_f),
        wave=_wave_resistance(form, speed, c2, ship_type),
        bulb=_bulb_resistance(form, speed),
        transom=_transom_resistance(form, speed),
        correlation=np.asarray(dynamic * (surface + (form.appendage_area if rough_appendages else 0.0)) * c_a),
        wetted_surface=surface,
        friction_coefficient=c_f,
        correlation_coefficient=np.asarray(c_a, np.float64),
    )


def interaction(form: Form, calm: Resistance, diameter: float, area_ratio: float) -> Interaction:
    """Return wake, thrust deduction and rotative efficiency of a single screw (1982, Section 3).

    `diameter` of the propeller in m, `area_ratio` A_E/A_0. Fractions are held to 0.05..0.60 (wake) and
    0.05..0.40 (thrust deduction), which only affects drafts and trims far outside the statistics.
    """
    length, beam, aft = form.length, form.beam, form.draft_aft
    c_p, lcb = form.prismatic_coefficient, form.lcb
    b_ta = np.asarray(beam / aft, np.float64)
    wide = (7.0 * b_ta - 25.0) / (length * diameter * np.maximum(b_ta - 3.0, 0.1))
    c8 = calm.wetted_surface * np.where(b_ta < 5.0, beam / (length * diameter * aft), wide)
    c9 = np.where(c8 < 28.0, c8, 32.0 - 16.0 / np.maximum(c8 - 24.0, 1.0))
    t_d = np.asarray(aft / diameter, np.float64)
    c11 = np.where(t_d < 2.0, t_d, 0.0833333 * t_d**3 + 1.33333)
    c_p1 = 1.45 * c_p - 0.315 - 0.0225 * lcb
    c_v = calm.form_factor * calm.friction_coefficient + calm.correlation_coefficient
    wake = c9 * c_v * length / aft * (0.0661875 + 1.21756 * c11 * c_v / (1.0 - c_p1))
    wake = wake + 0.24558 * np.sqrt(beam / (length * (1.0 - c_p1))) - 0.09726 / (0.95 - c_p)
    wake = wake + 0.11434 / (0.95 - form.block_coefficient) + 0.75 * form.stern * c_v + 0.002 * form.stern
    b_l = np.asarray(beam / length, np.float64)
    full = 0.25 - 0.003328402 / np.maximum(b_l - 0.134615385, 0.01)
    c10 = np.where(b_l < 1.0 / 5.2, b_l, full)
    deduction = 0.001979 * length / (beam * (1.0 - c_p1)) + 1.0585 * c10 - 0.00524
    deduction = deduction - 0.1418 * diameter**2 / (beam * form.draft) + 0.0015 * form.stern
    rotative = 0.9922 - 0.05908 * area_ratio + 0.07424 * (c_p - 0.0225 * lcb)
    return Interaction(
        wake=np.clip(wake, 0.05, 0.60),
        thrust_deduction=np.clip(deduction, 0.05, 0.40),
        rotative=np.asarray(rotative, np.float64),
    )
