"""Files of predicted class probabilities: NPZ with ``members`` [M, N, C] and ``target`` [N] (classes 0 to C - 1)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment import classification
from models.assessment.figures import Rules
from models.evaluation import files
from models.evaluation.judged import Asked, BadFile, ErrorColumn, Judged, Mask, ordered
from models.uncertainty import categorical, score

OPTIONS: frozenset[str] = frozenset()
"""What of ``Asked`` is of use here besides error, limit, groups and convention."""

ENSEMBLE_MEASURES = ("confidence", "entropy", "data_entropy", "mi", "epkl", "rmi")
SINGLE_MEASURES = ("entropy", "confidence")
_ROUNDED = 1e-6
CORRECT = 0.5
"""Limit of the error rate: a prediction is acceptable if it is right, under either convention."""


def read(path: Path, asked: Asked) -> Judged:
    """Any classification.

    Raises:
        BadFile: see ``read_as``.
    """
    return read_as(path, asked, "classification")


def read_as(path: Path, asked: Asked, task: str, arrays: Mapping[str, Any] | None = None) -> Judged:
    """Members and classes; optional ``shifted`` [N] and columns [N] to break figures down by.

    ``arrays`` are those of the file where they have been read already.

    Raises:
        BadFile: a key is missing, of another shape or not numeric; probabilities or classes out of range.
    """
    arrays = files.read_npz(path) if arrays is None else arrays
    sizes: dict[str, int] = {}
    members = files.numbers(path, arrays, "members", "M N C", sizes)
    target = _classes(path, files.numbers(path, arrays, "target", "N", sizes), sizes["C"])
    _check_distributions(path, members)
    sums = members.sum(axis=2, keepdims=True)
    # rows that were rounded far are made whole, so that no likelihood exceeds 1; others stay to the last digit
    members = np.where(np.abs(sums - 1) > _ROUNDED, members / sums, members)
    shifted = files.shifted_flags(path, "shifted", arrays.get("shifted"), len(target))
    whole = Judged(
        task=task,
        source=str(path),
        errors={},
        measures={},
        shifted=shifted,
        groups=files.group_columns(path, arrays, asked.by, len(target)),
        rules=Rules(asked.convention),
        labels=hashlib.sha256(target.tobytes()).hexdigest(),
        members=len(members),
    )
    judged = _judge(whole, members, target, asked)
    if len(members) == 1:
        return judged
    return replace(judged, singles=lambda: _singles(whole, members, target, asked))


def _singles(whole: Judged, members: Any, target: NDArray[np.int64], asked: Asked) -> Iterator[Judged]:
    for one in range(len(members)):
        named = replace(whole, source=f"{whole.source}, member {one + 1}", members=1)
        yield _judge(named, members[one : one + 1], target, asked)


def _judge(whole: Judged, members: Any, target: NDArray[np.int64], asked: Asked) -> Judged:
    statistics = categorical.predictive(members)
    probabilities, classes = statistics.probabilities, members.shape[2]
    names = SINGLE_MEASURES if len(members) == 1 else ENSEMBLE_MEASURES
    wrong = classification.error_indicator(target, probabilities)
    columns = {
        "error_rate": ErrorColumn(wrong, "1", CORRECT),
        "brier": ErrorColumn(classification.brier(target, probabilities), "1", None),
    }

    def own(mask: Mask | None) -> dict[str, float]:
        part = slice(None) if mask is None else mask
        labels, rows = target[part], probabilities[part]
        most = classification.majority(labels, classes, convention=asked.convention)
        return {
            "accuracy": 1.0 - float(np.mean(wrong[part])),
            "macro_f1": classification.macro_f1(labels, rows, convention=asked.convention),
            "nll": float(np.mean(classification.nll(labels, rows))),
            "brier": float(np.mean(columns["brier"].values[part])),
            "majority_accuracy": most.accuracy,
            "majority_macro_f1": most.macro_f1,
        }

    return replace(
        whole,
        errors=ordered(asked, columns, whole.source),
        measures={name: score(statistics, name) for name in names},
        own=own,
        own_units={**dict.fromkeys(("accuracy", "macro_f1", "brier"), "1"), "nll": "nats"}
        | dict.fromkeys(("majority_accuracy", "majority_macro_f1"), "1"),
    )


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
