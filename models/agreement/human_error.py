"""Expected error of one reviewer's label against the truth, from second opinions and from known units.

Two labels of one unit by different reviewers show how far labels scatter, not where the truth lies. How the difference
d of two labels relates to the error e of one depends on the head's error:

- ``squared``: labels that are independent given the unit, without a common bias, differ by E d² = 2 E e². Half the
  squared difference is the error (Dahlberg 1940; Bland & Altman 1996, BMJ 312:1654).
- ``class``: errors that are independent, as likely on every unit, and fall on any wrong class alike; see
  ``models.agreement.rates``. Where errors gather on difficult units, they are more than this figure.
- ``uneven_class``: some units are more difficult. Two labels can differ only if one is wrong, so e is at least d / 2
  in any case; if both are independent given the unit, and on no unit worse than a guess, e is at most d: with
  c = k / (k - 1) and a unit's rate r of at most 1 / c, d = E[2 r - c r²] is at least E r. The figure is that of
  ``class``.
- ``distance``: for errors in metres. d is at most the sum of both errors (triangle inequality), so e is at least d / 2;
  independent labels without a common bias differ by at least e on average (Jensen's inequality), so e is at most d.
  Independent normal errors give e = d / √2, the figure.
- ``overlap``: masks and texts. One minus Dice obeys the triangle inequality up to a factor of 1.5 (Gragera &
  Suppakitpaisarn 2018, Theoretical Computer Science 718:37), so e is at least d / 3; voxels that are independent and
  right more often than wrong give e of at most d. The figure is d / √2, between independent voxels (d / 2) and
  reviewers of whom one agrees with the truth (d). For texts the range is an assumption.
- ``bound``: only that e is at most d on average; the figure is d, the interval starts at 0.

Labels of known units show e itself, a common bias included. Squares are pooled with the halves of squared differences,
classes by their likelihood; for the other relations, whose intervals are those of a range, the range ends where either
kind of labels ends it. Where second opinions and known units contradict each other (their 99 % intervals have nothing
in common), reviewers share a bias, and known units alone count.

What no figure here corrects: known units that are no random sample. Adjudicated units were chosen because two labels
differed, so their errors are larger than others'; leave them out, or weight them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from models.agreement.bounds import LEVEL, Bounds, check_level
from models.agreement.means import Indices, Sample, codes, mean_bounds, sample
from models.agreement.rates import Counts, error_rate_bounds, jeffreys
from models.agreement.relation import OF_CLASSES, Relation

Method = Literal["none", "second opinions", "known units", "second opinions and known units", "contradiction"]
"""Labels that a figure rests on; ``contradiction``: known units alone, since second opinions contradict them."""


@dataclass(frozen=True)
class Share:
    """Error as a share of the difference of two labels."""

    lower: float
    mean: float
    upper: float


SHARES = {
    "squared": Share(0.5, 0.5, 0.5),
    "distance": Share(0.5, math.sqrt(0.5), 1.0),
    "overlap": Share(1 / 3, math.sqrt(0.5), 1.0),
    "bound": Share(0.0, 1.0, 1.0),
}
"""Share by relation; the error of classes is no fixed share."""


_LARGEST_DIFFERENCE = {"squared": 4.0, "distance": 2.0}
"""Largest difference of two labels, as a multiple of the largest error: both may err in opposite directions."""
_CONTRADICTION_LEVEL = 0.99
"""Level of the intervals that show a contradiction: high, so that chance seldom does, which would cost coverage."""
_FEWEST_TRIALS = 1e-3  # of a rate whose variance is unknown: its interval is nearly the whole range


@dataclass(frozen=True)
class HumanError(Bounds):
    """Expected error of one reviewer's label, in the head's error unit, with its interval."""

    n: int
    """Number of pairs and of labels of known units."""
    method: Method


def human_error(
    relation: Relation,
    differences: ArrayLike,
    known_errors: ArrayLike = (),
    *,
    classes: int | None = None,
    units: ArrayLike | None = None,
    known_units: ArrayLike | None = None,
    reviewers: ArrayLike | None = None,
    known_reviewers: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    known_weights: ArrayLike | None = None,
    largest: float = math.inf,
    level: float = LEVEL,
) -> HumanError:
    """Estimate the expected error of one reviewer's label.

    Args:
        relation: relation of the difference of two labels to the error of one; see the module.
        differences: difference of the two labels of each pair, as ``LabelRule.difference`` returns it [P]; NaN is
            left out.
        known_errors: difference from the true label of each label of a known unit [K].
        classes: number of classes, for ``class`` and ``uneven_class`` alone.
        units: unit of each pair [P]; pairs of one unit are one cluster. None: each pair has its own.
        known_units: unit of each label of a known unit [K].
        reviewers: both reviewers of each pair [P, 2]. None: the figure is of the mixture of reviewers who gave these
            labels. With reviewers, the interval is for the population that they are a sample of: wide for fewer than
            ten, and the whole range for fewer than three.
        known_reviewers: reviewer of each label of a known unit [K]; needed with ``reviewers`` if there are such labels.
        weights: number of labels that each pair represents, e.g. 1 / propensity [P].
        known_weights: the same of labels of known units [K].
        largest: largest possible error; the interval ends there. 1 for classes.
        level: probability that the interval holds the error.

    Raises:
        ValueError: an argument out of range; the message names it.
    """
    check_level(level)
    if relation not in get_args(Relation):
        raise ValueError(f"relation = {relation!r}: must be one of {', '.join(get_args(Relation))}")
    if relation in OF_CLASSES:
        largest = 1.0
    pair_clusters, known_clusters = _clusters(units, np.size(differences), known_units, np.size(known_errors))
    pair_people, known_people = _people(reviewers, known_reviewers, np.size(differences), np.size(known_errors))
    pairs = sample(
        *("differences", differences),
        clusters=pair_clusters,
        weights=weights,
        reviewers=pair_people,
        largest=_LARGEST_DIFFERENCE.get(relation, 1.0) * largest,
    )
    known = sample(
        *("known_errors", known_errors),
        clusters=known_clusters,
        weights=known_weights,
        reviewers=known_people,
        largest=largest,
    )
    if not len(pairs) and not len(known):
        return HumanError(math.nan, 0.0, largest, 0, "none")
    bounds, method = _estimate(_Labels(relation, pairs, known, classes, largest), level)
    return HumanError(bounds.mean, bounds.lower, bounds.upper, len(pairs) + len(known), method)


@dataclass(frozen=True)
class _Labels:
    """Samples of one head's labels."""

    relation: Relation
    pairs: Sample
    known: Sample
    classes: int | None
    largest: float

    def alone(self, *, pairs: bool, level: float) -> Bounds:
        """Return the bounds from the second opinions alone, or from the known units alone."""
        if self.relation in OF_CLASSES:
            empty, own = Counts(0.0, 0.0), _counts(self.pairs if pairs else self.known, level)
            if not pairs:
                return self.error_rate(empty, own, level)
            even = self.error_rate(own, empty, level)
            if self.relation == "class":
                return even
            apart = jeffreys(own.events, own.trials, level)
            return Bounds(even.mean, apart.lower / 2, apart.upper)
        if not pairs:
            return mean_bounds(self.known, largest=self.largest, level=level)
        share = SHARES[self.relation]
        difference = mean_bounds(self.pairs, largest=self.largest / share.upper, level=level)
        lower = share.lower * difference.lower
        return Bounds(share.mean * difference.mean, lower, share.upper * difference.upper)

    def error_rate(self, pairs: Counts, known: Counts, level: float) -> Bounds:
        if self.classes is None:
            raise ValueError(f"classes: must be the head's number of classes for {self.relation!r}; got none")
        return error_rate_bounds(pairs, known, self.classes, level)


