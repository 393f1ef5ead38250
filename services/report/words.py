"""What the report says: names and definitions of figures, the sentence of result, conventions in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import PurePath

from models.assessment.convention import Convention
from models.evaluation.evaluate import Evaluation
from models.evaluation.judged import Judged
from services.report.curves import Curves
from services.report.numerals import count, numeral, percent, shown, with_unit

DOMAINS = {"full": "All units", "in": "In-domain", "shifted": "Shifted"}
NEEDS_THE_LABEL = "needs the label: not a deferral measure"
LONGEST_LABEL = 34
FEWEST = 20  # of fewer units, the most certain 95 % are all of them


@dataclass(frozen=True, slots=True)
class Definition:
    """One figure in a line."""

    label: str
    better: str
    """``lower``, ``higher``, or nothing where neither is better."""
    meaning: str


DEFINITIONS: dict[str, Definition] = {
    "n": Definition("Units", "", "Predictions that are judged one by one."),
    "error": Definition("Mean error", "lower", "Mean error of all units, every one answered by the model."),
    "r_auc": Definition(
        "R-AUC", "lower", "Area under the error-retention curve: small errors, and large ones deferred first."
    ),
    "r_auc_random": Definition("R-AUC (random)", "", "The same for deferral at random: half the mean error."),
    "r_auc_optimal": Definition("R-AUC (optimal)", "", "The same for deferral in the order of the errors themselves."),
    "prr": Definition(
        "PRR",
        "higher",
        "Prediction rejection ratio: share of the way from random to optimal; negative is worse than random.",
    ),
    "f1_auc": Definition(
        "F1-AUC", "higher", "Area under the F1-retention curve; data that are acceptable throughout reach 0.614, not 1."
    ),
    "f1_auc_random": Definition("F1-AUC (random)", "", "The same for deferral at random."),
    "f1_auc_optimal": Definition("F1-AUC (optimal)", "", "The same where all acceptable units are retained first."),
    "f1_at_95": Definition(
        "F1 at 95 %", "higher", "F1 of “retained” as a prediction of “the error is acceptable”, with 95 % retained."
    ),
    "roc_auc": Definition(
        "ROC-AUC", "higher", "Probability that a shifted unit is more uncertain than one in-domain; 0.5 tells nothing."
    ),
    "aupr": Definition("AUPR", "higher", "Area under precision against recall of telling shifted units."),
    "aurc": Definition("AURC", "lower", "Mean, over all shares answered, of the mean error of what is answered."),
    "e_aurc": Definition("E-AURC", "lower", "AURC in excess of that of the optimal order."),
    "augrc": Definition("AUGRC", "lower", "Area under the error-retention curve by trapezoids, ties shared."),
}
"""Figures that every task has, in reading order."""
OWN: dict[str, Definition] = {
    "rmse": Definition("RMSE", "lower", "Root of the mean squared error."),
    "mae": Definition("MAE", "lower", "Mean absolute error."),
    "mape": Definition("MAPE", "lower", "Mean absolute error as a share of the true value."),
    "nll": Definition("NLL", "lower", "Mean negative log-likelihood of what was observed."),
    "ence": Definition("ENCE", "lower", "Mean, over bins by variance, of how far RMSE is from RMV, as a share of RMV."),
    "cv": Definition("Cv", "", "Coefficient of variation of the standard deviations: 0 says the same of every unit."),
    "lence": Definition("LENCE", "lower", "ln (ENCE + 1 / Cv): also punishes variances that are all alike."),
    "mwse": Definition("MWSE", "lower", "Mean of squared error times uncertainty."),
    "ll_fu": Definition(
        "LL-FU", "lower", "Mean log-likelihood Fisher uncertainty: a diagnostic, which needs the label."
    ),
    "r3": Definition("RMSE / RMV", "", "Over all rows: 1 is right, above it variances are too small."),
    "accuracy": Definition("Accuracy", "higher", "Share of units whose most likely class is right."),
    "macro_f1": Definition("Macro-F1", "higher", "Mean over classes of the harmonic mean of precision and recall."),
    "brier": Definition("Brier score", "lower", "Mean squared distance of probabilities from what was observed."),
    "majority_accuracy": Definition("Accuracy (majority)", "", "Of always answering the most frequent class."),
    "majority_macro_f1": Definition("Macro-F1 (majority)", "", "The same answer by macro-F1."),
}
"""Figures of some tasks."""
_LOWER = ("error", "rmse", "mse", "mae", "mape", "nll", "ade", "fde", "cnll")
_HIGHER = ("accuracy", "f1", "gleu", "bleu", "dsc", "dice", "precision", "recall", "auc")
_ACRONYMS = ("ADE", "FDE", "CNLL", "BLEU", "GLEU")


def definition(name: str) -> Definition:
    """Of a figure of any name; a task's own figures are told by the last words of theirs."""
    if name in DEFINITIONS or name in OWN:
        return (DEFINITIONS | OWN)[name]
    words = name.lower().split("_")
    better = "lower" if set(words) & set(_LOWER) else ""
    if not better and any(word.endswith(_HIGHER) for word in words):
        better = "higher"
    return Definition(spoken(name), better, "A figure of the task’s own.")


