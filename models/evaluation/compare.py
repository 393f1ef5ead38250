"""Several files side by side: differences of their figures with paired-bootstrap intervals.

Units are resampled together for all files, so that what is hard for everybody cancels out. Figures are computed on
the resampled units' multiplicities over rankings made once: O(n) a resample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.figures import Rules
from models.assessment.ranking import Ranking, ranking
from models.assessment.retention import acceptable_units
from models.evaluation.judged import BadFile, Judged

FIGURES = ("error", "r_auc", "prr", "f1_auc", "f1_at_95", "roc_auc", "augrc")
"""What is compared; figures that do not exist for the data are left out."""
LEVEL = 0.95
MOST_DRAWS = 400_000_000
"""Units drawn in all: with more than 400,000 units there are fewer than 1000 resamples."""
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Interval:
    """A difference (this file minus the reference) and its percentile interval, in the figure's unit."""

    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """All files against the first."""

    reference: str
    level: float
    resamples: int
    differences: dict[str, dict[str, Interval]]
    """File to figure to difference from the reference."""

    def document(self) -> dict[str, Any]:
        return {
            "reference": self.reference,
            "level": self.level,
            "resamples": self.resamples,
            "differences": {
                name: {figure: [one.difference, one.low, one.high] for figure, one in figures.items()}
                for name, figures in self.differences.items()
            },
        }
