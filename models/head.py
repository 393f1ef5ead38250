"""Head: one output of a task, with everything that serving needs to know about it."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["gaussian", "categorical", "sequence", "trajectories", "volume"]


@dataclass(frozen=True, slots=True)
class Head:
    """Static description of an output; thresholds and reference values are in artefacts."""

    name: str
    kind: Kind
    unit: str
    """Unit of the prediction, e.g. ``kW``; ``1`` for probabilities."""
    label: str
    """Description of a label with its unit, e.g. ``measured shaft power, kW``."""
    error: str
    """Name of the error that the papers use, e.g. ``squared_error``."""
    error_unit: str
    acceptable: float | None
    """Largest acceptable error (inclusive), in ``error_unit``; None if the papers name none."""
    ensemble_measure: str
    """Deferral measure of an ensemble, e.g. ``tvar``."""
    single_measure: str
    """Deferral measure of a single model."""
    knowledge_measure: str | None
    """Measure that detects unfamiliar inputs; None if the kind has none."""
    lower: float | None = None
    """Smallest possible value of the target, in ``unit``; predictions below it are deferred; None for no limit."""
    upper: float | None = None
    """Largest possible value of the target, in ``unit``; None for no limit."""
    classes: int | None = None
    """Number of classes of a categorical head; its labels are 0 to this number less one."""
    class_names: tuple[str, ...] = ()
    """Descriptions of the classes; empty if the head has no classes."""
    class_codes: tuple[int, ...] = ()
    """Numbers of the classes in official files, if they differ from the labels."""

    def own_measure(self, ensemble: bool) -> str:
        """Return the deferral measure that applies unless a policy names another."""
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
