"""Warnings about inputs that lie outside the range for which a model was made."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class InputWarning:
    """Number of an input that lies outside its usual range."""

    code: str
    message: str
    """Observation, with advice."""
    value: float
    unit: str
    lower: float
    """Lower end of the usual range; ``upper`` is its upper end."""
    upper: float


class Feature(NamedTuple):
    """Description of a number that is measured of an input."""

    words: str
    unit: str


_BEYOND = 0.5  # share of the typical range by which a number may exceed it


def unusual(
    numbers: Mapping[str, float],
    typical: Mapping[str, tuple[float, float]],
    features: Mapping[str, Feature],
    training: str,
) -> tuple[InputWarning, ...]:
    """Return the warnings about numbers that lie outside their typical range by more than half its width.

    Args:
        numbers: numbers by name.
        typical: range in training by name; numbers without a range get no warning.
        features: descriptions of the numbers by name.
        training: name of the training inputs in messages, such as "training requests".
    """
    warnings = []
    for name, feature in features.items():
        if name not in typical:
            continue
        low, high = typical[name]
        room = _BEYOND * (high - low)
        value = numbers[name]
        if not low - room <= value <= high + room:
            unit = "" if feature.unit == "1" else f" {feature.unit}"
            warnings.append(
                InputWarning(
                    code=f"{name}_{'low' if value < low else 'high'}",
                    message=f"{feature.words}: {value:.3g}{unit}, where {training} had {low:.3g} to {high:.3g}{unit}; "
                    "look at the answer with care",
                    value=value,
                    unit=feature.unit,
                    lower=low,
                    upper=high,
                )
            )
    return tuple(warnings)
