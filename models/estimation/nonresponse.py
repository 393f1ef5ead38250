"""Nonresponse: the share of requested labels that never arrive, and the correction by a second phase.

Requests are not skipped at random, so the remaining labels are not a random sample. Two measures help: to count the
missing ones (below 98 % of the requests, a label is not certain), and to draw a random part of them, which must be
labelled and represent the others (Hansen & Hurwitz 1946).
"""

from dataclasses import dataclass, replace

import numpy as np

from models.estimation.delay import Delayed
from models.estimation.window import BadWindow, Doubles, Mask, Window

COMPLETE = 0.98
_LEAST = 100  # least number of requests of a bin
_BINS = 10
_THIRD = 0.6  # standard errors that a missing third takes the score down by, for each one of its information; simulated
_SEEN = 3.5


@dataclass(frozen=True, slots=True)
class Completion:
    """Completion of the requests in a range of uncertainty."""

    answered: bool
    low: float
    """Lower end of the range, exclusive but for the lowest bin."""
    high: float
    requests: float
    share: float
    """Share of the requests that are labelled; the rest may still come if not ``settled``."""
    se: float
    settled: bool = True
    score: float = 0.0
    score_variance: float = 0.0
    known: bool = True
    """True if it is known which labels were requested; otherwise ``requests`` is the sum of the propensities."""

    def short(self, errors: float = 2.5) -> bool:
        """Return whether labels are missing, or stop arriving too early, by that many standard errors."""
        if self.settled:
            return self.share + errors * self.se < COMPLETE
        return self.score_variance > 0 and self.score < -errors * float(np.sqrt(self.score_variance))

    @property
    def unclear(self) -> bool:
        """True if too few labels have arrived to detect that a third of the requests will never be labelled."""
        if self.settled or self.share >= COMPLETE or not self.known:
            return False
        sure = float(np.sqrt(self.score_variance))
        return self.score < (_SEEN - _THIRD * sure) * sure


def completion(window: Window, delayed: Delayed | None = None) -> tuple[Completion, ...]:
    """Return the completion by uncertainty of the deferred and of the answered units whose draw is known.

    Args:
        delayed: the window corrected for delay; its strata are the bins then, and late labels are not missing.
    """
    if delayed is not None and delayed.law is not None:
        return _by_law(window, delayed)
    known, requested = window.known_requests
    # among units drawn again, those drawn with certainty must get a label; others represent the rest
    known = known & ~(window.drawn_again & (window.effective < 1))
    completions: list[Completion] = []
    for answered in (False, True):
        units = np.flatnonzero((window.answered == answered) & known & requested)
        if not len(units):
            continue
        order = units[np.argsort(window.uncertainty[units], kind="stable")]
        labelled = window.usable[order]
        for part in np.array_split(np.arange(len(order)), min(max(len(order) // _LEAST, 1), _BINS)):
            ends = window.uncertainty[order[part[[0, -1]]]]
            share = float(labelled[part].mean())
            completions.append(Completion(answered, float(ends[0]), float(ends[1]), len(part), share, 0.0))
    return tuple(completions)


def _by_law(window: Window, delayed: Delayed) -> tuple[Completion, ...]:
    law = delayed.law
    assert law is not None
    completions: list[Completion] = []
    for answered, cuts, laws in zip((True, False), law.cuts, law.laws, strict=True):
        if len(laws) != len(cuts) + 1:
            continue
        ends = np.concatenate([[-np.inf], cuts, [np.inf]])
        for low, high, stratum in zip(ends[:-1], ends[1:], laws, strict=True):
            completions.append(
                Completion(
                    *(answered, float(low), float(high), stratum.requests, stratum.completion, stratum.completion_se),
                    *(stratum.settled, stratum.score, stratum.score_variance, stratum.known),
                )
            )
    return tuple(completions)


def pooled(parts: tuple[Completion, ...]) -> Completion | None:
    """Return the completion of several bins together, all settled or all not; None without requests."""
    own = [part for part in parts if part.requests > 0]
    if not own:
        return None
    requests = sum(part.requests for part in own)
    return Completion(
        answered=own[0].answered,
        low=min(part.low for part in own),
        high=max(part.high for part in own),
        requests=requests,
        share=sum(part.requests * part.share for part in own) / requests,
        se=float(np.sqrt(sum((part.requests * part.se) ** 2 for part in own))) / requests,
        settled=all(part.settled for part in own),
        score=sum(part.score for part in own),
        score_variance=sum(part.score_variance for part in own),
        known=own[0].known,
    )


def second_phase(window: Window, skipped: Mask, propensity: Doubles) -> Window:
    """Return the window with its non-respondents represented by a random part of them.

    Requests that were skipped or expired are drawn again, each with a logged probability, and those drawn must be
    labelled: their labels count 1 / (first propensity times second).

    Args:
        skipped: requests that went without a label in the first phase [N].
        propensity: probability that each skipped unit was drawn in the second phase [N]; used only for skipped units.

    Raises:
        BadWindow: a skipped unit has no second propensity in (0, 1].
    """
    if skipped.shape != (len(window),) or propensity.shape != (len(window),):
        raise BadWindow(f"skipped {skipped.shape} and its propensity {propensity.shape} need the shape [{len(window)}]")
    wrong = skipped & ~((propensity > 0) & (propensity <= 1))
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise BadWindow(
            f"the second propensity of the skipped unit {place} is {propensity[place]:g}; a probability above 0 and at "
            "most 1 is needed"
        )
    return replace(window, second=np.where(skipped, propensity, np.nan))
