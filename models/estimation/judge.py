"""A window to its figures, curves and gates: the one way that the live monitor and a replay share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from models.assessment.figures import Rules
from models.estimation.delay import Delayed, corrected
from models.estimation.edges import Edges, single
from models.estimation.exact import Exact
from models.estimation.figures import LiveFigures, Variance, View, WhatIf, live_figures
from models.estimation.gates import Gates, gates
from models.estimation.nonresponse import completion
from models.estimation.sketch import Sketch
from models.estimation.weights import Estimator
from models.estimation.window import Window

Mode = Literal["exact", "sketch"]


@dataclass(frozen=True)
class Asked:
    """How a window is to be judged."""

    acceptable: float | None = None
    """Largest acceptable error, in its unit; None: no F1 figures."""
    estimator: Estimator = "aipw"
    mode: Mode = "exact"
    rules: Rules = field(default_factory=Rules)
    variance: Variance = "window"
    thresholds: Sequence[float] = ()
    """Thresholds to say what they would have meant."""
    delays: bool = True
    """Whether labels may still be on their way; False judges what is there as all there will be."""


@dataclass(frozen=True)
class Judged:
    """What is known of a window."""

    figures: LiveFigures | None
    """None without units."""
    gates: Gates
    labels: int
    """Labels in the figures."""
    delayed: Delayed
    view: View | None
    what_if: WhatIf | None


def judge(window: Window, asked: Asked, *, lost: int = 0) -> Judged:
    """Corrects for delay, estimates, and says whether the figures may be believed.

    Args:
        lost: units that were decided but are not in the window.

    Raises:
        BadWindow: fields that cannot be judged at all.
    """
    delayed = corrected(window) if asked.delays else Delayed(window, None, np.ones(len(window), bool))
    old = delayed.window
    if not len(old):
        found = gates(old, np.empty(0), completion(window, delayed), lost=lost, young=delayed.early)
        return Judged(None, found, 0, delayed, None, None)
    exact = Exact(old, asked.acceptable, asked.rules)
    found = gates(old, exact.coefficients, completion(window, delayed), lost=lost, young=delayed.early)
    source = exact if asked.mode == "exact" else _sketch(old, asked)
    view = source.view(asked.estimator) if isinstance(source, Exact) else source.view(asked.estimator, asked.rules)
    other = None
    if len(asked.thresholds):
        thresholds = np.asarray(asked.thresholds, np.float64)
        if isinstance(source, Exact):
            other = source.what_if(thresholds, asked.estimator)
        else:
            other = source.what_if(thresholds, asked.estimator, asked.rules)
    figures = live_figures(view, asked.variance)
    return Judged(figures, found, int(old.usable.sum()), delayed, view, other)


def _sketch(window: Window, asked: Asked) -> Sketch:
    """The window as it would be kept when it is large: bins from its own quantiles."""
    known = window.uncertainty[np.isfinite(single(window.uncertainty))]
    edges = Edges.of(known if len(known) else np.zeros(1))
    sketch = Sketch(edges, asked.acceptable, strict=asked.rules.convention.strict_limit)
    sketch.add_units(window.uncertainty, window.answered)
    there = window.usable
    human = None if window.human_error is None else window.human_error[there]
    sketch.add_labels(
        *(window.uncertainty[there], window.answered[there], window.error[there], window.effective[there], human)
    )
    return sketch
