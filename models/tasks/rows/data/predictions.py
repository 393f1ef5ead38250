"""Prediction files of row models: tables that ``demur score`` wrote."""

from collections.abc import Sequence
from pathlib import Path

from models.artefact import Artefact
from models.assessment.figures import Rules
from models.evaluation import classification, regression, scored
from models.evaluation.table import column_names
from models.evaluation.unit_errors import BadFile, ErrorOptions, UnitErrors
from models.head import Head
from models.tasks.rows.artefact.build import SCHEMA
from models.tasks.rows.data import draft as drafts
from models.tasks.rows.data.draft import TargetDraft

OPTIONS = regression.OPTIONS | {"head"}
"""Options of ``ErrorOptions`` that apply besides error, limit, groups and convention."""


def read(path: Path, options: ErrorOptions, artefact: Artefact) -> UnitErrors:
    """Read a table of answers of an artefact, with the labels of its input; ``options.head`` selects a head.

    Raises:
        BadFile: no table, no such head, or see the readers of regression and classification.
    """
    heads = artefact.manifest.outputs
    if not scored.is_table(path):
        raise BadFile(
            f"{path}: must be a table that `demur score {artefact.manifest.task}` wrote ({', '.join(scored.SUFFIXES)})"
        )
    head = _head(path, options.head, heads)
    prefix = f"{head.name}." if len(heads) > 1 else ""
    label = _target(head, drafts.read(artefact.path(SCHEMA)).targets).column
    label = f"input.{label}" if f"input.{label}" in column_names(path) else label
    task = artefact.manifest.task
    if head.classes is not None:
        if options.bins is not None:
            raise BadFile(f"{path}: {head.name} has classes, which have no calibration bins: leave --bins out")
        return classification.read_scored(
            path, options, task, label, prefix, head.classes, class_names=head.class_names
        )
    unit = "(unit of the target)" if head.unit == "1" else head.unit
    quantity = regression.Quantity(
        task, unit, head.acceptable, Rules(options.convention), lower=head.lower, upper=head.upper
    )
    return regression.read_scored(path, options, quantity, label, prefix)


def _head(path: Path, name: str | None, heads: Sequence[Head]) -> Head:
    if name is None:
        return heads[0]
    by_name = {head.name: head for head in heads}
    if name not in by_name:
        raise BadFile(f"{path}: --head {name} is not there; the model has {', '.join(by_name)}")
    return by_name[name]


def _target(head: Head, targets: Sequence[TargetDraft]) -> TargetDraft:
    return next(target for target in targets if target.name == head.name)
