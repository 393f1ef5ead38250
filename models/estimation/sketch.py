"""Paired sketch: a window in 512 bins of uncertainty, to which units and labels are added; sketches can be summed.

Moments of answered and of deferred units are separate, those of a label are in the bin of its unit, so that errors stay
tied to ranks. Figures are those of exact mode with each bin as a group of ties; their error falls with the square of
the number of bins (0.01 % of the figure at 512). A correction removes a label as it was added, and adds another.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.assessment.figures import Rules
from models.assessment.ranking import Floats
from models.estimation.edges import Edges
from models.estimation.figures import Sums, View, WhatIf, what_if
from models.estimation.ladder import Ladder
from models.estimation.references import Weighted, weighted_errors
from models.estimation.weights import (
    Estimated,
    Estimator,
    Labels,
    augmented,
    hajek,
    horvitz_thompson,
    label_strata,
    monotone,
)
from models.estimation.window import BadWindow, Doubles, Mask

_MAGIC = b"demur-sketch-1\n"
_ERRORS = ("weight", "value", "v0", "v1", "v2", "second", "fourth")
_HITS = ("weight", "hits", "v0", "hits_v", "hits_v", "hits", "hits_fourth")  # a value of 0 or 1 is its own square
_HUMAN = ("human_weight", "human", "human_v0", "human_v1", "human_v2", "human_second", "human_fourth")
SUMS = (*_ERRORS, "hits", "hits_v", "hits_fourth", *_HUMAN)
"""Names of the moments in ``Sketch.sums``, in their order."""
_PAIRS = (  # sum of (1 - e) / e² times a power of x, and of that power / e
    *(("v0", "weight"), ("v1", "value"), ("v2", "second"), ("hits_v", "hits")),
    *(("human_v0", "human_weight"), ("human_v1", "human"), ("human_v2", "human_second")),
)
_FOURTHS = (("fourth", "v2"), ("hits_fourth", "hits_v"), ("human_fourth", "human_v2"))
_SIZES = np.geomspace(1e-6, 1e12, 433)  # of errors, for the optimal ranking: 24 bins per decade
_ERROR_EDGES = np.concatenate([-_SIZES[::-1], [0.0], _SIZES])


class Sketch:
    """Counts and moments by plane (answered, deferred) and bin.

    Args:
        acceptable: largest acceptable error; None for no F1 figures.
        strict: True if errors equal to the limit are not acceptable.
    """

    def __init__(self, edges: Edges, acceptable: float | None = None, *, strict: bool = False) -> None:
        self.edges = edges
        self.acceptable = acceptable
        self.strict = strict
        self.units: NDArray[np.int64] = np.zeros((2, len(edges)), np.int64)
        self.labels: NDArray[np.int64] = np.zeros((2, len(edges)), np.int64)
        """Labels of each plane and bin."""
        self.sampled = 0
        """Number of labels that were drawn at random."""
        self.sums: Doubles = np.zeros((len(SUMS), 2, len(edges)))
        self.sizes: Doubles = np.zeros((2, 2, len(_ERROR_EDGES) + 1))
        """Sum of weights and of weighted errors by plane and size of the error."""

    def add_units(self, uncertainty: Floats, answered: Mask) -> None:
        """Count decided units [n]."""
        self.units += np.bincount(self._places(uncertainty, answered), minlength=self.units.size).reshape(2, -1)

    def add_labels(
        self,
        uncertainty: Floats,
        answered: Mask,
        error: Doubles,
        probability: Doubles,
        human_error: Doubles | None = None,
    ) -> None:
        """Add the labels of units that were counted before; all [n].

        Args:
            probability: probability that the label has arrived: propensity times observation, in (0, 1].
            human_error: error of a person's answer for a deferred unit; NaN if unknown.

        Raises:
            BadWindow: an error that is not finite, or a probability outside (0, 1].
        """
        self._labels(uncertainty, answered, error, probability, human_error, 1)

    def remove_labels(
        self,
        uncertainty: Floats,
        answered: Mask,
        error: Doubles,
        probability: Doubles,
        human_error: Doubles | None = None,
    ) -> None:
        """Remove labels as they were added; arguments and errors as ``add_labels``."""
        self._labels(uncertainty, answered, error, probability, human_error, -1)

    def merge(self, other: Sketch) -> None:
        """Add the counts and moments of another sketch to this one.

        Raises:
            BadWindow: other edges or another limit.
        """
        if other.edges.identity != self.edges.identity:
            raise BadWindow(
                f"sketches with edges {self.edges.identity} and {other.edges.identity} cannot be added: make both with "
                "the same edges"
            )
        if (other.acceptable, other.strict) != (self.acceptable, self.strict):
            raise BadWindow(
                f"sketches with the acceptable limits {self.acceptable} and {other.acceptable} cannot be added: make "
                "both with the same limit and convention"
            )
        self.units += other.units
        self.labels += other.labels
        self.sampled += other.sampled
        self.sums += other.sums
        self.sizes += other.sizes

    def view(self, estimator: Estimator = "aipw", rules: Rules | None = None) -> View:
        """Return the sums that make up the figures.

        Raises:
            BadWindow: no units, or a convention whose limit is not this sketch's.
        """
        rules = rules or Rules()
        if not self.units.any():
            raise BadWindow("the sketch has no units; at least one is needed")
        if self.acceptable is not None and rules.convention.strict_limit != self.strict:
            raise BadWindow(f"the sketch was made with strict = {self.strict}, which convention {rules} does not have")
        ladder = Ladder(self.units.sum(axis=0).astype(np.float64))
        sums = dict(zip(SUMS, self.sums, strict=True))
        errors, hits = ([sums[name] for name in names] for names in (_ERRORS, _HITS))
        return View(
            errors=self._sums(ladder, errors, estimator, rising=True),
            hits=None if self.acceptable is None else self._sums(ladder, hits, estimator, rising=False),
            human=self._human(sums),
            answered=float(self.units[0].sum()),
            sampled=self.sampled,
            weighted=self._weighted_errors(),
            rules=rules,
            scale="real" if (self.sizes[0, :, : len(_SIZES)] > 0.5).any() else "positive",
        )

    def what_if(
        self, thresholds: Sequence[float] | Doubles, estimator: Estimator = "aipw", rules: Rules | None = None
    ) -> WhatIf:
        """Return the figures at other thresholds; exact for thresholds that are edges."""
        limits = np.asarray(thresholds, np.float64)
        view = self.view(estimator, rules)
        return what_if(view, limits, self.edges.below(limits, view.errors.ladder.count))

    def to_bytes(self) -> bytes:
        """Serialise the sketch."""
        head = {"edges": len(self.edges.values), "acceptable": self.acceptable, "strict": self.strict}
        arrays = (self.edges.values, self.units, self.labels, self.sums, self.sizes)
        body = b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays)
        return _MAGIC + json.dumps(head | {"sampled": self.sampled}).encode() + b"\n" + body

    @staticmethod
    def from_bytes(data: bytes) -> Sketch:
        """Read the bytes that ``to_bytes`` wrote.

        Raises:
            BadWindow: other bytes, or a part of a sketch.
        """
        try:
            if not data.startswith(_MAGIC):
                raise ValueError("it does not begin as one")
            line, _, body = data[len(_MAGIC) :].partition(b"\n")
            head = json.loads(line)
            edges = Edges(np.frombuffer(body, "<f4", head["edges"]).astype(np.float32))
            sketch = Sketch(edges, head["acceptable"], strict=head["strict"])
            sketch.sampled = int(head["sampled"])
            start = 4 * len(edges.values)
            for array in (sketch.units, sketch.labels, sketch.sums, sketch.sizes):
                kind = array.dtype.newbyteorder("<")
                array[...] = np.frombuffer(body, kind, array.size, start).reshape(array.shape)
                start += array.nbytes
            if start != len(body):
                raise ValueError(f"{len(body) - start} bytes are left over")
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise BadWindow(f"{len(data)} bytes are no sketch: {error}") from error
        return sketch

    def _places(self, uncertainty: Floats, answered: Mask) -> NDArray[np.intp]:
        if uncertainty.shape != answered.shape or uncertainty.ndim != 1:
            raise BadWindow(f"uncertainty {uncertainty.shape} and answered {answered.shape} need one length [n]")
        places = self.edges.bins(uncertainty)
        places += len(self.edges) * ~answered
        return places

    def _labels(
        self, uncertainty: Floats, answered: Mask, error: Doubles, e: Doubles, human: Doubles | None, sign: int
    ) -> None:
        places = self._places(uncertainty, answered)
        if error.shape != places.shape or e.shape != places.shape:
            raise BadWindow(f"error {error.shape} and probability {e.shape} need the shape of uncertainty")
        if not np.isfinite(error).all():
            raise BadWindow("an error is not finite; a label without a finite error cannot be added: leave it out")
        if not ((e > 0) & (e <= 1)).all():
            raise BadWindow("a probability is outside (0, 1]; a label without one cannot be weighted: leave it out")
        labels = Labels.of(places, e, error)
        good = np.zeros(len(error))
        if self.acceptable is not None:
            good = ((error < self.acceptable) if self.strict else (error <= self.acceptable)).astype(np.float64)
        moments = [*_moments(labels), labels.weight * good, labels.v0 * good, labels.v0 * labels.v0 * good]
        if human is not None:
            known = np.isfinite(human) & ~answered
            moments += [known * moment for moment in _moments(Labels.of(places, e, np.where(known, human, 0.0)))]
        for total, values in zip(self.sums, moments, strict=False):
            total += sign * np.bincount(places, values, total.size).reshape(2, -1)
        self.labels += sign * np.bincount(places, minlength=self.labels.size).reshape(2, -1)
        self.sampled += sign * int((e < 1).sum())
        size = np.searchsorted(_ERROR_EDGES, error) + self.sizes.shape[2] * ~answered
        for total, values in zip(self.sizes, (labels.weight, labels.value), strict=True):
            total += sign * np.bincount(size, values, total.size).reshape(2, -1)

    def _sums(self, ladder: Ladder, moments: Sequence[Doubles], estimator: Estimator, *, rising: bool) -> Sums:
        bins = np.arange(len(self.edges))
        predicted = None
        if estimator == "aipw" and self.sampled:
            number = self.labels.sum(axis=0)
            there = np.flatnonzero(number > 0)
            weight, value = moments[0].sum(axis=0)[there], moments[1].sum(axis=0)[there]
            predicted = monotone(there, weight, value, number=number[there], rising=rising).everywhere(len(bins))

        def plane(number: int) -> Estimated | None:
            there = np.flatnonzero(self.labels[number] > 0)
            if not len(there) and self.units[number].any():
                return None
            labels = Labels(there, *(moment[number, there] for moment in moments))
            count = self.units[number].astype(np.float64)
            if predicted is not None and len(there):
                return augmented(labels, predicted[there], count * predicted)
            if estimator == "hajek" and len(there):
                return hajek(labels, count, label_strata(there, self.labels[number, there], len(bins)))
            return horvitz_thompson(labels, len(bins))

        return Sums(ladder, plane(0), plane(1))

    def _human(self, sums: dict[str, Doubles]) -> Estimated:
        """Return the sum over the deferred units, as one cell."""
        moments = (np.array([sums[name][1].sum()]) for name in _HUMAN)
        return horvitz_thompson(Labels(np.zeros(1, np.intp), *moments), 1)

    def _weighted_errors(self) -> Weighted:
        weights, values = self.sizes
        errors = np.divide(values, weights, out=np.zeros(weights.shape), where=weights > 0)
        return weighted_errors(zip(self.units.sum(axis=1).tolist(), errors, weights, strict=True))


def observed(sketch: Sketch, probability: Doubles) -> Sketch:
    """Return the sketch with each label's probability e replaced by e G, so that labels also represent late ones.

    The result is exact for all moments except the fourth, which only widen intervals.

    With 1 / e² = (1 - e) / e² + 1 / e, the sums of x² / e and of (1 - e) / e² x² give those with e G in place of e.

    Args:
        sketch: labels added with their propensity; it is not changed.
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
    corrected = Sketch(sketch.edges, sketch.acceptable, strict=sketch.strict)
    corrected.units += sketch.units
    corrected.labels += sketch.labels
    before = dict(zip(SUMS, sketch.sums, strict=True))
    after = dict(zip(SUMS, corrected.sums, strict=True))
    for name, linear in _PAIRS:
        after[linear] += before[linear] / g
        after[name] += (before[name] + before[linear]) / g**2 - before[linear] / g
    for name, square in _FOURTHS:
        # of squares that the sums do not give: as they were spread before, or evenly where there were none
        grown = np.divide(after[square], before[square], out=np.ones_like(g), where=before[square] > 0)
        even = np.divide(after[square] ** 2, sketch.labels, out=np.zeros_like(g), where=held)
        after[name] += np.where(before[square] > 0, before[name] * grown**2, even)
    certain = bool((g == 1).all())
    corrected.sampled = sketch.sampled if certain else int(sketch.labels.sum())
    # sizes of errors are stored without their bins: they grow in proportion to their plane
    old, new = (part["weight"].sum(axis=1) for part in (before, after))
    corrected.sizes += sketch.sizes * np.divide(new, old, out=np.ones(2), where=old > 0)[None, :, None]
    return corrected


def _moments(labels: Labels) -> list[Doubles]:
    return [labels.weight, labels.value, labels.v0, labels.v1, labels.v2, labels.second, labels.fourth]
