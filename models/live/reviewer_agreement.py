"""Agreement of the reviewers of one head: overall, by pair of reviewers, and by reviewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from models.agreement.chance import alpha_measure, kappa_measure
from models.agreement.numbers import difference_measure, icc_measure
from models.agreement.pairs import Agreement, LabelPairs, Measure, by_pair, by_reviewer
from models.agreement.relation import OF_CLASSES, Relation
from models.live.reviewers import Opinion


@dataclass(frozen=True)
class AgreementFigures:
    """Measures of agreement of second opinions with 95 % intervals; create with ``agreement_figures``.

    Measures are ``kappa`` (Cohen) and ``alpha`` (Krippendorff) of classes, ``icc`` and ``alpha`` of numbers, and of all
    labels the mean ``difference`` of two, see ``models.label_errors.LabelRule.difference``: for masks one minus Dice.
    """

    measures: Mapping[str, Measure]
    pairs: LabelPairs
    overall: Mapping[str, Agreement]
    """Agreement of all reviewers by measure."""

    @cached_property
    def by_pair(self) -> dict[tuple[str, str], dict[str, Agreement]]:
        """Agreement of each two reviewers by measure, in order of their names."""
        figures: dict[tuple[str, str], dict[str, Agreement]] = {}
        for name, measure in self.measures.items():
            for (one, other), own in by_pair(self.pairs, partial(_measured, measure)).items():
                figures.setdefault((str(one), str(other)), {})[name] = own
        return figures

    @cached_property
    def by_reviewer(self) -> dict[str, dict[str, Agreement]]:
        """Agreement of each reviewer with all others by measure, in order of their names."""
        figures: dict[str, dict[str, Agreement]] = {}
        for name, measure in self.measures.items():
            for reviewer, own in by_reviewer(self.pairs, partial(_measured, measure)).items():
                figures.setdefault(str(reviewer), {})[name] = own
        return figures


def agreement_figures(opinions: Sequence[Opinion], relation: Relation | None, largest: float) -> AgreementFigures:
    """Return the agreement of second opinions.

    Args:
        opinions: comparable second opinions.
        relation: relation of the head's differences to its error, which tells classes from numbers.
        largest: largest possible difference.
    """
    pairs = _pairs(opinions)
    measures: dict[str, Measure] = {}
    if opinions and pairs.first_value is not None and relation in OF_CLASSES:
        measures = {"kappa": kappa_measure, "alpha": alpha_measure}
    elif opinions and pairs.first_value is not None:
        measures = {"icc": icc_measure, "alpha": partial(alpha_measure, metric="interval")}
    if opinions:
        measures["difference"] = partial(difference_measure, largest=largest)
    return AgreementFigures(measures, pairs, {name: _measured(measure, pairs) for name, measure in measures.items()})


def _measured(measure: Measure, pairs: LabelPairs) -> Agreement:
    with np.errstate(all="ignore"):  # figures that do not exist are NaN
        return measure(pairs)


def _pairs(opinions: Sequence[Opinion]) -> LabelPairs:
    numeric = all(own.value is not None and own.other_value is not None for own in opinions)
    return LabelPairs(
        unit=np.array([own.unit_id for own in opinions]),
        first=np.array([own.other for own in opinions]),
        second=np.array([own.reviewer for own in opinions]),
        difference=np.array([own.difference for own in opinions], np.float64),
        first_value=np.array([own.other_value for own in opinions], np.float64) if numeric else None,
        second_value=np.array([own.value for own in opinions], np.float64) if numeric else None,
    )
