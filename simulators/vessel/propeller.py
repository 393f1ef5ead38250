"""Propeller behind the ship: operating point from thrust identity, then torque and power.

Open-water curves come from `bseries`; the cavitation criteria are Keller's minimum blade area and Burrill's
limit for merchant ships (J. Carlton, "Marine Propellers and Propulsion", sections on cavitation criteria).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simulators.vessel import bseries
from simulators.vessel.units import GRAVITY, SEA_DENSITY, SEA_VISCOSITY, Floats

_VAPOUR_MARGIN = 99_047.0
"""Atmospheric pressure less vapour pressure at 15 degrees C, Pa (Holtrop and Mennen 1982)."""


@dataclass(frozen=True)
class OperatingPoint:
    """Operating point of the propeller, arrays [N]."""

    advance: Floats
    """Advance ratio J."""
    rate: Floats
    """Rate of revolution n, revolutions per second."""
    torque: Floats
    """Open-water torque Q, N m."""
    efficiency: Floats
    """Open-water efficiency eta_O."""
    power: Floats
    """Power 2 pi n Q, W, before the relative rotative efficiency."""


@dataclass(frozen=True)
class Propeller:
    """Fixed-pitch B-series propeller."""

    diameter: float = 8.4
    """Diameter, m."""
    pitch_ratio: float = 1.0
    """Pitch ratio P/D."""
    area_ratio: float = 0.95
    """Blade area ratio A_E/A_0."""
    blades: int = 5
    shaft_height: float = 4.6
    """Height of the shaft line above the keel, m."""

    advance_range: tuple[float, float] = (0.02, 1.30)
    """Range in which J is held; its upper part is windmilling (negative thrust)."""

    @cached_property
    def thrust_curve(self) -> Floats:
        """K_T at Rn = 2e6 as a cubic in J, coefficients [4]."""
        return bseries.cubic(bseries.KT_TERMS, self.pitch_ratio, self.area_ratio, self.blades)

    @cached_property
    def torque_curve(self) -> Floats:
        """K_Q at Rn = 2e6 as a cubic in J, coefficients [4]."""
        return bseries.cubic(bseries.KQ_TERMS, self.pitch_ratio, self.area_ratio, self.blades)

    @property
    def chord(self) -> float:
        """Chord at 0.75 R, m (B-series, Carlton): 2.073 (A_E/A_0) D/Z."""
        return 2.073 * self.area_ratio * self.diameter / self.blades

    @cached_property
    def _inverse(self) -> tuple[Floats, Floats]:
        """Rising K_T/J^2 and the corresponding J: the starting points of the solver."""
        low, high = self.advance_range
        advance = np.geomspace(low, high, 4096)
        loading = np.polynomial.polynomial.polyval(advance, self.thrust_curve) / advance**2
        return loading[::-1].copy(), advance[::-1].copy()

    def _log_reynolds(self, inflow: Floats, advance: Floats) -> Floats:
        """Return log10(Rn) - 0.301 at 0.75 R, held to the range in which the corrections were fitted."""
        tip = 0.75 * np.pi / advance
        reynolds = self.chord * inflow * np.sqrt(1.0 + tip**2) / SEA_VISCOSITY
        return np.asarray(np.log10(np.clip(reynolds, 2e6, 2e9)) - 0.301)

    def operate(
        self,
        thrust: Floats,
        inflow: Floats,
        *,
        thrust_loss: Floats | float = 0.0,
        torque_gain: Floats | float = 0.0,
    ) -> OperatingPoint:
        """Solve K_T(J)/J^2 = T/(rho D^2 V_A^2) for J by table and Newton steps.

        `thrust` [N] in N (may be negative), `inflow` V_A [N] in m/s (taken as at least 0.3). `thrust_loss`
        and `torque_gain` are absolute changes of K_T and K_Q by blade roughness. If no J of `advance_range`
        balances, its nearer end is returned. Accuracy of the balance inside the range: 1e-9 relative.
        """
        inflow = np.maximum(np.asarray(inflow, np.float64), 0.3)
        loading = np.asarray(thrust, np.float64) / (SEA_DENSITY * self.diameter**2 * inflow**2)
        low, high = self.advance_range
        table, starts = self._inverse
        loading = np.clip(loading, table[0], table[-1])
        advance = np.interp(loading, table, starts)
        log_rn = self._log_reynolds(inflow, advance)
        shape = self.pitch_ratio, self.area_ratio, self.blades
        t0, t1, t2 = bseries.reynolds_thrust(log_rn, *shape)
        a0, a1, a2, a3 = self.thrust_curve
        t0, t1, t2 = a0 + t0 - thrust_loss, a1 + t1, a2 + t2 - loading
        for _ in range(4):
            residual = t0 + advance * (t1 + advance * (t2 + advance * a3))
            slope = t1 + advance * (2.0 * t2 + advance * 3.0 * a3)
            advance = np.clip(advance - residual / slope, low, high)
        b0, b1, b2, b3 = self.torque_curve
        q0, q1, q2 = bseries.reynolds_torque(log_rn, *shape)
        torque = b0 + q0 + torque_gain + advance * (b1 + q1 + advance * (b2 + q2 + advance * b3))
        rate = inflow / (advance * self.diameter)
        moment = torque * SEA_DENSITY * rate**2 * self.diameter**5
        power = 2.0 * np.pi * rate * moment
        with np.errstate(divide="ignore", invalid="ignore"):
            efficiency = np.where(power > 0.0, thrust * inflow / power, 0.0)
        return OperatingPoint(advance, rate, moment, efficiency, power)

    def keller_area(self, thrust: Floats, immersion: Floats) -> Floats:
        """Return the smallest A_E/A_0 [N] by Keller's criterion at `thrust` N and shaft `immersion` m."""
        pressure = _VAPOUR_MARGIN + SEA_DENSITY * GRAVITY * np.maximum(immersion, 0.5)
        load = (1.3 + 0.3 * self.blades) * np.maximum(thrust, 0.0)
        return np.asarray(0.2 + load / (self.diameter**2 * pressure))

    def burrill(self, thrust: Floats, inflow: Floats, rate: Floats, immersion: Floats) -> tuple[Floats, Floats]:
        """Return the thrust loading tau_c [N] and Burrill's limit for 10 per cent back cavitation at the same sigma.

        The limit is the fit of Blount and Fox (1978), tau_c = 0.494 sigma^0.88 at 0.7 R; it is a check, not part of
        the power. The projected area follows Taylor's A_P = A_E (1.067 - 0.229 P/D).
        """
        speed2 = inflow**2 + (0.7 * np.pi * rate * self.diameter) ** 2
        pressure = _VAPOUR_MARGIN + SEA_DENSITY * GRAVITY * np.maximum(immersion, 0.5)
        disc = 0.25 * np.pi * self.diameter**2
        projected = self.area_ratio * disc * (1.067 - 0.229 * self.pitch_ratio)
        dynamic = 0.5 * SEA_DENSITY * speed2
        sigma = pressure / dynamic
        return np.asarray(thrust / (projected * dynamic)), np.asarray(0.494 * sigma**0.88)

    def cavitation_factor(self, thrust: Floats, immersion: Floats) -> Floats:
        """Return the growth of torque [N], at least 1, if the blade area falls short of Keller's.

        The criterion is published. The loss is an own assumption: a quarter of the relative shortfall, at most 1.15.
        """
        shortfall = np.maximum(self.keller_area(thrust, immersion) / self.area_ratio - 1.0, 0.0)
        return np.minimum(1.0 + 0.25 * shortfall, 1.15)
