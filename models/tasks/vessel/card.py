"""The model card of a vessel artefact, written from its manifest."""

from __future__ import annotations

from models.artefact import Manifest
from models.head import Head

_FAMILIES = {
    "dnn": "Deep networks 10-50-20-2 with softplus (Shifts 2.0, D.3).",
    "mc_dropout": "Networks 10-50-20-2 with dropout 0.005, masks frozen at export (Shifts 2.0, D.3).",
    "variational": "Networks 10-50-20-2 with Gaussian weight posteriors trained with Flipout; weight samples "
    "frozen at export (Shifts 2.0, D.3).",
    "symbolic": "A physics formula with learned bounded coefficients and a network that may correct it by a "
    "bounded factor (idea: Shifts 2.0, D.3; formula: this repository, models/tasks/vessel/physics.py).",
}


def text(manifest: Manifest, head: Head) -> str:
    """Markdown."""
    count = f"{manifest.members} member(s)"
    if manifest.samples > 1:
        count += f" x {manifest.samples} frozen samples"
    limit = "" if head.acceptable is None else f"; an error up to {head.acceptable:g} {head.error_unit} is acceptable"
    lines = [
        f"# {manifest.task}: {manifest.family}, {count}",
        "",
        _FAMILIES.get(manifest.family, manifest.family),
        "",
        f"Predicts {head.label} as a normal distribution, with data uncertainty (mean of the members' "
        "variances) and, for ensembles, knowledge uncertainty (variance of their means).",
        "",
        "## Use",
        "",
        f"For deciding which predictions to answer and which to defer ({head.error}{limit}). "
        "Not for a ship other than the one the data describe, nor for control or safety.",
        "",
        "## Data",
        "",
    ]
    lines += [
        f"- {source.role}: {source.description}; {source.rows} rows; licence {source.licence}; "
        f"sha256 {source.fingerprint}"
        for source in manifest.sources
    ]
    lines += ["", "## Training", ""]
    lines += [f"- {name}: {value}" for name, value in manifest.training.items()]
    lines += [f"- seeds: {', '.join(map(str, manifest.seeds))}", "", "## Quality", ""]
    figures = next(iter(manifest.quality.values()), {})
    if figures:
        lines += [f"| data | {' | '.join(figures)} |", "|---" * (len(figures) + 1) + "|"]
        lines += [
            f"| {name} | {' | '.join(f'{value:g}' for value in row.values())} |"
            for name, row in manifest.quality.items()
        ]
    else:
        lines += ["Not measured: no labelled data were given when the artefact was made."]
    lines += ["", "R-AUC is the trapezoid area of squared errors, F1 as in the released Shifts code.", ""]
    return "\n".join(lines)
