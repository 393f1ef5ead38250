"""Comparison of an artefact with the models that it was made from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.predictive import Categorical, Gaussian, Predictives
from models.tasks.rows.artefact.members import HeadPlan
from models.tasks.rows.refusal import Refused

TOLERANCE = 1e-5
"""Largest difference: of probabilities, or relative to a prediction plus the median size of all."""
MOST_APART = 1e-3
"""Largest share of rows that may differ: values at the threshold of a tree fall to either side in single precision."""


@dataclass(frozen=True)
class Check:
    """Result of a comparison."""

    rows: int
    apart: tuple[int, ...]
    """Rows that differ by more than ``TOLERANCE``."""
    worst: float
    """Largest difference of the other rows."""

    @property
    def text(self) -> str:
        """Sentence for the card."""
        same = f"{self.rows - len(self.apart)} of {self.rows} calibration rows equal the model's own predictions to "
        same += f"{TOLERANCE:g} (largest difference {self.worst:.1e})"
        if not self.apart:
            return f"{same}."
        shown = ", ".join(map(str, self.apart[:10])) + (" …" if len(self.apart) > 10 else "")
        return f"{same}; values of the others lie at the threshold of a tree in single precision: rows {shown}."


def differences(served: NDArray[np.float64], expected: NDArray[np.float64], *, absolute: bool) -> NDArray[np.float64]:
    """Return the difference of each row [n] of predictions [n] or [n, C].

    Args:
        absolute: True for probabilities.
    """
    size = np.abs(expected)
    scale = 1.0 if absolute else size + (float(np.median(size)) or 1.0)
    difference = np.abs(served - expected) / scale
    return np.asarray(difference if difference.ndim == 1 else difference.max(axis=1))


def check(heads: Sequence[HeadPlan], served: Predictives) -> Check:
    """Compare what an artefact answers for the calibration rows with the models' own predictions.

    Converted models are compared with what their framework predicts, before anything is made of it: a temperature
    makes much of the last digits of small probabilities. The artefact is compared with what was calibrated.

    Raises:
        Refused: more rows differ than trees explain.
    """
    apart, worst, rows = set[int](), 0.0, 0
    for plan in heads:
        expected, answer = plan.choice.chosen.predictive, served[plan.head.name]
        if isinstance(answer, Gaussian) and isinstance(expected, Gaussian):
            difference = differences(np.asarray(answer.mean, np.float64), np.asarray(expected.mean), absolute=False)
        else:
            assert isinstance(answer, Categorical)
            assert isinstance(expected, Categorical)
            difference = differences(
                np.asarray(answer.probabilities, np.float64), np.asarray(expected.probabilities), absolute=True
            )
        probabilities = isinstance(answer, Categorical)
        converted = [
            differences(raw, own, absolute=probabilities) for raw, own in zip(plan.raw, plan.framework, strict=True)
        ]
        for each in (*converted, difference):
            result = verdict(each, f"target {plan.target.column}")
            apart |= set(result.apart)
            worst, rows = max(worst, result.worst), result.rows
    return Check(rows, tuple(sorted(apart)), worst)


def verdict(difference: NDArray[np.float64], what: str) -> Check:
    """Return the result for differences of rows [n].

    Raises:
        Refused: more rows differ than trees explain.
    """
    same = difference <= TOLERANCE
    apart = tuple(np.flatnonzero(~same).tolist())
    if len(apart) > MOST_APART * len(difference):
        row = int(np.nanargmax(difference)) if np.isfinite(difference).any() else apart[0]
        raise Refused(
            f"{what}: {len(apart)} of {len(difference)} rows differ from the model's own predictions by more than "
            f"{TOLERANCE:g}, row {row} by {difference[row]:.2g}; the conversion is not faithful, and nothing was "
            "written"
        )
    return Check(len(difference), apart, float(difference[same].max(initial=0.0)))
