"""Main engine: fuel and CO₂ from shaft power, its limits, and its barred powers."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from routing.geodesy import Floats

CO2_PER_HFO = 3.114
"""t of CO₂ per t of heavy fuel oil (IMO MEPC.308(73))."""


@dataclass(frozen=True)
class Engine:
    """Slow two-stroke diesel on heavy fuel oil. Auxiliary engines and boilers are left out."""

    mcr_kw: float = 45_000.0
    """Maximum continuous rating."""
    mcr_rpm: float = 104.0
    service_margin: float = 0.85
    """Share of the maximum continuous rating that may be ordered as a mean."""
    base_g_per_kwh: float = 175.0
    barred_rpm: tuple[tuple[float, float], ...] = ((60.0, 64.0),)
    """Shaft speeds of torsional resonance: to be passed quickly, never held."""

    @property
    def barred_kw(self) -> tuple[tuple[float, float], ...]:
        """Barred speed ranges as powers, on the propeller law P = MCR (n / n_MCR)³.

        A fixed-pitch propeller in heavy weather needs more torque at the same speed, which shifts the true interval;
        the probabilities below allow for that.
        """

        def power(rpm: float) -> float:
            return self.mcr_kw * (rpm / self.mcr_rpm) ** 3

        return tuple((power(low), power(high)) for low, high in self.barred_rpm)

    @property
    def most_kw(self) -> float:
        return self.service_margin * self.mcr_kw

    def specific_g_per_kwh(self, power_kw: Floats) -> Floats:
        """Return specific fuel consumption at load L: base (0.455 L² - 0.71 L + 1.280), Fourth IMO GHG Study 2020."""
        load = np.asarray(power_kw) / self.mcr_kw
        return np.asarray(self.base_g_per_kwh * (0.455 * load**2 - 0.71 * load + 1.280))

    def fuel_t_per_h(self, power_kw: Floats) -> Floats:
        return np.asarray(power_kw) * self.specific_g_per_kwh(power_kw) * 1e-6

    def fuel_slope_t_per_kwh(self, power_kw: Floats) -> Floats:
        """Return the derivative of `fuel_t_per_h` by power: the fuel of one more kW for an hour."""
        load = np.asarray(power_kw) / self.mcr_kw
        return np.asarray(self.base_g_per_kwh * (3 * 0.455 * load**2 - 2 * 0.71 * load + 1.280) * 1e-6)

    def co2_t_per_h(self, power_kw: Floats) -> Floats:
        return self.fuel_t_per_h(power_kw) * CO2_PER_HFO

    def forbids(self, mean_kw: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Return whether each mean power is barred or above the largest that may be ordered, regardless of
        uncertainty."""
        mean = np.asarray(mean_kw)
        forbidden = mean > self.most_kw
        for low, high in self.barred_kw:
            forbidden |= (mean > low) & (mean < high)
        return forbidden

    def barred_probability(self, mean_kw: Floats, sd_kw: Floats) -> Floats:
        """Return the probability that the true power lies in a barred interval, Gaussian."""
        mean, sd = np.asarray(mean_kw), np.maximum(np.asarray(sd_kw), 1e-9)
        probability = np.zeros(mean.shape)
        for low, high in self.barred_kw:
            probability += ndtr((high - mean) / sd) - ndtr((low - mean) / sd)
        return probability

    def overload_probability(self, mean_kw: Floats, sd_kw: Floats) -> Floats:
        """Return the probability that the true power exceeds the maximum continuous rating, Gaussian."""
        return np.asarray(ndtr((np.asarray(mean_kw) - self.mcr_kw) / np.maximum(np.asarray(sd_kw), 1e-9)))
