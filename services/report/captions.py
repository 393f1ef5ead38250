"""Sentences of the report: the result, why a figure is missing, and the conventions."""

import math
from collections.abc import Collection, Sequence

import numpy as np

from models.assessment.figures import Rules
from models.evaluation.evaluate import Evaluation
from models.evaluation.unit_errors import UnitErrors
from services.report import glossary
from services.report.curves import OPERATING_POINT, Curves
from services.report.number_format import count, numeral, percent, shown, with_unit

DOMAINS = {"full": "All units", "in": "In-domain", "shifted": "Shifted"}
NEEDS_THE_LABEL = "needs the label: not a deferral measure"
FEWEST = 20  # with fewer units, the most certain 95 % are all of them


def why_missing(name: str, judged: UnitErrors) -> str:
    """Return the reason why a figure does not exist."""
    if name.startswith("f1_a"):
        if judged.error.acceptable is None:
            return "no acceptable limit is named for this error"
        return "no error of these units is acceptable"
    if name in ("prr", "error", "r_auc", "aurc", "e_aurc", "augrc") and np.isinf(judged.error.values).any():
        return "an error is infinite"
    if name == "prr":
        return "the errors leave nothing to rank: one unit only, or all errors equal"
    if name in ("roc_auc", "aupr"):
        return "this needs units in-domain and shifted side by side"
    return "not defined for these units"


def mean_error(judged: UnitErrors) -> str:
    """Return the name of the headline figure, such as “mean squared error”."""
    return glossary.mean_error(judged.error_name)


def axis(name: str, unit: str) -> str:
    """Return a quantity and its unit, for an axis or a heading."""
    return f"{name}, {shown(unit)}" if shown(unit) else name


def result(evaluation: Evaluation, curves: Curves) -> str:
    """Return the result of a file in one sentence."""
    judged, figures = evaluation.judged, evaluation.full.headline
    unit = judged.error.unit
    name, before = mean_error(judged), numeral(figures.error, unit)
    units = count_units(figures.n)
    if figures.n < FEWEST:
        return f"The {name} of {units} is {with_unit(figures.error, unit)}: too few to defer one in twenty."
    answered = mean_of_answered(curves)
    ends = f"from {before} to {with_unit(answered, unit)}"
    change = "cuts" if answered < figures.error else "raises"
    if numeral(answered, unit) == before:
        change, ends = "leaves", f"at {with_unit(figures.error, unit)}"
    sentence = f"Answering the most certain 95\u202f% of {units} {change} the {name} {ends}"
    if math.isnan(figures.prr) and math.isinf(figures.error):
        return f"{sentence}; an error is infinite, so no area tells rankings apart."
    if math.isnan(figures.prr):
        return f"{sentence}; all errors are equal, so there is nothing to rank."
    if figures.prr < 0:
        return f"{sentence}; the ranking is worse than random (PRR {numeral(figures.prr, '1')})."
    return f"{sentence}; ranking closes {percent(figures.prr)} of the gap between random and perfect."


def verdict(evaluations: Sequence[Evaluation], names: Sequence[str]) -> str:
    """Return the sentence that names the file with the smallest area under the error-retention curve."""
    areas = [evaluation.full.headline.r_auc for evaluation in evaluations]
    best = min(range(len(areas)), key=lambda place: areas[place])
    others = [area for place, area in enumerate(areas) if place != best]
    unit = evaluations[best].judged.error.unit
    if min(others) == areas[best]:
        return f"The smallest area under the error-retention curve, {with_unit(areas[best], unit)}, is shared."
    least = f"{names[best]} has the smallest area under the error-retention curve"
    return f"Of {len(areas)} files, {least}: {with_unit(areas[best], unit)}."


def no_f1(judged: UnitErrors) -> str:
    """Return the sentence with the reason why there is no F1-retention."""
    if judged.error.acceptable is None:
        return "There is no F1-retention: the papers name no acceptable limit for this error."
    return "There is no F1-retention: no error of these units is acceptable."


def count_units(n: int) -> str:
    """Return a number of units in words."""
    return f"{count(n)} unit{'' if n == 1 else 's'}"


def mean_of_answered(curves: Curves) -> float:
    """Return the mean error of the most certain 95 %, in the error's unit; the curve divides by all units."""
    return curves.error_at_95 / OPERATING_POINT


def conventions(rules: Rules, figures: Collection[str]) -> list[str]:
    """Return sentences on the conventions of this report's figures, including those of some tasks only."""
    convention, area = rules.convention, rules.area
    edge = "<" if convention.strict_limit else "≤"
    axis = "k / n" if convention.f_axis_to_one else "k / (n + 1), which ends just below 1"
    ties = "share their acceptability" if convention.f_ties_share else "count the later input row as retained first"
    areas = {"mean": "the mean of the n + 1 points of the curve", "trapezoid": "by trapezoids over 0 to 1"}
    source = "the released Shifts code" if convention.name == "official" else "the text of the Shifts papers"
    return [
        f"Where released code and papers differ, this report follows {source} (convention “{convention.name}”).",
        f"An error is acceptable if it is {edge} the limit.",
        f"Areas under error-retention curves are {areas.get(area, area)}.",
        f"F1-retention is drawn and integrated over {axis}; units of equal uncertainty {ties}.",
        "In error-retention curves units of equal uncertainty "
        + ("share their errors." if rules.groups_ties else "keep the order of the file."),
        "Retention curves divide by all units: what is deferred counts as answered without error.",
        "Without an uncertainty (NaN) a unit ranks as the least certain.",
        *(text for name, text in glossary.of_convention(convention).items() if name in figures),
    ]
