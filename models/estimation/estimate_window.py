"""Figures, what-ifs and validity gates of a window, shared by the live monitor and ``demur monitor replay``."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from models.assessment.figures import Rules
from models.estimation.delay import Delayed, corrected
from models.estimation.edges import Edges, single
from models.estimation.exact import Exact
from models.estimation.figures import LiveFigures, Variance, View, WhatIf, live_figures
from models.estimation.gates import Gates, gates
from models.estimation.intervals import Estimate
from models.estimation.nonresponse import completion
from models.estimation.sketch import Sketch
from models.estimation.weights import Estimator
from models.estimation.window import Window

Mode = Literal["exact", "sketch"]
_FIGURES = ("r_auc", "f1_auc", "f1_at_95", "error")
_FURTHER = ("answered_error", "mean_error", "system_error")
_REFERENCES = ("r_auc_random", "r_auc_optimal", "prr", "f1_auc_random", "f1_auc_optimal", "retention")


@dataclass(frozen=True)
class EstimationOptions:
    """Options of the estimates of a window."""

    acceptable: float | None = None
    """Largest acceptable error, in its unit; None for no F1 figures."""
    estimator: Estimator = "aipw"
    mode: Mode = "exact"
    rules: Rules = field(default_factory=Rules)
    variance: Variance = "window"
    thresholds: Sequence[float] = ()
    """Thresholds of what-if figures."""
    delays: bool = True
    """True if labels may still arrive; False treats the present labels as complete."""


@dataclass(frozen=True)
class WindowEstimate:
    """Estimates of a window."""

    figures: LiveFigures | None
    """Figures; None without units."""
    gates: Gates
    labels: int
    """Number of labels in the figures."""
    delayed: Delayed
    view: View | None
    what_if: WhatIf | None


def estimate_window(window: Window, options: EstimationOptions, *, lost: int = 0) -> WindowEstimate:
    """Correct a window for delay, estimate its figures, and check whether they are valid.

    Args:
        lost: units that were decided but are not in the window.

    Raises:
        BadWindow: the fields of the window do not fit each other.
    """
    delayed = corrected(window) if options.delays else Delayed(window, None, np.ones(len(window), bool))
    old = delayed.window
    if not len(old):
        validity = gates(old, np.empty(0), completion(window, delayed), lost=lost, young=delayed.early)
        return WindowEstimate(None, validity, 0, delayed, None, None)
    exact = Exact(old, options.acceptable, options.rules)
    validity = gates(old, exact.coefficients, completion(window, delayed), lost=lost, young=delayed.early)
    thresholds = np.asarray(options.thresholds, np.float64)
    other = None
    if options.mode == "exact":
        view = exact.view(options.estimator)
        if len(thresholds):
            other = exact.what_if(thresholds, options.estimator)
    else:
        sketch = sketch_of(old, _own_sketch(old, options))
        view = sketch.view(options.estimator, options.rules)
        if len(thresholds):
            other = sketch.what_if(thresholds, options.estimator, options.rules)
    figures = live_figures(view, options.variance)
    return WindowEstimate(figures, validity, int(old.usable.sum()), delayed, view, other)


def sketch_of(window: Window, sketch: Sketch) -> Sketch:
    """Add the units and usable labels of a window to an empty sketch, and return it."""
    sketch.add_units(window.uncertainty, window.answered)
    there = window.usable
    human = None if window.human_error is None else window.human_error[there]
    sketch.add_labels(
        *(window.uncertainty[there], window.answered[there], window.error[there], window.effective[there], human)
    )
    return sketch


def _own_sketch(window: Window, options: EstimationOptions) -> Sketch:
    """Return an empty sketch with bins from the window's own quantiles."""
    known = window.uncertainty[np.isfinite(single(window.uncertainty))]
    edges = Edges.of(known if len(known) else np.zeros(1))
    return Sketch(edges, options.acceptable, strict=options.rules.convention.strict_limit)


def document(estimate: WindowEstimate, options: EstimationOptions) -> dict[str, Any]:
    """Return the figures with intervals, validity and reasons as JSON values, in a fixed order; None if missing."""
    figures, validity, law = estimate.figures, estimate.gates, estimate.delayed.law

    def interval(name: str) -> dict[str, float | None] | None:
        if name.startswith("f1") and options.acceptable is None:
            return None
        value = Estimate(*[math.nan] * 4) if figures is None else getattr(figures, name)
        return {end: number(getattr(value, end)) for end in ("estimate", "low", "high")}

    return {
        **{name: interval(name) for name in _FIGURES},
        "valid": validity.valid,
        "reasons": validity.texts,
        "ess": validity.ess,
        "n": 0 if figures is None else figures.n,
        "labels": estimate.labels,
        **{name: interval(name) for name in _FURTHER},
        **{name: None if figures is None else number(getattr(figures, name)) for name in _REFERENCES},
        "sampled": 0 if estimate.view is None else int(estimate.view.sampled),
        "heaviest_share": validity.heaviest,
        "estimator": options.estimator,
        "mode": options.mode,
        "convention": options.rules.convention.name,
        "acceptable": options.acceptable,
        "delay": {
            "corrected": law is not None,
            "settled": law is None or law.settled,
            "mature": int(estimate.delayed.mature.sum()),
            "early": estimate.delayed.early,
            "youngest_seconds": None if law is None else number(law.youngest),
        },
        **({} if estimate.what_if is None else {"what_if": what_if_rows(estimate.what_if)}),
    }


def what_if_rows(what_if: WhatIf) -> list[dict[str, Any]]:
    """Return the figures of each threshold as JSON values."""
    bands = {"error": what_if.error, "answered_error": what_if.answered_error, "f1": what_if.f1}
    return [
        {
            "threshold": number(threshold),
            "retention": number(what_if.retention[place]),
            **{
                name: None
                if band is None
                else {end: number(getattr(band, end)[place]) for end in ("estimate", "low", "high")}
                for name, band in bands.items()
            },
        }
        for place, threshold in enumerate(what_if.threshold)
    ]


def number(value: float) -> float | None:
    """Return a finite number, or None for a value that JSON cannot hold."""
    return float(value) if math.isfinite(value) else None