def _estimate(labels: _Labels, level: float) -> tuple[Bounds, Method]:
    if not len(labels.known):
        return labels.alone(pairs=True, level=level), "second opinions"
    direct = labels.alone(pairs=False, level=level)
    if not len(labels.pairs):
        return direct, "known units"
    one, other = (labels.alone(pairs=pairs, level=max(level, _CONTRADICTION_LEVEL)) for pairs in (True, False))
    if max(one.lower, other.lower) > min(one.upper, other.upper):
        return direct, "contradiction"
    both: Method = "second opinions and known units"
    if labels.relation == "class":
        return labels.error_rate(_counts(labels.pairs, level), _counts(labels.known, level), level), both
    if labels.relation == "squared":
        return mean_bounds(_pooled(labels.pairs, labels.known), largest=labels.largest, level=level), both
    # each misses with at most half the probability, so that both together hold the error with ``level``
    strict = (1 + level) / 2
    one, other = (labels.alone(pairs=pairs, level=strict) for pairs in (True, False))
    lower, upper = max(one.lower, other.lower), min(one.upper, other.upper)
    return Bounds(min(max(other.mean, lower), upper), lower, upper), both


def _pooled(pairs: Sample, known: Sample) -> Sample:
    """Return halves of squared differences and squared errors as one sample, each with an average weight of 1."""
    reviewers = None
    if pairs.reviewers is not None and known.reviewers is not None:
        reviewers = np.concatenate([pairs.reviewers, np.pad(known.reviewers, ((0, 0), (0, 1)), constant_values=-1)])
    return Sample(
        np.concatenate([SHARES["squared"].mean * pairs.values, known.values]),
        np.concatenate([pairs.weights / pairs.weights.mean(), known.weights / known.weights.mean()]),
        np.concatenate([pairs.clusters, known.clusters]),
        reviewers,
    )


