"""Complete ship: ten features in, shaft power out. This file contains the physics from top to bottom."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from models.tasks.vessel.data.table import NAMES
from simulators.vessel import holtrop, waves, wind
from simulators.vessel.fouling import Fouling
from simulators.vessel.hull import Form, Hull
from simulators.vessel.propeller import Propeller
from simulators.vessel.units import KNOT, SEA_DENSITY, Floats

_CHUNK = 32_768


@dataclass(frozen=True)
class Vessel:
    """Hull, propeller and fouling of one ship (Shifts 2.0, Appendix D.1)."""

    hull: Hull = field(default_factory=Hull)
    propeller: Propeller = field(default_factory=Propeller)
    fouling: Fouling = field(default_factory=Fouling)
    wave_method: Literal["stawave1", "stawave2"] = "stawave2"
    shaft_efficiency: float = 0.99
    added_mass: float = 0.05
    """Added mass in surge over displacement."""
    engine_power: float = 43_000.0
    """Largest power that the crew orders, kW; it limits voyages, not `shaft_power`."""
    idle_power: float = 150.0
    """Smallest reading of the torque meter of a turning shaft, kW."""

    @cached_property
    def _head_waves(self) -> waves.HeadWaves:
        return waves.HeadWaves(self.hull)

    def shaft_power(self, features: Floats) -> Floats:
        """Return the shaft power [N] in kW of `features` [N, 10], in official order and units (`features.FEATURES`).

        Raises ValueError if the second axis is not the ten features.
        """
        features = np.asarray(features, np.float64)
        if features.ndim != 2 or features.shape[1] != len(NAMES):
            raise ValueError(f"features must have shape [N, {len(NAMES)}], not {list(features.shape)}")
        power = np.empty(len(features))
        for start in range(0, len(features), _CHUNK):
            power[start : start + _CHUNK] = self._chunk(features[start : start + _CHUNK])
        return power

    def _chunk(self, features: Floats) -> Floats:
        aft, fore, stw, acceleration, head, cross, current, _, height, minutes = features.T
        speed, ground = stw * KNOT, (stw + current) * KNOT
        form = self.hull.form(aft, fore)
        calm = holtrop.resistance(form, speed, self.hull.ship_type)
        shape = wind.windage(self.hull, np.asarray(form.draft))
        air = wind.resistance(shape, head * KNOT, cross * KNOT, ground)
        sea = self._wave_resistance(np.asarray(form.draft), speed, height, head - stw - current, cross)

        rise = self.fouling.friction_increase(minutes, form.length)
        rough = 0.5 * SEA_DENSITY * speed**2 * calm.wetted_surface * rise
        mass = SEA_DENSITY * form.volume * (1.0 + self.added_mass)
        inertia = mass * acceleration * KNOT / 180.0
        total = calm.total + air + sea + rough + inertia
        return self._delivered(form, calm, rise, speed, minutes, total)

    def _wave_resistance(self, draft: Floats, speed: Floats, height: Floats, head: Floats, cross: Floats) -> Floats:
        """Return the added resistance [N] in N; `head` and `cross` are the true wind components in kn."""
        if self.wave_method == "stawave1":
            longest = 2.25 * np.sqrt(self.hull.length_perpendiculars / 100.0)
            bow = 0.25 * self.hull.length_perpendiculars
            straight = waves.stawave1(np.minimum(height, longest), self.hull.beam, bow)
        else:
            straight = self._head_waves.resistance(speed, height, draft)
        weight = waves.heading_weight(np.arctan2(cross, head), np.hypot(head, cross))
        return np.asarray(straight * weight)

    def _delivered(
        self,
        form: Form,
        calm: holtrop.Resistance,
        rise: Floats,
        speed: Floats,
        minutes: Floats,
        total: Floats,
    ) -> Floats:
        """Return the shaft power [N] in kW that overcomes the resistance `total` [N] in N at `speed` [N] in m/s."""
        propeller = self.propeller
        clean = holtrop.interaction(form, calm, propeller.diameter, propeller.area_ratio)
        wake, deduction, rotative = self.fouling.interaction_factors(rise, calm.friction_coefficient)
        inflow = speed * (1.0 - np.minimum(clean.wake * wake, 0.65))
        thrust = total / (1.0 - clean.thrust_deduction * deduction)
        loss, gain = self.fouling.blade_changes(minutes, propeller)
        point = propeller.operate(thrust, inflow, thrust_loss=loss, torque_gain=gain)
        immersion = np.asarray(form.draft_aft) - propeller.shaft_height
        watts = point.power * propeller.cavitation_factor(thrust, immersion)
        power = watts / (clean.rotative * rotative) / self.shaft_efficiency / 1000.0
        return np.maximum(power, self.idle_power)
