"""Something about an input that a model may not be made for, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Remark:
    """One number of an input that lies outside what is usual."""

    code: str
    message: str
    """What was seen, and what to do."""
    value: float
    unit: str
    lower: float
    """Of what is usual."""
    upper: float


class Feature(NamedTuple):
    """What a number that is measured of an input is."""

    words: str
    unit: str


_BEYOND = 0.5  # ranges of typical values by which a number may pass them


def unusual(
    found: Mapping[str, float],
    typical: Mapping[str, tuple[float, float]],
    features: Mapping[str, Feature],
    training: str,
) -> tuple[Remark, ...]:
    """What to say of an input whose numbers lie outside what is typical; a number may pass its range by half of it.

    Args:
        found: numbers by name.
        typical: where they lay in training, by name; those without a range say nothing.
        features: what they are, by name.
        training: what the inputs of training are called, such as "training requests".
    """
    said = []
    for name, feature in features.items():
        if name not in typical:
            continue
        low, high = typical[name]
        room = _BEYOND * (high - low)
        value = found[name]
        if not low - room <= value <= high + room:
            unit = "" if feature.unit == "1" else f" {feature.unit}"
            said.append(
                Remark(
                    code=f"{name}_{'low' if value < low else 'high'}",
                    message=f"{feature.words}: {value:.3g}{unit}, where {training} had {low:.3g} to {high:.3g}{unit}; "
                    "look at the answer with care",
                    value=value,
                    unit=feature.unit,
                    lower=low,
                    upper=high,
                )
            )
    return tuple(said)
