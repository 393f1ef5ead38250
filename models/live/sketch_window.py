"""Window of many units, summed from time buckets: corrected for late labels, with the gates of exact windows."""

import math
from dataclasses import dataclass

import numpy as np

from models.estimation.delay import LEAST, Delayed, DelayLaw, corrected
from models.estimation.gates import Gates, Reason, empty_reasons, gates, label_reasons
from models.estimation.nonresponse import Completion, completion
from models.estimation.sketch import Sketch, observed
from models.estimation.window import Doubles, Window
from models.live.time_buckets import Bucket, BucketLayout, TimeBuckets
from models.live.units import Longs

DEVIATIONS = 5.0
"""Largest deviation of the number of requests from the propensities, in standard deviations."""
_AGES = 8
"""Number of times within a bucket at which the share of labels that have arrived is computed."""


@dataclass(frozen=True, slots=True)
class SketchWindow:
    """Sum of the buckets that are old enough."""

    bucket: Bucket
    """Sum of their units."""
    sketch: Sketch
    """Sum of their units, and of the labels of one source."""
    law: DelayLaw | None
    completions: tuple[Completion, ...]
    young: int
    """Number of units in buckets that are too young."""
    decided: Longs
    """Number of units in all buckets, answered and deferred [2]."""
    scores: Longs
    """Units of all buckets in the bins of the drift figures [bins]."""


def sketch_window(
    buckets: TimeBuckets, source: str, between: tuple[float, float], requests: Window, now: float
) -> SketchWindow:
    """Sum the buckets between two times.

    Args:
        requests: requested units of the same period.
        now: seconds since 1970; labels that have not arrived by then are late.
    """
    layout = buckets.layout
    delayed = corrected(requests) if len(requests) else Delayed(requests, None, np.zeros(0, bool))
    completions = completion(requests, delayed) if len(requests) else ()
    law, kept, young = delayed.law, [], 0
    arrivals = None if law is None else _Arrivals(law, layout)
    sketch = layout.empty_sketch()
    every = [bucket for bucket in buckets.since(between[0]) if bucket[1] <= between[1]]
    for begin, end, bucket in every:
        if law is not None and now - end < law.youngest:
            young += int(bucket.units.sum())
            continue
        kept.append(bucket)
        labels = bucket.labels.get(source)
        if labels is not None:
            sketch.merge(labels if arrivals is None else observed(labels, arrivals.shares(now - end, now - begin)))
    whole = layout.total(kept)
    sketch.units += whole.units
    decided = layout.total(bucket for _, _, bucket in every) if young else whole
    return SketchWindow(whole, sketch, law, completions, young, decided.units.sum(axis=1), decided.scores)


def sketch_gates(window: SketchWindow, requests: Window, coefficients: Doubles, lost: int, never: int) -> Gates:
    """Return gates as ``models.estimation.gates``, from individual requests and from the buckets' counts.

    Args:
        coefficients: coefficients of R-AUC by bin [B].
        lost: units of the window that are not in the ledger.
        never: units that no label can represent.
    """
    sketch, bucket = window.sketch, window.bucket
    units = bucket.units.sum(axis=1)
    if not units.any():
        return Gates(tuple(empty_reasons(lost, window.young)), 0.0, 0.0)
    own = gates(requests, coefficients[sketch.edges.bins(requests.uncertainty)], window.completions)
    labels = sketch.labels.sum(axis=1).tolist()
    reasons = label_reasons(lost, units.tolist(), labels, own.ess if sketch.sampled else None)
    reasons += [reason for reason in own.reasons if reason.word in ("heavy_label", "incomplete")]
    if never:
        text = f"{never} units had no chance of a label (no propensity above 0): nothing can stand for them"
        reasons.append(Reason("positivity", text))
    expected, variance, drawn = bucket.draws.tolist()
    if abs(drawn - expected) > DEVIATIONS * math.sqrt(max(variance, 1.0)):
        text = f"{drawn:.0f} labels were asked for by chance where the propensities say {expected:.0f}"
        reasons.append(Reason("mismatch", text))
    return Gates(tuple(reasons), own.ess, own.heaviest)


class _Arrivals:
    """Shares of the requested labels of a bucket that have arrived, by plane and bin."""

    def __init__(self, law: DelayLaw, layout: BucketLayout) -> None:
        self._law = law
        scores = np.append(layout.edges.values, [np.inf, np.nan])
        # a bin belongs to the stratum of its upper end, the last ones to the highest
        self._strata = [np.minimum(np.searchsorted(cuts, scores), len(cuts)) for cuts in law.cuts]

    def shares(self, youngest: float, oldest: float) -> Doubles:
        """Return the shares [2, B] for units whose ages lie between two, in seconds."""
        ages = np.maximum(np.linspace(youngest, oldest, _AGES), 0.0)
        by_bin = np.ones((2, len(self._strata[0])))
        for plane, (laws, strata) in enumerate(zip(self._law.laws, self._strata, strict=True)):
            if laws:
                shares = np.array([max(float(law.at(ages).mean()), LEAST) for law in laws])
                by_bin[plane] = np.minimum(shares, 1.0)[np.minimum(strata, len(laws) - 1)]
        return by_bin
