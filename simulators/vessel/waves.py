"""Added resistance in waves: STAwave-1 and STAwave-2 of ISO 15016:2015, Annex D (STA-JIP).

Both describe long-crested waves within 45 degrees off the bow. The only wave feature of the task is a height, so
two parts are own assumptions: the period law `peak_period`, and `heading_weight` for other directions.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import ndimage, special

from simulators.vessel.hull import Hull
from simulators.vessel.units import GRAVITY, SEA_DENSITY, Floats

PITCH_GYRADIUS = 0.25
"""Radius of gyration in pitch k_yy over length between perpendiculars."""


def peak_period(height: Floats) -> Floats:
    """Return T_p [N] in s of combined wind sea and swell of significant `height` [N] in m: 3.0 + 3.6 sqrt(H_s).

    This is an own assumption: a growing wind sea (4 to 5 sqrt(H_s)) in rough weather, remaining swell in low waves.
    """
    return np.asarray(3.0 + 3.6 * np.sqrt(np.maximum(height, 0.0)))


def bretschneider(omega: Floats, height: float, period: float) -> Floats:
    """Return the two-parameter spectrum [K] in m2 s (ITTC 1978) at `omega` [K] in rad/s, H_s in m, T_p in s."""
    peak = 2.0 * np.pi / period
    ratio4 = (peak / omega) ** 4
    return np.asarray(0.3125 * height**2 * ratio4 / omega * np.exp(-1.25 * ratio4))


def stawave1(height: Floats, beam: float, bow_length: float) -> Floats:
    """Return R_AWL [N] in N of STAwave-1: rho g H^2 B sqrt(B/L_BWL)/16.

    `bow_length` is the distance of the bow to 95 per cent of the greatest breadth, m. The method is meant for ships
    that hardly heave and pitch (H_s at most 2.25 sqrt(Lpp/100)).
    """
    return np.asarray(SEA_DENSITY * GRAVITY * height**2 * beam * np.sqrt(beam / bow_length) / 16.0)


def transfer(
    omega: Floats, speed: Floats, draft: Floats, block: Floats, length: float, beam: float
) -> tuple[Floats, Floats]:
    """Return STAwave-2 transfer functions (reflection, motion): mean resistance over amplitude squared, N/m2.

    `omega` in rad/s, `speed` in m/s, midship `draft` in m and `block` coefficient broadcast together;
    `length` between perpendiculars and `beam` in m.
    """
    froude = np.maximum(speed, 0.1) / np.sqrt(GRAVITY * length)
    scaled = np.sqrt(length / GRAVITY) * np.cbrt(PITCH_GYRADIUS) / (1.17 * froude**-0.143) * omega
    long_wave = scaled <= 1.0
    b1 = np.where(long_wave, 11.0, -8.50)
    d1 = np.where(long_wave, 14.0, -566.0 * (length / beam) ** -2.66)
    a1 = 60.3 * block**1.34
    shape = scaled**b1 * np.exp(b1 / d1 * (1.0 - scaled**d1))
    motion = 4.0 * SEA_DENSITY * GRAVITY * beam**2 / length * a1 * froude**1.5 * np.exp(-3.5 * froude) * shape
    argument = 1.5 * omega**2 / GRAVITY * draft
    # Scaled Bessel functions keep both sides finite in short waves: K/I = (kve/ive) exp(-2x).
    fall = special.kve(1, argument) / special.ive(1, argument) * np.exp(-2.0 * argument)
    f1 = 0.692 * (np.maximum(speed, 0.1) / np.sqrt(draft * GRAVITY)) ** 0.769 + 1.81 * block**6.95
    reflection = 0.5 * SEA_DENSITY * GRAVITY * beam * f1 * np.pi**2 / (np.pi**2 + fall**2)
    return np.asarray(reflection), np.asarray(motion)


def heading_weight(angle: Floats, wind_speed: Floats) -> Floats:
    """Return the share [N], 0..1, of the head-wave resistance for waves from true `angle` [N] rad off the bow.

    ISO 15016 counts waves within 45 degrees as head waves and others not at all. Here the step is replaced by a
    half-cosine from 45 to 100 degrees. Waves come from the direction of the true wind; in light wind (`wind_speed` kn)
    they are swell of unknown direction, whose weight is the mean over all directions.
    """
    off = np.abs(angle)
    low, high = np.deg2rad(45.0), np.deg2rad(100.0)
    phase = np.clip((off - low) / (high - low), 0.0, 1.0)
    directed = 0.5 * (1.0 + np.cos(np.pi * phase))
    mean = 0.5 * (low + high) / np.pi
    swell = np.exp(-((wind_speed / 5.0) ** 2))
    return np.asarray(directed * (1.0 - swell) + mean * swell)


@dataclass(frozen=True)
class HeadWaves:
    """STAwave-2 resistance of one hull in irregular head waves, tabulated once and interpolated."""

    hull: Hull
    speeds: Floats = field(default_factory=lambda: np.linspace(0.0, 16.0, 33))
    """Speed through water, m/s, evenly spaced."""
    heights: Floats = field(default_factory=lambda: np.linspace(0.0, 12.0, 49))
    """Significant wave height, m, evenly spaced."""
    drafts: Floats = field(default_factory=lambda: np.linspace(4.0, 20.0, 17))
    """Mean draft, m, evenly spaced."""

    @cached_property
    def table(self) -> Floats:
        """R_AWL/H_s^2 [speeds, heights, drafts] in N/m2: twice the integral of transfer times spectrum."""
        omega = np.linspace(0.15, 4.0, 386)
        form = self.hull.form(self.drafts, self.drafts)
        block = np.asarray(form.volume / (self.hull.length_perpendiculars * form.beam * form.draft))
        reflection, motion = transfer(
            omega[None, None, :],
            self.speeds[:, None, None],
            np.asarray(form.draft)[None, :, None],
            block[None, :, None],
            self.hull.length_perpendiculars,
            self.hull.beam,
        )
        periods = peak_period(self.heights)
        spectra = np.stack([bretschneider(omega, 1.0, float(period)) for period in periods])
        integral = 2.0 * np.trapezoid((reflection + motion)[:, None] * spectra[None, :, None], omega, axis=-1)
        return np.asarray(integral)

    def resistance(self, speed: Floats, height: Floats, draft: Floats) -> Floats:
        """Return R_AWL [N] in N at `speed` m/s, significant `height` m, `draft` m; trilinear, clamped to the table."""
        axes = (self.speeds, speed), (self.heights, height), (self.drafts, draft)
        index = np.stack([(np.asarray(at) - axis[0]) / (axis[1] - axis[0]) for axis, at in axes])
        unit = ndimage.map_coordinates(self.table, index, order=1, mode="nearest", prefilter=False)
        return np.asarray(unit * np.maximum(height, 0.0) ** 2)
