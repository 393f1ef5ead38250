"""Figures of the reviewers of one head, and the error of the whole system that follows from them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from models.agreement.bounds import Bounds
from models.agreement.human_error import HumanError, human_error
from models.agreement.relation import OF_CLASSES, Relation
from models.agreement.system_error import system_error
from models.agreement.throughput import Throughput, throughput, throughput_by_reviewer
from models.estimation.intervals import Estimate
from models.head import Head
from models.label_errors import label_rule
from models.live.reviewer_agreement import AgreementFigures, agreement_figures
from models.live.reviewers import HeadKey, Opinion, Review, ReviewerRecords
from models.live.units import CENSUS

PACE_SECONDS = 86_400.0
"""Span of time of the figures of pace."""
_AGEING_SECONDS = 300.0
"""Time after which figures of the last day are computed anew without new labels."""
_DUTY = 0.02
"""Share of a core for new figures of one head."""
_WIDTH = 2 * 1.959964
"""Width of a 95 % interval of a normal estimate, in standard errors."""


@dataclass(frozen=True, slots=True)
class ReviewedHead:
    """Head whose labels reviewers give."""

    key: HeadKey
    error_unit: str
    relation: Relation | None
    """See ``models.label_errors.LabelRule.relation``."""
    classes: int | None
    largest: float
    """Largest possible error, in the error's unit."""

    @classmethod
    def of(cls, key: HeadKey, head: Head) -> ReviewedHead:
        """Return the properties of a head.

        Raises:
            LookupError: its labels are not judged.
        """
        rule = label_rule(head)
        return cls(key, head.error_unit, rule.relation, head.classes, rule.largest)

    @property
    def largest_difference(self) -> float:
        """Largest possible difference of two labels, in its own unit."""
        return self.largest if self.relation in (*OF_CLASSES, "overlap") else math.inf

    @property
    def difference_unit(self) -> str:
        """Unit of the difference of two labels; empty where it is not that of the error."""
        return "" if self.relation is None else self.error_unit

    def human_error(self, opinions: Sequence[Opinion]) -> HumanError | None:
        """Return the expected error of a reviewer's label; None: opinions show nothing of it, or there are none."""
        if self.relation is None or not opinions:
            return None
        pairs, known = [own for own in opinions if not own.known], [own for own in opinions if own.known]
        return human_error(
            self.relation,
            [own.difference for own in pairs],
            [own.difference for own in known],
            classes=self.classes,
            units=[own.unit_id for own in pairs],
            known_units=[own.unit_id for own in known],
            largest=self.largest,
        )

    def system_error(
        self, share: float, answered: Estimate | None, human: HumanError | None, source: str
    ) -> Estimate | None:
        """Return the mean error of all answers, by the model or, for deferred units, by a reviewer; None if unknown.

        Args:
            share: share of the units that the model answered.
            answered: mean error of the answered units; None without their labels.
            source: source of the labels. Census labels are the truth; others have a reviewer's error themselves.
        """
        if self.relation is None or human is None or (share > 0 and answered is None):
            return None
        none = Bounds(math.nan, math.nan, math.nan)
        bounds = system_error(
            min(share, 1.0),  # sums of weights may be a rounding above
            none if answered is None else Bounds(answered.estimate, answered.low, answered.high),
            human,
            relation=self.relation,
            classes=self.classes,
            reference="truth" if source == CENSUS else "reviewer",
            largest=self.largest,
        )
        return Estimate(bounds.mean, (bounds.upper - bounds.lower) / _WIDTH, bounds.lower, bounds.upper)


@dataclass(frozen=True, slots=True)
class ReviewerFigures:
    """Figures of the reviewers of one head."""

    reviewed: ReviewedHead
    second_opinions: int
    known_units: int
    human_error: HumanError | None
    """Expected error of a reviewer's label, in the head's error unit; None if unknown."""
    agreement: AgreementFigures
    pace: Throughput
    """Labels of the last day, and the seconds that they took."""
    pace_by_reviewer: Mapping[str, Throughput]


def reviewer_figures(
    reviewed: ReviewedHead, opinions: Sequence[Opinion], reviews: Sequence[Review], now: float
) -> ReviewerFigures:
    """Return the figures of a head's reviewers.

    Args:
        opinions: opinions that are held, in any order.
        reviews: labels for requests that are held.
        now: end of the day of the figures of pace, seconds since 1970.
    """
    comparable = [own for own in opinions if not math.isnan(own.difference)]
    second = [own for own in comparable if not own.known]
    work = [*reviews, *(Review(own.reviewer, own.received, own.seconds) for own in opinions)]
    recent = [one for one in work if one.received > now - PACE_SECONDS]
    seconds, names = [one.seconds for one in recent], [one.reviewer for one in recent]
    by_reviewer = throughput_by_reviewer(seconds, names, PACE_SECONDS) if recent else {}
    return ReviewerFigures(
        reviewed=reviewed,
        second_opinions=len(second),
        known_units=len(comparable) - len(second),
        human_error=reviewed.human_error(comparable),
        agreement=agreement_figures(second, reviewed.relation, reviewed.largest_difference),
        pace=throughput(seconds, PACE_SECONDS),
        pace_by_reviewer={str(name): own for name, own in by_reviewer.items()},
    )


@dataclass(frozen=True, slots=True)
class _Kept:
    changes: int
    time: float
    """Seconds since 1970."""
    figures: ReviewerFigures
    again: float
    """Earliest time of the next computation, on the clock of the computations."""


class ReviewerEstimates:
    """Figures of all heads, computed anew after changes, with a small share of the time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            clock: clock of the duration of computations, seconds.
        """
        self._clock = clock
        self._kept: dict[HeadKey, _Kept] = {}

    def forget(self) -> None:
        """Drop all figures."""
        self._kept.clear()

    def estimate(
        self, heads: Mapping[HeadKey, ReviewedHead], records: Mapping[HeadKey, ReviewerRecords], now: float
    ) -> dict[HeadKey, ReviewerFigures]:
        """Return the figures of the heads that have records.

        Args:
            now: seconds since 1970.
        """
        for key in heads.keys() & records.keys():
            own, kept, begin = records[key], self._kept.get(key), self._clock()
            same = kept is not None and kept.changes == own.changes and now - kept.time < _AGEING_SECONDS
            if kept is None or (not same and begin >= kept.again):
                figures = reviewer_figures(heads[key], own.opinions, own.reviews, now)
                end = self._clock()
                self._kept[key] = _Kept(own.changes, now, figures, end + (end - begin) / _DUTY)
        return {key: kept.figures for key, kept in self._kept.items()}
