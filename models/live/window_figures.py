"""Figures of one window, from all its units or from its buckets, as ``demur monitor replay`` prints them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from models.estimation.estimate_window import EstimationOptions, estimate_window, sketch_of
from models.estimation.figures import LiveFigures, View, WhatIf, curves, live_figures
from models.estimation.gates import Gates
from models.estimation.intervals import Band, Estimate
from models.estimation.nonresponse import Completion, pooled
from models.estimation.references import error_references, f_references
from models.estimation.sketch import Sketch
from models.estimation.weights import Estimator
from models.live.label_requests import RequestState
from models.live.request_worth import WorthOf, worth_of
from models.live.sketch_window import sketch_gates, sketch_window
from models.live.stream import Stream
from models.live.units import CENSUS, Doubles, Longs, Units
from models.live.windows import request_window, unit_window

FIGURES = ("r_auc", "f1_auc", "f1_at_95", "error", "answered_error", "mean_error", "system_error")
REFERENCES = ("r_auc_random", "r_auc_optimal", "f1_auc_random", "f1_auc_optimal")


@dataclass(frozen=True, slots=True)
class Curve:
    """Retention curve with its 95 % band, and the curves of a random and of the optimal ranking [K]."""

    band: Band
    random: Doubles
    optimal: Doubles


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowFigures:
    """Results of a window's units and labels."""

    mode: str
    """``exact`` or ``sketch``."""
    units: int
    """Number of units decided in the window."""
    answered: int
    """Number of units answered."""
    scores: Longs
    """Counts of units in the bins of the drift figures [bins]."""
    gates: Gates
    settled: bool
    """True if the figures do not change by the passing of time alone."""
    sketch: Callable[[], Sketch] = field(repr=False, compare=False)
    """Function that returns the window in bins, corrected for late labels; such sketches can be summed."""
    what_if: Callable[[Sequence[float]], WhatIf | None] = field(
        default=lambda thresholds: None, repr=False, compare=False
    )
    """Function that returns figures at other thresholds; None without units."""
    worth: WorthOf | None = field(default=None, repr=False, compare=False)
    """Function that returns the worth of waiting labels for a figure; None unless all units are held."""
    answered_share: float = math.nan
    """Share of the units on which the figures are based that were answered; NaN without units."""
    judged: int = 0
    """Number of units that are old enough for their labels to have arrived, on which the figures are based."""
    labels: int = 0
    figures: Mapping[str, Estimate]
    """Figures that exist, by the names of ``FIGURES``."""
    references: Mapping[str, float]
    """References that exist, by the names of ``REFERENCES``."""
    error_curve: Curve | None = None
    f1_curve: Curve | None = None
    completion: float = math.nan
    """Share of the closed requests that were labelled; NaN without closed requests."""

    @property
    def mature(self) -> float:
        """Share of the window's units that are old enough for the figures; 1 without units."""
        return self.judged / self.units if self.units else 1.0

    @property
    def abstained(self) -> float:
        """Share of the units that were deferred; NaN without units."""
        return 1 - self.answered / self.units if self.units else math.nan

    @property
    def effective_samples(self) -> float:
        """Effective number of the labels that were drawn at random."""
        return self.gates.ess


