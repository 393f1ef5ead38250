"""Error of the whole system: the model's where it answers, a person's where it defers.

With the share q of answered units, the model's error m on them and a person's error h on the others,

    system error = q m + (1 - q) h.

The error of the answered part is measured on labels that reviewers gave, so it contains their error too. M is measured:

- ``squared``: independent errors add, M = m + h, so m = M - h (Fuller 1987, Measurement Error Models, section 1.1).
- ``class``: model and reviewer that err independently, on any of k - 1 wrong classes alike, disagree with the
  probability M = m + h - m h k / (k - 1), so m = (M - h) / (1 - h k / (k - 1)) (Rogan & Gladen 1978, American Journal
  of Epidemiology 107:71, for k = 2).
- all others: m is at least M - h by the triangle inequality, and at most M if the reviewer's error is independent and
  without bias. The figure uses M, so that the system's error is not understated; the interval starts where M - h does.

The subtracted h is the error of a label of an answered unit, taken to be that of a deferred one. Model and reviewers
that err together, on the same units and alike, agree more often than the truth allows: then m is larger than these
figures, and only known units show it.
"""

from __future__ import annotations

import math
from typing import Literal

from models.agreement.bounds import Bounds, square_and_add
from models.agreement.relation import OF_CLASSES, Relation

Reference = Literal["reviewer", "truth"]
_LEAST_AGREEMENT = 1e-9  # beyond chance; reviewers who guess have none


def model_error(measured: float, human: float, relation: Relation, classes: int | None = None) -> float:
    """Return the model's error behind one that was measured on reviewers' labels.

    It is below 0 where the reviewers' error alone is larger than the measured one, and far below for reviewers of a
    class who guess. Estimates stay unbiased that way; cut them at 0 to show them.
    """
    if relation != "class":
        return measured - human
    if classes is None or classes < 2:
        raise ValueError(f"classes = {classes}: must be the head's number of classes, at least 2")
    return (measured - human) / max(1 - human * classes / (classes - 1), _LEAST_AGREEMENT)


def system_error(
    share: float,
    answered: Bounds,
    human: Bounds,
    *,
    relation: Relation,
    classes: int | None = None,
    reference: Reference = "reviewer",
    largest: float = math.inf,
) -> Bounds:
    """Return the expected error of an answer of the whole system.

    The interval is that of ``square_and_add`` for independent estimates, with the level that both arguments' intervals
    have. Second opinions on audited units enter M and h: with most units answered, the interval is then slightly too
    wide, since errors of these labels raise M and lower M - h.

    Args:
        share: share of the units that the model answers, q.
        answered: measured error of the answered part, M, in the head's error unit; unused if ``share`` is 0.
        human: error of a person's label, h; unused if ``share`` is 1 and ``reference`` is ``truth``.
        relation: as for ``human_error``.
        classes: number of classes, for ``class`` alone; with ``uneven_class`` the model's part is a range.
        reference: ``truth`` if M was measured on true labels, such as a census: then m = M.
        largest: largest possible error.

    Raises:
        ValueError: a share outside 0 to 1, or no number of classes.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share = {share:g}: must be from 0 to 1, the share of the units that the model answers")
    if relation in OF_CLASSES:
        largest = 1.0
    if not share:
        return Bounds(human.mean, human.lower, min(human.upper, largest))

    def uncorrected(measured: float, person: float) -> float:
        return share * measured + _times(1 - share, person)

    def corrected(measured: float, person: float) -> float:
        if relation == "class":
            return share * model_error(measured, person, relation, classes) + _times(1 - share, person)
        # one term, since a person's error without an upper end would be infinity less infinity
        return share * measured + _times(1 - 2 * share, person)

    if reference == "truth":
        bounds = square_and_add(uncorrected, answered, human)
    elif relation in ("squared", "class"):
        bounds = square_and_add(corrected, answered, human)
    else:
        upper, lower = square_and_add(uncorrected, answered, human), square_and_add(corrected, answered, human)
        bounds = Bounds(upper.mean, lower.lower, upper.upper)
    # the model's error is at least 0, so the system's at least its deferred part
    mean = max(bounds.mean, _times(1 - share, human.mean))
    return Bounds(mean, max(bounds.lower, 0.0), max(mean, min(bounds.upper, largest)))


def _times(share: float, error: float) -> float:
    """Return the product, 0 for a share of 0 of an error without an upper end."""
    return share * error if share else 0.0
