"""Glossary of figures and errors: names in the literature, better directions, and meanings."""

from dataclasses import dataclass

from models.assessment.convention import Convention
from services.report.naming import clean


@dataclass(frozen=True, slots=True)
class Definition:
    """Entry of the glossary: a figure or an error."""

    label: str
    better: str
    """Better direction, ``lower`` or ``higher``; empty if neither is better."""
    meaning: str
    """Explanation; empty for names without an entry."""


COMMON: dict[str, Definition] = {
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
"""Figures that all tasks have, in reading order."""

_MODES = {
    "min": "least of the modes",
    "avg": "mean of the modes",
    "top1": "of the mode of the largest weight",
    "weighted": "mean of the modes by their weights",
}
_DISPLACEMENTS = {
    "ade": "Distance from the true positions, averaged over time",
    "fde": "Distance from the true position at the last step",
}
_MODE_ERRORS: dict[str, Definition] = {
    "cnll": Definition("cNLL", "lower", "Corrected negative log-likelihood of the truth under the mixture of modes."),
    **{
        f"{mode}{kind}": Definition(f"{mode}{kind.upper()}", "lower", f"{distance}: {which}.")
        for kind, distance in _DISPLACEMENTS.items()
        for mode, which in _MODES.items()
    },
}
_BRIER = Definition("Brier score", "lower", "Mean squared distance of the probabilities from what was observed.")
_SCORES: dict[str, Definition] = {
    "ndsc": Definition(
        "nDSC", "higher", "Dice at a reference share of lesion voxels, so that small loads count alike."
    ),
    "dice": Definition("Dice", "higher", "Overlap of predicted and true voxels, as a share of both together."),
    "lesion_f1": Definition("Lesion F1", "higher", "F1 of the lesions found, each being a connected component."),
    "voxel_r_aac": Definition("Voxel R-AAC", "lower", "Area above the nDSC-retention curve of a scan’s voxels."),
}

OWN: dict[str, Definition] = {
    "rmse": Definition("RMSE", "lower", "Root of the mean squared error."),
    "mae": Definition("MAE", "lower", "Mean absolute error."),
    "mape": Definition("MAPE", "lower", "Mean absolute error as a share of the true value."),
    "nll": Definition("NLL", "lower", "Mean negative log-likelihood of what was observed."),
    "ence": Definition("ENCE", "lower", "Mean, over bins by variance, of how far RMSE is from RMV, as a share of RMV."),
    "ence_tvar": Definition(
        "ENCE (total variance)", "lower", "ENCE with the variance of the members’ means in each variance."
    ),
    "cv": Definition(
        "Cv", "higher", "Coefficient of variation of the standard deviations: 0 says the same of every unit."
    ),
    "lence": Definition("LENCE", "lower", "ln (ENCE + 1 / Cv): also punishes variances that are all alike."),
    "mwse": Definition("MWSE", "", "Mean of squared error times variance: a diagnostic."),
    "ll_fu": Definition("LL-FU", "", "Mean log-likelihood Fisher uncertainty: a diagnostic, which needs the label."),
    "r3": Definition("RMSE / RMV", "", "Over all rows: 1 is right, above it variances are too small."),
    "accuracy": Definition("Accuracy", "higher", "Share of units whose most likely class is right."),
    "macro_f1": Definition("Macro-F1", "higher", "Mean over classes of the harmonic mean of precision and recall."),
    "brier": _BRIER,
    "majority_accuracy": Definition("Accuracy (majority)", "", "Of always answering the most frequent class."),
    "majority_macro_f1": Definition("Macro-F1 (majority)", "", "The same answer by macro-F1."),
    **_MODE_ERRORS,
    "egleu": Definition("eGLEU", "higher", "GLEU of the hypotheses against the reference, averaged by confidence."),
    "maxgleu": Definition("maxGLEU", "higher", "GLEU of the best hypothesis of each list."),
    "bleu": Definition("BLEU", "higher", "Of the first hypothesis of each list, over all texts together."),
    **_SCORES,
    **{
        f"{name}_sd": Definition(
            f"{score.label}, sd over scans", "", f"Standard deviation of {score.label} over scans."
        )
        for name, score in _SCORES.items()
    },
}
"""Figures that only some tasks have."""

ERRORS: dict[str, Definition] = {
    "error": Definition("error", "lower", ""),
    "squared_error": Definition("squared error", "lower", "Squared difference from what was observed."),
    "absolute_error": Definition("absolute error", "lower", "Difference from what was observed, without its sign."),
    "error_rate": Definition("error rate", "lower", "1 where the most likely class is wrong, 0 where it is right."),
    "brier": _BRIER,
    **_MODE_ERRORS,
    "egleu_error": Definition("eGLEU error", "lower", "100 - eGLEU."),
    "ndsc_error": Definition("nDSC error", "lower", "1 - nDSC of a scan."),
    "dice_error": Definition("Dice error", "lower", "1 - Dice of a scan."),
    "lesion_f1_error": Definition("lesion F1 error", "lower", "1 - lesion F1 of a scan."),
}
"""Errors of one unit, spelled as within a sentence."""
_MEANS = ("error_rate",)
"""Errors whose mean has the name of the error."""


def definition(name: str) -> Definition:
    """Return the entry of a figure; a figure without an entry keeps its name, without a better direction."""
    return COMMON.get(name) or OWN.get(name) or Definition(clean(name), "", "")


def error(name: str) -> Definition:
    """Return the entry of an error of one unit; an error without an entry keeps its name."""
    return ERRORS.get(name) or Definition(clean(name).replace("_", " ").strip(), "lower", "")


def mean_error(name: str) -> str:
    """Return the name of the mean of an error within a sentence, such as “mean squared error”."""
    label = error(name).label
    return label if name in _MEANS or label.lower().startswith("mean ") else f"mean {label}"


def heading(text: str) -> str:
    """Return text with a capital in front, except for names with capitals of their own, such as minADE."""
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first.islower() else text


def of_convention(convention: Convention) -> dict[str, str]:
    """Return figure to the convention's definition, for figures that only some tasks have."""
    classes = "all declared classes, absent ones as 0" if convention.absent_classes_count else "the classes that occur"
    middle = "geometric" if convention.geometric_ndsc else "harmonic"
    overlap = "above" if convention.strict_overlap else "at least"
    logarithm = "the natural logarithm" if convention.natural_ll_fu else "base 10 in its first term"
    pairwise = "divergence" if convention.pairwise_kl else "cross-entropy"
    return {
        "macro_f1": f"Macro-F1 is the mean over {classes}.",
        "ndsc": f"nDSC is the {middle} mean of adjusted precision and recall.",
        "lesion_f1": f"A lesion is found where the intersection over union is {overlap} one half.",
        "ll_fu": f"LL-FU takes {logarithm}.",
        "ence": "ENCE, Cv, LENCE, MWSE and LL-FU are about the mean of the members' variances.",
        "ence_tvar": f"epkl is the members' pairwise {pairwise}.",
    }
