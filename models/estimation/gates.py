"""Validity gates of a window, with a reason for each condition that makes its figures wrong or useless.

Estimates from few, heavily weighted or wrongly weighted labels cannot be distinguished from others by their
value. The reasons have stable words that alerts can name.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.estimation.nonresponse import COMPLETE, Completion, pooled
from models.estimation.window import Doubles, Mask, Window

LEAST_ESS = 200.0
MOST_SHARE = 0.05
_DEVIATIONS = 5.0  # of the number of labels from what the propensities say
_BINS = 10
_MANY = 3.5  # standard errors if many bins are tested
_NEIGHBOURS = 5  # strata of delays whose labels are judged together
_PLANES = {True: "answered", False: "deferred"}


@dataclass(frozen=True, slots=True)
class Reason:
    """Reason why figures are not valid."""

    word: str
    """Word of the reason: ``no_units``, ``no_labels``, ``few_labels``, ``heavy_label``, ``positivity``, ``mismatch``,
    ``incomplete``, ``gap`` or ``young``.
    """
    text: str


@dataclass(frozen=True)
class Gates:
    """Result of the gates."""

    reasons: tuple[Reason, ...]
    ess: float
    """Effective number of the randomly drawn labels, weighted as in R-AUC (Kish 1965); of all labels if none was drawn
    at random."""
    heaviest: float
    """Largest share of one such label in the sum of all labels' weights."""

    @property
    def valid(self) -> bool:
        return not self.reasons

    @property
    def texts(self) -> list[str]:
        return [f"{reason.word}: {reason.text}" for reason in self.reasons]


def gates(
    window: Window, coefficients: Doubles, completions: tuple[Completion, ...] = (), *, lost: int = 0, young: int = 0
) -> Gates:
    """Check a window.

    Args:
        coefficients: coefficients of R-AUC by unit [N], in any scale.
        completions: results of ``nonresponse.completion``.
        lost: units that were decided but are not in the window, such as those of a gap in the log.
        young: units left out because labels of their age have not arrived yet.
    """
    usable = window.usable
    ess, heaviest, sampled = _sizes(window, coefficients, usable)
    if not len(window):
        return Gates((*empty_reasons(lost, young), *_incomplete(completions)), 0.0, 0.0)
    planes = [window.answered == answered for answered in _PLANES]
    units = [int(plane.sum()) for plane in planes]
    labels = [int((usable & plane).sum()) for plane in planes]
    reasons = label_reasons(lost, units, labels, ess if sampled else None)
    if heaviest > MOST_SHARE:
        text = f"one label carries {heaviest:.1%} of all weight; at most {MOST_SHARE:.0%} is trusted: audit more evenly"
        reasons.append(Reason("heavy_label", text))
    reasons += _positivity(window)
    reasons += _mismatch(window, usable)
    reasons += _incomplete(completions)
    return Gates(tuple(reasons), ess, heaviest)


def empty_reasons(lost: int, young: int) -> list[Reason]:
    """Return the reasons of a window without mature units."""
    why = Reason("no_units", "the window is empty")
    if young:
        why = Reason("young", f"all {young} units are too young for labels to have come")
    return [*_gap(lost), why]


def label_reasons(lost: int, units: Sequence[int], labels: Sequence[int], ess: float | None) -> list[Reason]:
    """Return the reasons by numbers of units and labels.

    Args:
        units: answered and deferred units.
        labels: their usable labels.
        ess: effective number of randomly drawn labels; None if none was drawn at random.
    """
    reasons = _gap(lost)
    for word, count, there in zip(_PLANES.values(), units, labels, strict=True):
        if count and not there:
            text = f"none of the {count} {word} units has a label; audit some of them at random"
            reasons.append(Reason("no_labels", text))
    if ess is not None and ess < LEAST_ESS and sum(labels) < sum(units):
        text = f"the randomly chosen labels count as {ess:.0f}; at least {LEAST_ESS:.0f} are needed: audit more or wait"
        reasons.append(Reason("few_labels", text))
    return reasons


def _gap(lost: int) -> list[Reason]:
    text = f"{lost} units were decided but are not logged; the window does not count them"
    return [Reason("gap", text)] if lost > 0 else []


def _sizes(window: Window, coefficients: Doubles, usable: Mask) -> tuple[float, float, int]:
    if not usable.any():
        return 0.0, 0.0, 0
    e = window.effective[usable]
    chance = e < 1
    weight = np.abs(coefficients[usable]) / e
    chosen = weight[chance] if chance.any() else weight
    square = float(chosen @ chosen)
    ess = float(chosen.sum()) ** 2 / square if square > 0 else 0.0
    whole = float(weight.sum())
    heaviest = float(weight[chance].max() / whole) if chance.any() and whole > 0 else 0.0
    return ess, heaviest, int(chance.sum())


