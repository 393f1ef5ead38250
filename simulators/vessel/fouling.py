"""Fouling of hull and propeller between dry docks, and its cost in power.

Published content: the drag of a rough hull (R.L. Townsin and others, "Estimating the technical and economic
penalties of hull and propeller roughness", Trans. SNAME 89, 1981; the cube-root form is that of ITTC), the
section drag of rough blades (ITTC-1978 performance prediction, as in Carlton) which Seo, Atlar and Goo (2016)
use for fouled propellers, and the direction of the change of wake, thrust deduction and rotative efficiency
(Farkas, Degiuli, Martic and Dejhalla, JMSE 8 (2020) 748). Own assumptions: the growth rates and the sizes of
the interaction changes, in the order of magnitude of these papers.
"""

from dataclasses import dataclass

import numpy as np

from simulators.vessel.propeller import Propeller
from simulators.vessel.units import MINUTES_PER_YEAR, Floats


@dataclass(frozen=True, slots=True)
class Fouling:
    """Growth of roughness after dry dock; lengths in m."""

    hull_initial: float = 150e-6
    """Average hull roughness out of dock, which Holtrop's C_A already includes."""
    hull_rate: float = 170e-6
    """Growth of the hull roughness per year: paint ageing (20-40 um) and an equivalent for slime and early growth."""
    blade_initial: float = 30e-6
    """Blade roughness of a polished propeller."""
    blade_rate: float = 55e-6
    """Growth of the blade roughness per year."""
    wake_gain: float = 0.45
    """Relative change of the wake fraction per relative change of C_F."""
    deduction_gain: float = -0.10
    """Relative change of the thrust deduction per relative change of C_F."""
    rotative_gain: float = 0.02
    """Relative change of the rotative efficiency per relative change of C_F."""

    def hull_roughness(self, minutes: Floats) -> Floats:
        """Return the hull roughness k [N] in m after `minutes` [N] since dry dock."""
        return np.asarray(self.hull_initial + self.hull_rate * minutes / MINUTES_PER_YEAR)

    def blade_roughness(self, minutes: Floats) -> Floats:
        """Return the blade roughness k_p [N] in m after `minutes` [N] since dry dock."""
        return np.asarray(self.blade_initial + self.blade_rate * minutes / MINUTES_PER_YEAR)

    def friction_increase(self, minutes: Floats, length: Floats | float) -> Floats:
        """Return Delta C_F [N] over the clean hull: 0.044 ((k/L)^(1/3) - (k0/L)^(1/3)), Townsin."""
        rough = np.cbrt(self.hull_roughness(np.maximum(minutes, 0.0)) / length)
        return np.asarray(0.044 * (rough - np.cbrt(self.hull_initial / length)))

    def blade_changes(self, minutes: Floats, propeller: Propeller) -> tuple[Floats, Floats]:
        """Return the fall of K_T and rise of K_Q [N], both at least 0, against polished blades (ITTC-1978).

        Delta K_T = 0.3 dC_D (P/D) c Z/D and Delta K_Q = 0.25 dC_D c Z/D, with the drag of a rough section
        C_D = 2 (1 + 2 t/c) (1.89 + 1.62 log10(c/k_p))^-2.5 at 0.75 R.
        """
        chord = propeller.chord
        thickness = (0.0185 - 0.00125 * propeller.blades) * propeller.diameter / chord

        def drag(roughness: Floats | float) -> Floats:
            return np.asarray(2.0 * (1.0 + 2.0 * thickness) * (1.89 + 1.62 * np.log10(chord / roughness)) ** -2.5)

        rise = drag(self.blade_roughness(np.maximum(minutes, 0.0))) - drag(self.blade_initial)
        solidity = chord * propeller.blades / propeller.diameter
        return 0.3 * rise * propeller.pitch_ratio * solidity, 0.25 * rise * solidity

    def interaction_factors(self, friction_increase: Floats, friction: Floats) -> tuple[Floats, Floats, Floats]:
        """Return factors [N] on wake fraction, thrust deduction and rotative efficiency (direction: Farkas 2020)."""
        ratio = friction_increase / friction
        return (
            1.0 + self.wake_gain * ratio,
            1.0 + self.deduction_gain * ratio,
            1.0 + self.rotative_gain * ratio,
        )