def _counts(labels: Sample, level: float) -> Counts:
    """Return the number of independent labels that tell as much (Korn & Graubard 1998, Survey Methodology 24:193)."""
    if not len(labels):
        return Counts(0.0, 0.0)
    rate, trials = labels.mean, labels.independent
    if labels.clustered:
        spread = labels.spread(level)
        if spread.freedom < 1:
            trials = 0.0
        elif spread.variance > 0:
            narrower = float(ndtri((1 + level) / 2) / stdtrit(spread.freedom, (1 + level) / 2))
            trials = min(labels.independent, rate * (1 - rate) / spread.variance * narrower**2)
    trials = max(trials, _FEWEST_TRIALS)
    return Counts(rate * trials, trials)


def _clusters(
    units: ArrayLike | None, pairs: int, known_units: ArrayLike | None, known: int
) -> tuple[Indices, Indices]:
    """Return the cluster of each pair [P] and of each label of a known unit [K]: those of one unit share theirs."""
    if units is not None and known_units is not None:
        first, second = codes(units, known_units)
        return first, second
    first = np.arange(pairs) if units is None else codes(units)[0]
    second = np.arange(known) if known_units is None else codes(known_units)[0]
    return first, second + int(first.max(initial=-1)) + 1


def _people(
    reviewers: ArrayLike | None, known_reviewers: ArrayLike | None, pairs: int, known: int
) -> tuple[Indices | None, Indices | None]:
    """Return indices of the reviewers of each pair [P, 2] and of each label of a known unit [K, 1]; None without.

    Raises:
        ValueError: reviewers of only a part of the labels, or of another shape.
    """
    if reviewers is None and known_reviewers is None:
        return None, None
    first = np.empty((0, 2), np.intp) if reviewers is None else np.asarray(reviewers)
    second = np.empty(0, np.intp) if known_reviewers is None else np.asarray(known_reviewers)
    if first.shape != (pairs, 2) or second.shape != (known,):
        raise ValueError(
            f"reviewers and known_reviewers have the shapes {list(first.shape)} and {list(second.shape)}: must be "
            f"[{pairs}, 2] and [{known}], the reviewers of all labels, or both None"
        )
    one, other = codes(first, second)
    return one, other[:, None]
