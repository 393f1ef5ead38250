"""Figures of one window, from all its units or from its panes: the same numbers that ``demur monitor replay`` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.estimation.delay import corrected
from models.estimation.exact import Exact
from models.estimation.figures import LiveFigures, View, curves, live_figures
from models.estimation.gates import Gates, gates
from models.estimation.intervals import Estimate
from models.estimation.nonresponse import Completion, pooled
from models.estimation.nonresponse import completion as completions_of
from models.estimation.references import error_references, f_references
from models.estimation.sketch import Sketch
from models.estimation.weights import Estimator
from services.monitor.judgement import FIGURES, REFERENCES, Curve
from services.monitor.requests import CODES, OPEN
from services.monitor.sketched import sketch_gates, sketched
from services.monitor.stream import Stream
from services.monitor.units import Units
from services.monitor.windows import request_window, unit_window


@dataclass(frozen=True, slots=True)
class Found:
    """All that a window's labels say."""

    mode: str
    units: int
    """Old enough to be judged."""
    answered: int
    labels: int
    young: int
    figures: Mapping[str, Estimate]
    references: Mapping[str, float]
    error_curve: Curve | None
    f1_curve: Curve | None
    gates: Gates
    completion: float
    scores: NDArray[np.int64]
    """Units in the bins of the drift figures [bins]."""
    held: Exact | Sketch | None
    """For what-ifs; None without units."""
    settled: bool
    """Whether time alone changes nothing."""


def exactly(stream: Stream, source: str, units: Units, now: float, estimator: Estimator, lost: int) -> Found:
    """From every unit [n].

    Args:
        now: when labels were looked for, seconds since 1970.
        lost: units of the window that are not in the ledger.
    """
    bins = stream.panes.form.bins
    scores = np.zeros(0, np.int64) if bins is None else bins.count(units.uncertainty)
    window = unit_window(stream, source, units, now)
    delayed = corrected(window)
    completions = completions_of(window, delayed)
    if not len(delayed.window):
        found = gates(delayed.window, np.empty(0), completions, lost=lost, young=delayed.early)
        return _nothing("exact", found, delayed.early, scores)
    held = Exact(delayed.window, stream.profile.head.acceptable, stream.profile.rules)
    return _found(
        held,
        held.view(estimator),
        "exact",
        gates(delayed.window, held.coefficients, completions, lost=lost, young=delayed.early),
        _completion(stream, source, float(units.time[0]), completions),
        labels=int(delayed.window.usable.sum()),
        young=delayed.early,
        scores=scores,
        settled=delayed.law is None,
    )


def by_panes(stream: Stream, source: str, start: float, now: float, estimator: Estimator, lost: int) -> Found:
    """From the panes since a moment; arguments as ``exactly``."""
    requests = request_window(stream, source, start, now, now)
    found = sketched(stream.panes, source, start, requests, now)
    sketch, rules = found.sketch, stream.profile.rules
    if not sketch.units.any():
        none = sketch_gates(found, requests, np.empty(0), lost)
        return _nothing("sketch", none, found.young, found.pane.scores)
    view = sketch.view(estimator, rules)
    coefficients = view.errors.ladder.area_coefficients(rules.area)
    return _found(
        sketch,
        view,
        "sketch",
        sketch_gates(found, requests, coefficients, lost),
        _completion(stream, source, start, found.completions),
        labels=int(sketch.labels.sum()),
        young=found.young,
        scores=found.pane.scores,
        settled=found.law is None,
    )


def _found(
    held: Exact | Sketch,
    view: View,
    mode: str,
    gates: Gates,
    completion: float,
    *,
    labels: int,
    young: int,
    scores: NDArray[np.int64],
    settled: bool,
) -> Found:
    with np.errstate(all="ignore"):  # figures that do not exist are NaN, and are left out
        figures = live_figures(view)
        errors, hits = curves(view)
        error_curve = Curve(errors, *error_references(held, errors))
        f1_curve = None if hits is None else Curve(hits, *f_references(view, hits))
    return Found(
        mode=mode,
        units=figures.n,
        answered=round(view.answered),
        labels=labels,
        young=young,
        figures=_existing(figures),
        references={name: value for name in REFERENCES if not math.isnan(value := getattr(figures, name))},
        error_curve=None if math.isnan(figures.r_auc.estimate) else error_curve,
        f1_curve=None if math.isnan(figures.f1_auc.estimate) else f1_curve,
        gates=gates,
        completion=completion,
        scores=scores,
        held=held,
        settled=settled,
    )


def _existing(figures: LiveFigures) -> dict[str, Estimate]:
    found = {name: getattr(figures, name) for name in FIGURES}
    return {name: one for name, one in found.items() if not math.isnan(one.estimate)}


def _nothing(mode: str, gates: Gates, young: int, scores: NDArray[np.int64]) -> Found:
    return Found(mode, 0, 0, 0, young, {}, {}, None, None, gates, math.nan, scores, None, settled=not young)


def _completion(stream: Stream, source: str, start: float, completions: tuple[Completion, ...]) -> float:
    """Share of the requests that are over that ended with a label; NaN without such.

    A declared population has no requests that end: there it is known once labels have stopped coming.
    """
    if source == "requested":
        requests = stream.requests
        over = (requests.units.time >= start) & ~np.isin(requests.state, OPEN)
        return float((requests.state[over] == CODES["labelled"]).mean()) if over.any() else math.nan
    whole = pooled(completions)
    return whole.share if whole is not None and whole.settled else math.nan
