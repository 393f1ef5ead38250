"""Physics prior of the neural-symbolic family, shared by training (torch) and export (ONNX).

Shifts 2.0 (D.3) states the idea (known relations such as power ~ speed cubed, trained end to end) but not the formula
of its proprietary model. This formula is our own, from textbook forms with learned, bounded coefficients:

    R  = friction * v^a T^b (1 + trim) (1 + fouling)  +  wave making * v^c T^d
         + wind * Va^2 * (Fujiwara's three angle terms, separately for head and tail)
         + waves * Hs^f (1 + v) * (share from ahead)  +  acceleration * T^e dV
    P  = v R (1 + sqrt(1 + load * R / v^2)) / 2          (ideal propeller efficiency, momentum theory)
    mean  = P * exp(bound * tanh(network))               (a network may correct by a bounded factor only)
    std^2 = ((s P)^2 + (w * wind)^2 + s0^2) * exp(tanh(network))^2 (torque meter, wind, rest)

with v in 15 kn, drafts T in 10 m, wind in 20 kn and powers in MW. Nothing here calls the simulator.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

CORRECTION = 0.15
"""Largest |log| of the network's correction of the mean."""
SPREAD = 0.7
"""Largest |log| of the network's correction of the standard deviation."""


class Operators(Protocol):
    """Operations beyond + - * / and matrix product that the formula needs."""

    def softplus(self, x: Any) -> Any: ...
    def relu(self, x: Any) -> Any: ...
    def sigmoid(self, x: Any) -> Any: ...
    def tanh(self, x: Any) -> Any: ...
    def exp(self, x: Any) -> Any: ...
    def sqrt(self, x: Any) -> Any: ...
    def power(self, x: Any, exponent: Any) -> Any: ...
    def column(self, x: Any, index: int) -> Any:
        """Return one column of the last axis, which is kept with length 1."""
        ...


class Bound(NamedTuple):
    """Closed range of a coefficient and its value before training."""

    lower: float
    upper: float
    start: float


COEFFICIENTS: dict[str, Bound] = {
    "friction": Bound(0.5, 60, 7.0),
    "friction_speed": Bound(1.6, 2.2, 1.9),
    "friction_draft": Bound(0.0, 1.2, 0.6),
    "making": Bound(0.0, 20, 1.0),
    "making_speed": Bound(2.5, 9.0, 5.0),
    "making_draft": Bound(0.0, 2.0, 0.8),
    "trim": Bound(-0.02, 0.02, 0.0),
    "trim_square": Bound(0.0, 0.004, 0.001),
    "fouling": Bound(0.0, 0.5, 0.05),
    "fouling_power": Bound(0.3, 1.5, 0.9),
    "head": Bound(0.0, 10, 0.8),
    "head_lift": Bound(-10, 10, 0.1),
    "head_cross": Bound(-10, 10, 0.1),
    "tail": Bound(0.0, 10, 0.6),
    "tail_lift": Bound(-10, 10, 0.1),
    "tail_cross": Bound(-10, 10, 0.1),
    "emersion": Bound(-0.5, 1.5, 0.2),
    "waves": Bound(0.0, 3, 0.1),
    "waves_height": Bound(1.5, 3.0, 2.0),
    "waves_speed": Bound(0.0, 4, 0.5),
    "waves_ahead": Bound(0.0, 4, 1.0),
    "waves_offset": Bound(-4.0, 4.0, 0.0),
    "acceleration": Bound(0.0, 40, 1.0),
    "acceleration_draft": Bound(0.0, 1.5, 0.8),
    "load": Bound(0.0, 4, 0.3),
    "noise_power": Bound(0.0, 0.3, 0.04),
    "noise_wind": Bound(0.0, 3.0, 0.3),
    "noise_rest": Bound(0.0, 3.0, 0.3),
}
"""Bounds of each coefficient, by name; powers in MW at v = 15 kn, T = 10 m, wind 20 kn, Hs 1 m."""


