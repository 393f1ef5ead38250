"""Texts of the card of an artefact with heads of its own."""

from collections.abc import Sequence
from types import MappingProxyType

from models.card import Words
from models.manifest import Manifest
from models.tasks.rows.artefact.members import HeadPlan
from models.tasks.rows.artefact.recipe import Recipe
from models.tasks.rows.artefact.verification import Check
from models.tasks.rows.uncertainty.choice import ABOUT, table

WORDS = Words(
    families=MappingProxyType(
        {
            "sklearn": "Model of scikit-learn.",
            "lightgbm": "Gradient-boosted trees by LightGBM.",
            "xgboost": "Gradient-boosted trees by XGBoost.",
            "catboost": "Gradient-boosted trees by CatBoost.",
            "torch": "Network by PyTorch.",
            "keras": "Network by Keras.",
            "onnx": "Model brought as an ONNX graph.",
        }
    ),
    predicts="Predicts the targets below from the columns of `schema.toml`.",
    not_for="rows of another kind than the calibration rows without looking at what is deferred.",
    figures="R-AUC is the mean of the points of the error-retention curve under the head's own measure; `random` and "
    "`optimal` are those of a random and of the best possible order. Figures of calibration rows are cross-fitted: the "
    "variance of each row comes from rows of other folds.",
)


def sections(heads: Sequence[HeadPlan], check: Check, manifest: Manifest, recipe: Recipe) -> str:
    """Return the sections on uncertainty, retention and fidelity, as Markdown."""
    lines: list[str] = []
    for plan in heads:
        chosen, head = plan.choice.chosen, plan.head
        lines += [
            f"## Uncertainty of {head.name}",
            "",
            f"{chosen.kind}: {ABOUT[chosen.kind]}. Units are deferred by `{chosen.measure}`. Compared on "
            f"{len(plan.labels)} calibration rows:",
            "",
            *table(plan.choice.compared),
            "",
        ]
        if head.kind == "categorical":
            scaled = f"divided by the temperature {chosen.temperature:.4g}" if chosen.temperature != 1 else "unchanged"
            lines += [f"Logarithms of probabilities are {scaled}.", ""]
        lines += [f"{_target(manifest.retention[head.name], recipe)}", ""]
    knowledge = (
        "Knowledge uncertainty is the disagreement of the members."
        if manifest.ensemble
        else "A single model has no knowledge uncertainty; inputs unlike those of training are flagged by range and "
        "density."
    )
    described = "of the calibration rows" if recipe.training is None else "of the training rows"
    lines += [
        "## Knowledge and shift",
        "",
        f"{knowledge} Range and density are {described}.",
        "",
        "## Fidelity",
        "",
        check.text,
        "",
    ]
    return "\n" + "\n".join(lines)


def _target(retention: float, recipe: Recipe) -> str:
    if recipe.risk is None:
        return f"Built to answer {retention:.3g} of in-domain rows."
    return (
        f"Built to answer {retention:.3g} of in-domain rows, at which the risk of the answered part is at most "
        f"{recipe.risk:g} with 95 % confidence over the draw of the calibration rows."
    )