def exact_figures(
    stream: Stream, source: str, units: Units, now: float, estimator: Estimator, lost: int
) -> WindowFigures:
    """Return the figures of units [n], from every unit.

    Args:
        now: time at which the labels were read, seconds since 1970.
        lost: units of the window that are not in the ledger.
    """
    layout = stream.buckets.layout
    scores = np.zeros(0, np.int64) if layout.bins is None else layout.bins.count(units.uncertainty)
    window = unit_window(stream, source, units, now)
    profile = stream.profile
    options = EstimationOptions(acceptable=profile.head.acceptable, estimator=estimator, rules=profile.rules)
    with np.errstate(all="ignore"):  # figures that do not exist are NaN, and are left out
        estimate = estimate_window(window, options, lost=lost)
    empty = WindowFigures(
        mode="exact",
        units=len(units),
        answered=int(units.answered.sum()),
        scores=scores,
        gates=estimate.gates,
        settled=not len(units),
        sketch=layout.empty_sketch,
        figures={},
        references={},
    )
    if estimate.view is None or estimate.figures is None:
        return empty

    def what_if(thresholds: Sequence[float]) -> WhatIf | None:
        with np.errstate(all="ignore"):
            return estimate_window(window, replace(options, thresholds=thresholds)).what_if

    return replace(
        _filled(empty, estimate.view, estimate.figures),
        labels=estimate.labels,
        completion=_completion(stream, source, float(units.time[0]), ()),
        what_if=what_if,
        worth=worth_of(stream, units, window),
        sketch=lambda: sketch_of(estimate.delayed.window, layout.empty_sketch()),
        settled=estimate.delayed.law is None,
    )


def bucket_figures(
    stream: Stream, source: str, start: float, now: float, estimator: Estimator, lost: int, end: float = math.inf
) -> WindowFigures:
    """Return the figures of the buckets between ``start`` and ``end``; other arguments as ``exact_figures``."""
    requests = request_window(stream, source, start, min(now, end), now)
    window = sketch_window(stream.buckets, source, (start, end), requests, now)
    sketch, rules = window.sketch, stream.profile.rules
    never = window.bucket.never - (window.bucket.covered if source == CENSUS else 0)
    view = sketch.view(estimator, rules) if sketch.units.any() else None
    coefficients = np.empty(0) if view is None else view.errors.ladder.area_coefficients(rules.area)
    empty = WindowFigures(
        mode="sketch",
        units=int(window.decided.sum()),
        answered=int(window.decided[0]),
        scores=window.scores,
        gates=sketch_gates(window, requests, coefficients, lost, never),
        settled=not window.decided.any(),
        sketch=stream.buckets.layout.empty_sketch,
        figures={},
        references={},
    )
    if view is None:
        return empty
    with np.errstate(all="ignore"):  # figures that do not exist are NaN, and are left out
        figures = live_figures(view)
    return replace(
        _filled(empty, view, figures),
        labels=int(sketch.labels.sum()),
        completion=_completion(stream, source, start, window.completions),
        what_if=lambda thresholds: sketch.what_if(np.asarray(thresholds, np.float64), estimator, rules),
        sketch=lambda: sketch,
        settled=window.law is None,
    )


def _filled(empty: WindowFigures, view: View, figures: LiveFigures) -> WindowFigures:
    """Return a window with its figures, references and curves, as far as they exist."""
    with np.errstate(all="ignore"):
        errors, hits = curves(view)
        error_curve = Curve(errors, *error_references(view.weighted, errors))
        f1_curve = None
        if hits is not None and view.hits is not None:
            f1_curve = Curve(hits, *f_references(float(view.hits.totals.sum()), view.n, hits))
    return replace(
        empty,
        answered_share=figures.retention,
        judged=figures.n,
        figures={name: estimate for name in FIGURES if not math.isnan((estimate := getattr(figures, name)).estimate)},
        references={name: value for name in REFERENCES if not math.isnan(value := getattr(figures, name))},
        error_curve=None if math.isnan(figures.r_auc.estimate) else error_curve,
        f1_curve=None if math.isnan(figures.f1_auc.estimate) else f1_curve,
    )


def _completion(stream: Stream, source: str, start: float, completions: tuple[Completion, ...]) -> float:
    """Return the share of the closed requests that were labelled; NaN without closed requests.

    A declared population has no requests that close: its share is known as soon as no more labels arrive.
    """
    if source != CENSUS:
        units = stream.requests.units
        closed = (units.time >= start) & units.has_request & ~units.open
        return float((units.state[closed] == RequestState.LABELLED).mean()) if closed.any() else math.nan
    whole = pooled(completions)
    return whole.share if whole is not None and whole.settled else math.nan
