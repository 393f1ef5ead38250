"""A window of many units, from panes: corrected for labels on their way, and gated as exact windows are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from models.estimation.delay import LEAST, Delayed, DelayLaw, corrected
from models.estimation.gates import LEAST_ESS, Gates, Reason, gates
from models.estimation.nonresponse import Completion, completion
from models.estimation.observed import observed
from models.estimation.sketch import Sketch
from models.estimation.window import Doubles, Window
from services.monitor.panes import Form, Pane, Panes, total
from services.monitor.units import Longs

DEVIATIONS = 5.0
"""Of the number of requests from what the propensities say."""
_AGES = 8
"""Moments of a pane at which the share of labels that have arrived is taken."""


@dataclass(frozen=True, slots=True)
class Sketched:
    """The sum of the panes that are old enough."""

    pane: Pane
    sketch: Sketch
    """Of one source."""
    law: DelayLaw | None
    completions: tuple[Completion, ...]
    young: int
    """Units of panes that are too young."""
    decided: Longs
    """Units of all panes, answered and deferred [2]."""
    scores: Longs
    """Units of all panes in the bins of the drift figures [bins]."""


def sketched(panes: Panes, source: str, between: tuple[float, float], requests: Window, now: float) -> Sketched:
    """The panes between two moments.

    Args:
        requests: those of the same time.
        now: seconds since 1970; what is late by then is on its way.
    """
    form = panes.form
    delayed = corrected(requests) if len(requests) else Delayed(requests, None, np.zeros(0, bool))
    found = completion(requests, delayed) if len(requests) else ()
    law, kept, young = delayed.law, [], 0
    arrivals = None if law is None else _Arrivals(law, form)
    sketch = form.sketch()
    every = [pane for pane in panes.since(between[0]) if pane[1] <= between[1]]
    for begin, end, pane in every:
        if law is not None and now - end < law.youngest:
            young += int(pane.units.sum())
            continue
        kept.append(pane)
        labels = pane.labels.get(source)
        if labels is not None:
            sketch.merge(labels if arrivals is None else observed(labels, arrivals.of(now - end, now - begin)))
    whole = total(kept, form)
    sketch.units += whole.units
    decided = total([pane for _, _, pane in every], form) if young else whole
    return Sketched(whole, sketch, law, found, young, decided.units.sum(axis=1), decided.scores)


def sketch_gates(found: Sketched, requests: Window, coefficients: Doubles, lost: int, never: int) -> Gates:
    """As ``models.estimation.gates``: from the requests one by one, and from what the panes count of all units.

    Args:
        coefficients: of R-AUC by bin [B].
        lost: units of the window that are not in the ledger.
        never: units that no label can stand for.
    """
    sketch, pane = found.sketch, found.pane
    units = pane.units.sum(axis=1)
    reasons: list[Reason] = []
    if lost > 0:
        reasons.append(Reason("gap", f"{lost} units were decided but are not logged; the window does not count them"))
    if not units.any():
        why = f"all {found.young} units are too young for labels to have come" if found.young else "the window is empty"
        return Gates((*reasons, Reason("young" if found.young else "no_units", why)), 0.0, 0.0)
    for plane, word in enumerate(("answered", "deferred")):
        if units[plane] and not sketch.labels[plane].any():
            text = f"none of the {units[plane]} {word} units has a label; audit some of them at random"
            reasons.append(Reason("no_labels", text))
    own = gates(requests, coefficients[sketch.edges.bins(requests.uncertainty)], found.completions)
    if sketch.sampled and own.ess < LEAST_ESS and int(sketch.labels.sum()) < int(units.sum()):
        words = f"the randomly chosen labels count as {own.ess:.0f}"
        text = f"{words}; at least {LEAST_ESS:.0f} are needed: audit more or wait"
        reasons.append(Reason("few_labels", text))
    reasons += [reason for reason in own.reasons if reason.word in ("heavy_label", "incomplete")]
    if never:
        text = f"{never} units had no chance of a label (no propensity above 0): nothing can stand for them"
        reasons.append(Reason("positivity", text))
    expected, variance, drawn = pane.draws.tolist()
    if abs(drawn - expected) > DEVIATIONS * math.sqrt(max(variance, 1.0)):
        text = f"{drawn:.0f} labels were asked for by chance where the propensities say {expected:.0f}"
        reasons.append(Reason("mismatch", text))
    return Gates(tuple(reasons), own.ess, own.heaviest)


class _Arrivals:
    """Share of the requested labels of a pane that have arrived, by plane and bin."""

    def __init__(self, law: DelayLaw, form: Form) -> None:
        self._law = law
        scores = np.append(form.edges.values, [np.inf, np.nan])
        # a bin belongs to the stratum of its upper end, the last ones to the highest
        self._strata = [np.minimum(np.searchsorted(cuts, scores), len(cuts)) for cuts in law.cuts]

    def of(self, youngest: float, oldest: float) -> Doubles:
        """[2, B], of units with ages in seconds between these."""
        ages = np.maximum(np.linspace(youngest, oldest, _AGES), 0.0)
        found = np.ones((2, len(self._strata[0])))
        for plane, (laws, strata) in enumerate(zip(self._law.laws, self._strata, strict=True)):
            if laws:
                shares = np.array([max(float(law.at(ages).mean()), LEAST) for law in laws])
                found[plane] = np.minimum(shares, 1.0)[np.minimum(strata, len(laws) - 1)]
        return found
