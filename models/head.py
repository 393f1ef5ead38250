"""A head: one kind of output of a task, with everything the frame needs to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["gaussian", "categorical", "sequence", "trajectories", "volume"]


@dataclass(frozen=True, slots=True)
class Head:
    """Static description of an output; thresholds and reference values live in artefacts."""

    name: str
    kind: Kind
    unit: str
    """Unit of the prediction, e.g. ``kW``; ``1`` for probabilities."""
    label: str
    """What a label is, in words with its unit, e.g. ``measured shaft power, kW``."""
    error: str
    """Name of the error that the papers measure, e.g. ``squared_error``."""
    error_unit: str
    acceptable: float | None
    """Largest error that is acceptable (inclusive), in ``error_unit``; None where the papers name none."""
    ensemble_measure: str
    """Deferral measure of an ensemble, e.g. ``tvar``."""
    single_measure: str
    """Deferral measure of a single model."""
    knowledge_measure: str | None
    """Measure that speaks of unfamiliar inputs; None where the kind has none."""
    lower: float | None = None
    """Smallest possible value of the target, in ``unit``: what is predicted below it is deferred; None for none."""
    upper: float | None = None
    """Largest possible value of the target, in ``unit``; None for none."""
    classes: int | None = None
    """How many classes a categorical head has; its labels are 0 to one less."""
    class_names: tuple[str, ...] = ()
    """What each class is, in words; empty where the head has no classes."""
    class_codes: tuple[int, ...] = ()
    """What official files write for each class, where that is another number."""

    def own_measure(self, ensemble: bool) -> str:
        """Return the deferral measure unless a policy names another."""
        return self.ensemble_measure if ensemble else self.single_measure


def classes(name: str, label: str, class_names: tuple[str, ...]) -> Head:
    """Return a categorical head that is judged by its error rate and deferred by its entropy.

    Args:
        label: what a label is, in words.
        class_names: what each class is, in words.
    """
    return Head(
        name=name,
        kind="categorical",
        unit="1",
        label=label,
        error="error_rate",
        error_unit="1",
        acceptable=None,
        ensemble_measure="entropy",
        single_measure="entropy",
        knowledge_measure="mi",
        classes=len(class_names),
        class_names=class_names,
    )
