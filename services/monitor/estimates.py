"""Figures of one window, from all its units or from its panes: the numbers that ``demur monitor replay`` prints."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.estimation.figures import LiveFigures, View, WhatIf, curves, live_figures
from models.estimation.gates import Gates
from models.estimation.intervals import Estimate
from models.estimation.judge import Asked, judge
from models.estimation.nonresponse import Completion, pooled
from models.estimation.references import error_references, f_references
from models.estimation.sketch import Sketch
from models.estimation.weights import Estimator
from models.estimation.window import Window
from services.monitor.judgement import FIGURES, REFERENCES, Curve
from services.monitor.panes import Form
from services.monitor.requests import CODES, OPEN_CODES
from services.monitor.sketched import sketch_gates, sketched
from services.monitor.stream import Stream
from services.monitor.units import CENSUS, Units
from services.monitor.windows import request_window, unit_window


@dataclass(frozen=True, slots=True)
class Found:
    """All that a window's labels say."""

    mode: str
    units: int
    answered: int
    judged: int
    """Units old enough to be judged."""
    labels: int
    figures: Mapping[str, Estimate]
    references: Mapping[str, float]
    error_curve: Curve | None
    f1_curve: Curve | None
    gates: Gates
    completion: float
    scores: NDArray[np.int64]
    """Units in the bins of the drift figures [bins]."""
    what_if: Callable[[Sequence[float]], WhatIf | None]
    """Figures at other thresholds; None without units."""
    sketch: Callable[[], Sketch]
    """The window in bins, corrected for labels on their way: those of several monitors add up."""
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
    asked = asked_of(stream, estimator)
    with np.errstate(all="ignore"):  # figures that do not exist are NaN, and are left out
        judged = judge(window, asked, lost=lost)
    decided = (len(units), int(units.answered.sum()))
    if judged.view is None or judged.figures is None:
        return _nothing("exact", judged.gates, decided, scores, stream.profile.form)
    start = float(units.time[0])
    return _found(
        judged.delayed.window,
        judged.view,
        judged.figures,
        "exact",
        judged.gates,
        _completion(stream, source, start, ()),
        held=lambda thresholds: _what_if(window, replace(asked, thresholds=thresholds)),
        sketch=lambda: _sketch(judged.delayed.window, stream.profile.form),
        decided=decided,
        labels=judged.labels,
        scores=scores,
        settled=judged.delayed.law is None,
    )


def asked_of(stream: Stream, estimator: Estimator) -> Asked:
    """How a stream's windows are judged."""
    return Asked(acceptable=stream.profile.head.acceptable, estimator=estimator, rules=stream.profile.rules)


def by_panes(
    stream: Stream, source: str, start: float, now: float, estimator: Estimator, lost: int, end: float = math.inf
) -> Found:
    """From the panes that begin at a moment or later and end by another one; arguments as ``exactly``."""
    requests = request_window(stream, source, start, min(now, end), now)
    found = sketched(stream.panes, source, (start, end), requests, now)
    sketch, rules = found.sketch, stream.profile.rules
    decided = (int(found.decided.sum()), int(found.decided[0]))
    never = found.pane.never - (found.pane.covered if source == CENSUS else 0)
    if not sketch.units.any():
        none = sketch_gates(found, requests, np.empty(0), lost, never)
        return _nothing("sketch", none, decided, found.scores, stream.profile.form)
    view = sketch.view(estimator, rules)
    coefficients = view.errors.ladder.area_coefficients(rules.area)
    with np.errstate(all="ignore"):  # figures that do not exist are NaN, and are left out
        figures = live_figures(view)
    return _found(
        sketch,
        view,
        figures,
        "sketch",
        sketch_gates(found, requests, coefficients, lost, never),
        _completion(stream, source, start, found.completions),
        held=lambda thresholds: sketch.what_if(np.asarray(thresholds, np.float64), estimator, rules),
        sketch=lambda: sketch,
        decided=decided,
        labels=int(sketch.labels.sum()),
        scores=found.scores,
        settled=found.law is None,
    )


def _found(
    source: Window | Sketch,
    view: View,
    figures: LiveFigures,
    mode: str,
    gates: Gates,
    completion: float,
    *,
    held: Callable[[Sequence[float]], WhatIf | None],
    sketch: Callable[[], Sketch],
    decided: tuple[int, int],
    labels: int,
    scores: NDArray[np.int64],
    settled: bool,
) -> Found:
    with np.errstate(all="ignore"):
        errors, hits = curves(view)
        error_curve = Curve(errors, *error_references(source, errors))
        f1_curve = None if hits is None else Curve(hits, *f_references(view, hits))
    return Found(
        mode=mode,
        units=decided[0],
        answered=decided[1],
        judged=figures.n,
        labels=labels,
        figures=_existing(figures),
        references={name: value for name in REFERENCES if not math.isnan(value := getattr(figures, name))},
        error_curve=None if math.isnan(figures.r_auc.estimate) else error_curve,
        f1_curve=None if math.isnan(figures.f1_auc.estimate) else f1_curve,
        gates=gates,
        completion=completion,
        scores=scores,
        what_if=held,
        sketch=sketch,
        settled=settled,
    )


def _existing(figures: LiveFigures) -> dict[str, Estimate]:
    found = {name: getattr(figures, name) for name in FIGURES}
    return {name: one for name, one in found.items() if not math.isnan(one.estimate)}


def _nothing(mode: str, gates: Gates, decided: tuple[int, int], scores: NDArray[np.int64], form: Form) -> Found:
    return Found(
        *(mode, *decided, 0, 0, {}, {}, None, None, gates, math.nan, scores),
        what_if=lambda thresholds: None,
        sketch=form.sketch,
        settled=not decided[0],
    )


def _what_if(window: Window, asked: Asked) -> WhatIf | None:
    with np.errstate(all="ignore"):
        return judge(window, asked).what_if


def _sketch(window: Window, form: Form) -> Sketch:
    sketch, there = form.sketch(), window.usable
    sketch.add_units(window.uncertainty, window.answered)
    answered, error = window.answered[there], window.error[there]
    sketch.add_labels(window.uncertainty[there], answered, error, window.effective[there])
    return sketch


def _completion(stream: Stream, source: str, start: float, completions: tuple[Completion, ...]) -> float:
    """Share of the requests that are over that ended with a label; NaN without such.

    A declared population has no requests that end: there it is known once labels have stopped coming.
    """
    if source == "requested":
        requests = stream.requests
        over = (requests.units.time >= start) & requests.asked & ~np.isin(requests.state, OPEN_CODES)
        return float((requests.state[over] == CODES["labelled"]).mean()) if over.any() else math.nan
    whole = pooled(completions)
    return whole.share if whole is not None and whole.settled else math.nan
