"""A sketch as it counts while labels are on their way: each label stands also for those that have not arrived yet."""

from __future__ import annotations

import numpy as np

from models.estimation.sketch import SUMS, Sketch
from models.estimation.window import BadWindow, Doubles

_PAIRS = (  # sum of (1 - e) / e² times a power of x, and of that power / e
    *(("v0", "weight"), ("v1", "value"), ("v2", "second"), ("hits_v", "hits")),
    *(("human_v0", "human_weight"), ("human_v1", "human"), ("human_v2", "human_second")),
)
_FOURTHS = (("fourth", "v2"), ("hits_fourth", "hits_v"), ("human_fourth", "human_v2"))


def observed(sketch: Sketch, probability: Doubles) -> Sketch:
    """The sketch with each label's probability e of being there replaced by e G: exact, moment by moment, but
    for the fourth ones, which only widen intervals.

    With 1 / e² = (1 - e) / e² + 1 / e, the sums of x² / e and of (1 - e) / e² x² give those with e G in place of e.

    Args:
        sketch: labels added with their propensity; stays as it is.
        probability: G, that a requested label has arrived by now, by plane (answered, deferred) and bin [2, B], in
            (0, 1] where there are labels.

    Raises:
        BadWindow: another shape, or a G outside (0, 1] where there are labels.
    """
    if probability.shape != sketch.labels.shape:
        raise BadWindow(f"probability has the shape {list(probability.shape)}; {list(sketch.labels.shape)} is needed")
    held = sketch.labels != 0
    if not ((probability > 0) & (probability <= 1))[held].all():
        raise BadWindow("a probability of arrival is outside (0, 1] in a bin with labels; leave out units so young")
    g = np.where(held, probability, 1.0)
    found = Sketch(sketch.edges, sketch.acceptable, strict=sketch.strict)
    found.units += sketch.units
    found.labels += sketch.labels
    before = dict(zip(SUMS, sketch.sums, strict=True))
    after = dict(zip(SUMS, found.sums, strict=True))
    for name, linear in _PAIRS:
        after[linear] += before[linear] / g
        after[name] += (before[name] + before[linear]) / g**2 - before[linear] / g
    for name, square in _FOURTHS:
        # of squares that the sums do not give: as they were spread before, or evenly where there were none
        grown = np.divide(after[square], before[square], out=np.ones_like(g), where=before[square] > 0)
        even = np.divide(after[square] ** 2, sketch.labels, out=np.zeros_like(g), where=held)
        after[name] += np.where(before[square] > 0, before[name] * grown**2, even)
    certain = bool((g == 1).all())
    found.sampled = sketch.sampled if certain else int(sketch.labels.sum())
    # sizes of errors are kept without their bins: they grow as their plane does
    old, new = (part["weight"].sum(axis=1) for part in (before, after))
    found.sizes += sketch.sizes * np.divide(new, old, out=np.ones(2), where=old > 0)[None, :, None]
    return found