def bounded(raw: Mapping[str, Any], ops: Operators) -> dict[str, Any]:
    """Return coefficients within their bounds from free parameters: lower + (upper - lower) * sigmoid(raw)."""
    return {
        name: bound.lower + (bound.upper - bound.lower) * ops.sigmoid(raw[name]) for name, bound in COEFFICIENTS.items()
    }


def predict(
    rows: Any, correction: Any, c: Mapping[str, Any], columns: Mapping[str, int], ops: Operators
) -> tuple[Any, Any]:
    """Return mean and standard deviation in kW, [..., N, 1].

    Args:
        rows: features in their units, [..., N, F].
        correction: outputs of the network, [..., N, 2].
        c: bounded coefficients, each [M, 1, 1].
        columns: position of each feature in ``rows``, by name.
        ops: arithmetic (torch or a graph under construction).
    """

    def column(name: str, scale: float) -> Any:
        return ops.column(rows, columns[name]) * (1 / scale)

    aft, fore = column("draft_aft_telegram", 10), column("draft_fore_telegram", 10)
    draft = ops.relu((aft + fore) * 0.5 - 0.2) + 0.2
    trim = (aft - fore) * 10.0
    speed = ops.relu(column("stw", 15) - 0.05) + 0.05
    ahead, aside = column("awind_vcomp_provider", 20), column("awind_ucomp_provider", 20)
    height = ops.relu(column("comb_wind_swell_wave_height", 1)) + 1e-3
    years = ops.relu(column("timeSinceDryDock", 525_600) - 1e-3) + 1e-3

    fouled = 1.0 + c["fouling"] * ops.power(years, c["fouling_power"])
    trimmed = 1.0 + c["trim"] * trim + c["trim_square"] * trim * trim
    friction = c["friction"] * ops.power(speed, c["friction_speed"]) * ops.power(draft, c["friction_draft"])
    making = c["making"] * ops.power(speed, c["making_speed"]) * ops.power(draft, c["making_draft"])
    calm = friction * trimmed * fouled + making

    square = ahead * ahead + aside * aside + 1e-6
    apparent = ops.sqrt(square)
    cosine, sine = ahead / apparent, aside / apparent
    lift = (sine - 0.5 * sine * cosine * cosine) * sine * cosine
    cross = sine * cosine * cosine * cosine
    front = ops.sigmoid(cosine * 8.0)
    fore_force = c["head"] * cosine + c["head_lift"] * lift + c["head_cross"] * cross
    aft_force = c["tail"] * cosine + c["tail_lift"] * lift + c["tail_cross"] * cross
    shape = front * fore_force + (1.0 - front) * aft_force
    wind = square * shape * (1.0 - c["emersion"] * (draft - 1.0))

    true_ahead = ahead - column("stw", 20) - column("rcurrent_vcomp", 20)
    share = ops.sigmoid(c["waves_ahead"] * 4.0 * true_ahead + c["waves_offset"])
    waves = c["waves"] * ops.power(height, c["waves_height"]) * (1.0 + c["waves_speed"] * speed) * share
    change = column("diff_speed_overground", 1)
    inertia = c["acceleration"] * ops.power(draft, c["acceleration_draft"]) * change

    resistance = ops.softplus((calm + wind + waves + inertia) * 4.0) * 0.25
    loading = c["load"] * resistance / (speed * speed)
    shaft = speed * resistance * (1.0 + ops.sqrt(1.0 + loading)) * 0.5

    mean = shaft * ops.exp(ops.tanh(ops.column(correction, 0)) * CORRECTION)
    blowing = true_ahead * true_ahead + aside * aside
    variance = _squared(c["noise_power"] * mean) + _squared(c["noise_wind"]) * blowing + _squared(c["noise_rest"])
    spread = ops.exp(ops.tanh(ops.column(correction, 1)) * SPREAD)
    return mean * 1000.0, (ops.sqrt(variance + 1e-12) * spread) * 1000.0 + 1e-6


def _squared(x: Any) -> Any:
    return x * x


def positions(names: tuple[str, ...]) -> dict[str, int]:
    """Return the column of each feature by name."""
    return {name: index for index, name in enumerate(names)}
