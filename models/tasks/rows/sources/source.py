"""Outputs of a trained model, in the form that every kind of model is brought to."""

from dataclasses import dataclass
from typing import Literal

Meaning = Literal["mean", "mean_and_variance", "mean_and_log_deviation", "quantiles", "probabilities", "logits"]
"""Meaning of the raw outputs of a row: [1], [2], [2], [Q], [C] or [C]."""


@dataclass(frozen=True)
class Output:
    """Raw outputs of a model for one target."""

    meaning: Meaning
    width: int
    """Number of values of a row, K."""
    levels: tuple[float, ...] = ()
    """Levels of quantiles, ascending, 0 to 1."""
    classes: tuple[str, ...] = ()
    """Labels of the classes in the order of the outputs, as texts; empty if the model does not name them."""