def _positivity(window: Window) -> list[Reason]:
    """Check that every unit had a positive probability of a label, and no unit without one has a label."""
    propensity = window.propensity
    missing = int(np.isnan(propensity).sum())
    outside = int(((propensity < 0) | (propensity > 1)).sum())
    never = propensity == 0
    reasons = []
    if missing:
        text = f"{missing} units have no propensity; log with each decision how probable a request was"
        reasons.append(Reason("positivity", text))
    if outside:
        reasons.append(Reason("positivity", f"{outside} propensities are below 0 or above 1; a probability is needed"))
    for answered, word in _PLANES.items():
        count = int((never & (window.answered == answered) & ~window.labelled).sum())
        if count:
            text = f"{count} {word} units had no chance of a label (propensity 0): nothing can stand for them"
            reasons.append(Reason("positivity", text))
    impossible = int((never & window.labelled).sum())
    if impossible:
        text = f"{impossible} labels belong to units of propensity 0; the propensities are not those that were drawn by"
        reasons.append(Reason("mismatch", text))
    return reasons


def _mismatch(window: Window, usable: Mask) -> list[Reason]:
    """Check that there are as many labels as the propensities predict, in total and by uncertainty and by propensity.

    With delays only a surplus contradicts the propensities: missing labels may be late, or never arrive.
    """
    known, requested = window.known_requests
    open_draw = (window.propensity > 0) & (window.propensity < 1)
    for answered, word in _PLANES.items():
        units = np.flatnonzero(open_draw & (window.answered == answered) & (~known | (window.requested is not None)))
        if not len(units):
            continue
        drawn = requested[units] if window.requested is not None else usable[units] | window.drawn_again[units]
        late = window.observation is not None and window.requested is None
        p = window.propensity[units]
        for name, key in (("uncertainty", window.uncertainty[units]), ("propensity", p)):
            order = np.argsort(key, kind="stable")
            for bins in (1, _BINS):
                if bins > 1 and float(p.sum()) < 100 * bins:
                    continue
                starts = np.arange(bins) * len(units) // bins
                if name == "propensity":  # ties belong together: one rate is one bin
                    starts = np.unique(np.searchsorted(key[order], key[order][starts], side="left"))
                expected = np.add.reduceat(p[order], starts)
                variance = np.add.reduceat((p * (1 - p))[order], starts)
                excess = np.add.reduceat(drawn[order].astype(np.float64), starts) - expected
                score = excess / np.sqrt(np.maximum(variance, 1.0))
                worst = int(np.argmax(score if late else np.abs(score)))
                if (score if late else np.abs(score))[worst] > _DEVIATIONS:
                    observed = expected[worst] + excess[worst]
                    text = (
                        f"{observed:.0f} {word} units were labelled by chance where the propensities say "
                        f"{expected[worst]:.0f}; they are not those that were drawn by, or labels are lost"
                    )
                    return [Reason("mismatch", text)]
    return []


def _incomplete(completions: tuple[Completion, ...]) -> list[Reason]:
    reasons = []
    for answered, word in _PLANES.items():
        own = tuple(part for part in completions if part.answered == answered)
        for known in (True, False):
            settled = tuple(part for part in own if part.settled and part.known == known)
            errors = _MANY if known else _DEVIATIONS  # the number drawn is random, too
            short = [part for part in (*settled, pooled(settled)) if part is not None and part.short(errors)]
            if short:
                reasons.append(_short(min(short, key=lambda part: part.share), word))
        waiting = tuple(part for part in own if not part.settled)
        # few requests per bin: neighbours together, and all
        parts = (pooled(waiting[start : start + _NEIGHBOURS]) for start in range(0, len(waiting), _NEIGHBOURS))
        whole = pooled(waiting)
        drying = [part for part in parts if part is not None and part.short(_MANY)]
        drying += [whole] if whole is not None and (whole.short() or whole.unclear) else []
        if drying:
            share = min(part.share for part in drying)
            text = (
                f"labels of {word} units dry up with {share:.1%} there; is the rest late, or "
                "will it never come? Review them, or judge a window that is old enough"
            )
            reasons.append(Reason("incomplete", text))
    return reasons


def _short(worst: Completion, word: str) -> Reason:
    if not worst.known:
        text = (
            f"only {worst.share:.1%} of the labels that the propensities of {word} units promise are there; they are "
            "not those that were drawn by, or labels are lost"
        )
        return Reason("mismatch", text)
    text = (
        f"of the labels requested for {word} units {worst.share:.1%} came where fewest did; below {COMPLETE:.0%} the "
        "rest are not like them: review the rest, or a random part with its propensity"
    )
    return Reason("incomplete", text)