def why_missing(name: str, judged: Judged) -> str:
    """Why a figure does not exist."""
    if name.startswith("f1_a"):
        if judged.error.acceptable is None:
            return "no acceptable limit is named for this error"
        return "no error of these units is acceptable"
    if name == "prr":
        return "the errors leave nothing to rank: one unit only, or all errors equal"
    if name in ("roc_auc", "aupr"):
        return "this needs units in-domain and shifted side by side"
    return "not defined for these units"


def spoken(name: str) -> str:
    """A name of code as words."""
    words = clean(name).replace("_", " ").strip()
    if words.upper() in _ACRONYMS:
        return words.upper()
    return words[:1].upper() + words[1:]


def mean_error(judged: Judged) -> str:
    """What the headline figure is called, such as “mean squared error”."""
    name = clean(judged.error_name).replace("_", " ").strip()
    return name if name.lower().startswith("mean ") else f"mean {name}"


def axis(name: str, unit: str) -> str:
    """A quantity and its unit, for an axis or a heading."""
    return f"{name}, {shown(unit)}" if shown(unit) else name


def clean(text: str) -> str:
    """Text that every file format can hold: control characters and broken bytes become U+FFFD."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in whole)


def labels(sources: Sequence[str]) -> list[str]:
    """Short names of files, each different: the last parts of their paths, long ones cut in the middle."""
    paths = [PurePath(source) for source in sources]
    deepest = max((len(path.parts) for path in paths), default=1)
    for depth in range(1, deepest + 1):
        names = [str(PurePath(*path.parts[-depth:])) for path in paths]
        if len(set(names)) == len(set(sources)):
            break
    names = [clean(name) for name in names]
    chosen: list[str] = []
    for name in _shortened(names):
        number, unique = 2, name
        while unique in chosen:
            number, unique = number + 1, f"{name} ({number})"
        chosen.append(unique)
    return chosen


def result(evaluation: Evaluation, curves: Curves) -> str:
    """What the first file amounts to, in one sentence of plain words."""
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
    if math.isnan(figures.prr):
        return f"{sentence}; all errors are equal, so there is nothing to rank."
    if figures.prr < 0:
        return f"{sentence}; the ranking is worse than random (PRR {numeral(figures.prr, '1')})."
    return f"{sentence}; ranking closes {percent(figures.prr)} of the gap between random and perfect."


def verdict(evaluations: Sequence[Evaluation], names: Sequence[str]) -> str:
    """Which of several files ranks best with small errors."""
    areas = [one.full.headline.r_auc for one in evaluations]
    best = min(range(len(areas)), key=lambda place: areas[place])
    others = [area for place, area in enumerate(areas) if place != best]
    unit = evaluations[best].judged.error.unit
    if min(others) == areas[best]:
        return f"The smallest area under the error-retention curve, {with_unit(areas[best], unit)}, is shared."
    least = f"{names[best]} has the smallest area under the error-retention curve"
    return f"Of {len(areas)} files, {least}: {with_unit(areas[best], unit)}."


def count_units(n: int) -> str:
    """So many units."""
    return f"{count(n)} unit{'' if n == 1 else 's'}"


def mean_of_answered(curves: Curves) -> float:
    """Mean error of the most certain 95 %, in the error's unit; the curve divides by all units."""
    return curves.error_at_95 / 0.95


def convention_in_words(convention: Convention, area: str) -> list[str]:
    """How the figures of this report are taken."""
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
        "Retention curves divide by all units: what is deferred counts as answered without error.",
        "Without an uncertainty (NaN) a unit ranks as the least certain.",
    ]


def _shortened(names: Sequence[str]) -> list[str]:
    """Each name at most LONGEST_LABEL long; of names that would look the same, the common beginning is cut."""
    short = [_short(name) for name in names]
    for twin in {one for one in short if short.count(one) > 1}:
        places = [place for place, one in enumerate(short) if one == twin]
        letters = zip(*(names[place] for place in places), strict=False)
        common = sum(1 for _ in takewhile(lambda alike: len(set(alike)) == 1, letters))
        for place in places:
            if len(names[place]) > common > 0:
                short[place] = _short(f"…{names[place][common:]}")
    return short


def _short(name: str) -> str:
    if len(name) <= LONGEST_LABEL:
        return name
    half = (LONGEST_LABEL - 1) // 2
    return f"{name[:half]}…{name[-half:]}"
