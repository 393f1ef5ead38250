"""Reader of files of class probabilities: NPZ with ``members`` [M, N, C] and ``target`` [N] (classes 0 to C - 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment import classification
from models.assessment.figures import Rules
from models.evaluation import files, scored
from models.evaluation.unit_errors import (
    BadFile,
    ErrorColumn,
    ErrorOptions,
    Mask,
    UnitErrors,
    ordered,
    with_singles,
    without_errors,
)
from models.predictive import Categorical
from models.uncertainty import categorical, score

OPTIONS: frozenset[str] = frozenset()
"""ErrorOptions that this reader uses besides error, limit, groups and convention."""

ENSEMBLE_MEASURES = ("confidence", "entropy", "data_entropy", "mi", "epkl", "rmi")
SINGLE_MEASURES = ("entropy", "confidence")
_OF_MEMBERS = ("epkl", "rmi")
_ROUNDED = 1e-6
CORRECT = 0.5
"""Limit of the error rate: a prediction is acceptable if it is right, under either convention."""


def read(path: Path, options: ErrorOptions) -> UnitErrors:
    """Read any classification.

    Raises:
        BadFile: see ``read_as``.
    """
    return read_as(path, options, "classification")


def read_as(path: Path, options: ErrorOptions, task: str, arrays: Mapping[str, Any] | None = None) -> UnitErrors:
    """Read members and classes; and, if present, ``shifted`` [N] and columns [N] for break-downs.

    ``arrays`` are those of the file if they have been read already.

    Raises:
        BadFile: a key is missing, of another shape or not numeric; probabilities or classes out of range.
    """
    arrays = files.read_npz(path) if arrays is None else arrays
    sizes: dict[str, int] = {}
    members = files.numbers(path, arrays, "members", "M N C", sizes)
    target = _classes(path, files.numbers(path, arrays, "target", "N", sizes), sizes["C"])
    _check_distributions(path, members)
    members = _summing_to_one(members)
    shifted = files.shifted_flags(path, "shifted", arrays.get("shifted"), len(target))
    groups = files.group_columns(path, arrays, options.by, len(target))
    whole = without_errors(
        path, task, target, Rules(options.convention), shifted=shifted, groups=groups, members=len(members)
    )
    return with_singles(whole, len(members), lambda units, part: _judge(units, members[part], target, options))


def read_scored(
    path: Path,
    options: ErrorOptions,
    task: str,
    label: str,
    prefix: str,
    classes: int,
    step: int = 1,
    class_names: Sequence[str] = (),
) -> UnitErrors:
    """Read a table that ``demur score`` wrote, with a column of labels; its first measure is that of the policy.

    Without the members' columns there are no measures that need them: ``epkl`` and ``rmi``, and no figures of single
    members.

    Args:
        step: divisor of labels that gives classes 0 to C - 1.
        class_names: labels of the classes as texts; empty if they are numbers.

    Raises:
        BadFile: a column is missing or not numeric; probabilities or classes out of range.
    """
    names = [f"p{place}" for place in range(classes)]
    table = scored.read(
        path, options, prefix=prefix, predictions=names, of_member=r"p\d+", label=label, class_names=class_names
    )
    target = _classes(path, table.target / step, classes)
    probabilities = np.stack([table.columns[name] for name in names], axis=-1)
    members = table.stacked(*names) if table.members else None
    checked = probabilities[None] if members is None else members
    _check_distributions(path, checked)
    whole = table.units(path, task, target, Rules(options.convention))
    if members is not None:
        normal = _summing_to_one(members)
        judged = with_singles(whole, len(normal), lambda units, part: _judge(units, normal[part], target, options))
    else:
        data = table.columns["data"] if table.ensemble else None
        statistics = Categorical(_summing_to_one(probabilities), data)
        known = [name for name in (ENSEMBLE_MEASURES if table.ensemble else SINGLE_MEASURES) if name not in _OF_MEMBERS]
        judged = _of_statistics(whole, statistics, known, target, options)
    return replace(judged, measures={"uncertainty": table.columns["uncertainty"], **judged.measures})


def _judge(whole: UnitErrors, members: Any, target: NDArray[np.int64], options: ErrorOptions) -> UnitErrors:
    names = SINGLE_MEASURES if len(members) == 1 else ENSEMBLE_MEASURES
    return _of_statistics(whole, categorical.predictive(members), names, target, options)


def _of_statistics(
    whole: UnitErrors, statistics: Categorical, names: Sequence[str], target: NDArray[np.int64], options: ErrorOptions
) -> UnitErrors:
    probabilities = np.asarray(statistics.probabilities, np.float64)
    classes = probabilities.shape[1]
    wrong = classification.error_indicator(target, probabilities)
    columns = {
        "error_rate": ErrorColumn(wrong, "1", CORRECT),
        "brier": ErrorColumn(classification.brier(target, probabilities), "1", None),
    }

    def own(mask: Mask | None) -> dict[str, float]:
        part = slice(None) if mask is None else mask
        labels, rows = target[part], probabilities[part]
        most = classification.majority(labels, classes, convention=options.convention)
        return {
            "accuracy": 1.0 - float(np.mean(wrong[part])),
            "macro_f1": classification.macro_f1(labels, rows, convention=options.convention),
            "nll": float(np.mean(classification.nll(labels, rows))),
            "brier": float(np.mean(columns["brier"].values[part])),
            "majority_accuracy": most.accuracy,
            "majority_macro_f1": most.macro_f1,
        }

    return replace(
        whole,
        errors=ordered(options, columns, whole.source),
        measures={name: score(statistics, name) for name in names},
        own=own,
        own_units={**dict.fromkeys(("accuracy", "macro_f1", "brier"), "1"), "nll": "nats"}
        | dict.fromkeys(("majority_accuracy", "majority_macro_f1"), "1"),
    )


def _summing_to_one(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normalise distributions [..., C] that were coarsely rounded, so that no likelihood exceeds 1; keep others."""
    sums = rows.sum(axis=-1, keepdims=True)
    return np.where(np.abs(sums - 1) > _ROUNDED, rows / sums, rows)


def _classes(path: Path, target: Any, classes: int) -> NDArray[np.int64]:
    wrong = (target != np.floor(target)) | (target < 0) | (target >= classes)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BadFile(f"{path}: target[{row}] is {target[row]:g}; classes are whole numbers 0 to {classes - 1}")
    return np.asarray(target, np.int64)


def _check_distributions(path: Path, members: Any) -> None:
    files.finite(path, "members", members)
    if (outside := (members < 0) | (members > 1 + classification.SUM_TOLERANCE)).any():
        place = [int(index) for index in np.argwhere(outside)[0]]
        raise BadFile(f"{path}: members{place} is {members[tuple(place)]:g}; a probability lies between 0 and 1")
    sums = members.sum(axis=2)
    if (off := np.abs(sums - 1) > classification.SUM_TOLERANCE).any():
        place = [int(index) for index in np.argwhere(off)[0]]
        total = sums[tuple(place)]
        raise BadFile(f"{path}: members{place} sums to {total:g} over the classes; probabilities sum to 1")
