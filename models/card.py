"""Model card of an artefact, written from its manifest and texts of its task."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from models import familiarity
from models.head import Head
from models.manifest import Manifest


@dataclass(frozen=True)
class Words:
    """Texts of a task about its artefacts."""

    families: Mapping[str, str]
    """Family to a description of its models, with the source."""
    predicts: str
    """Prediction of the model, in one sentence."""
    not_for: str
    """Uses for which predictions are unsuitable; the end of the sentence "Not for …"."""
    figures: str
    """Sentence on the computation of the figures in the quality table."""
    notice: str = ""
    """Notice at the top of the card; empty for none."""
    units: str = "rows"
    """Unit in which data are counted."""


INPUTS_SECTION = f"""## Training inputs

`{familiarity.FILE}` holds means, standard deviations and a Gaussian mixture of the training inputs, no rows of them. \
A row is called shifted (`unlikely_inputs`) where it is less dense than {familiarity.ROW_LEVEL:.0%} of in-domain rows, \
all rows of a request where it is less dense than {familiarity.REQUEST_LEVEL:.0%} of runs of as many consecutive \
training rows: {1 - familiarity.ROW_LEVEL:.0%} and {1 - familiarity.REQUEST_LEVEL:.0%} are false alarms.
"""


def text(manifest: Manifest, heads: tuple[Head, ...], words: Words, sections: Sequence[str] = ()) -> str:
    """Return the model card as Markdown.

    Args:
        sections: further sections about the training data.
    """
    count = f"{manifest.members} member(s)"
    if manifest.samples > 1:
        count += f" x {manifest.samples} frozen samples"
    lines = [
        f"# {manifest.task}: {manifest.family}, {count}",
        "",
        *([f"**{words.notice}**", ""] if words.notice else []),
        words.families.get(manifest.family, manifest.family),
        "",
        words.predicts,
        "",
        "## Use",
        "",
        f"For deciding which predictions to answer and which to defer ({'; '.join(map(_error, heads))}). "
        f"Not for {words.not_for}",
        "",
        "## Data",
        "",
    ]
    lines += [
        f"- {source.role}: {source.description}; {source.rows} {words.units}; licence {source.licence}; "
        f"sha256 {source.fingerprint}"
        for source in manifest.sources
    ]
    lines += ["", "## Training", ""]
    lines += [f"- {name}: {value}" for name, value in manifest.training.items()]
    lines += [f"- seeds: {', '.join(map(str, manifest.seeds))}", ""]
    lines += [INPUTS_SECTION] if manifest.training_inputs else []
    lines += sections
    lines += ["## Quality", ""]
    figures = tuple(dict.fromkeys(name for row in manifest.quality.values() for name in row))
    if figures:
        lines += [f"| data | {' | '.join(figures)} |", "|---" * (len(figures) + 1) + "|"]
        lines += [
            f"| {name} | {' | '.join(_figure(row.get(figure, math.nan)) for figure in figures)} |"
            for name, row in manifest.quality.items()
        ]
    else:
        lines += ["Not measured: no labelled data were given when the artefact was made."]
    lines += ["", words.figures, ""]
    return "\n".join(lines)


def _figure(value: float) -> str:
    return f"{value:g}" if math.isfinite(value) else "–"


def _error(head: Head) -> str:
    limit = "" if head.acceptable is None else f"; an error up to {head.acceptable:g} {head.error_unit} is acceptable"
    return f"{head.error}{limit}"
