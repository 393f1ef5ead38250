"""The units that ``demur calibrate`` reads: columns of a file, or a task's own format."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.certification.folds import id_draws
from models.certification.units import Units, units
from models.evaluation.generic import ERROR, UNCERTAINTY
from models.evaluation.table import column_names, read_columns
from models.evaluation.unit_errors import BadFile, Options
from services.cli.predictions import check_file, companions, read_files

GENERIC = "generic"
MOST_GROUPS = 10_000


@dataclass(frozen=True)
class File:
    """n units of a file."""

    units: Units
    by: NDArray[Any] | None
    measure: str
    error: str | None
    acceptable: float | None
    """Largest acceptable error: asked for, or the task's."""
    notes: tuple[str, ...]


def read(given: argparse.Namespace) -> File:
    """The file that the options of the command name.

    Raises:
        BadFile: it is not there, or something in it cannot be used; the message names column and row.
        ValueError: numbers that units cannot have.
    """
    check_file(given.predictions)
    return _columns(given) if given.task == GENERIC else _task(given)


def _columns(given: argparse.Namespace) -> File:
    """A file of columns; retention and capacity need no errors."""
    path = given.predictions
    if companions(given):
        raise BadFile(f"--{next(iter(companions(given))).replace('_', '-')} says nothing about files of columns")
    error, measure = given.error or ERROR, given.uncertainty or UNCERTAINTY
    needs = (
        given.risk is not None
        or given.joint_risk is not None
        or given.error is not None
        or given.acceptable is not None
    )
    with_error = needs or error in column_names(path)
    numeric = list(dict.fromkeys([*([error] if with_error else []), measure]))
    texts = [name for name in dict.fromkeys([given.by, given.id]) if name is not None and name not in numeric]
    columns = read_columns(path, numeric, texts)
    scores, errors = columns[measure], columns.get(error)
    if errors is not None and np.isnan(errors).any():
        row = int(np.argmax(np.isnan(errors)))
        raise BadFile(f"{path}: row {row} (from 0) has no {error}; a unit without one cannot be judged: leave it out")
    draws = None if given.id is None else id_draws(columns[given.id].astype(str).tolist())
    by = None if given.by is None else columns[given.by]
    return File(
        units(scores, errors, draws=draws),
        _grouped(given, by),
        measure,
        error if with_error else None,
        given.acceptable,
        _unscored(scores),
    )


def _task(given: argparse.Namespace) -> File:
    """A file of a task's own format, as ``demur evaluate`` reads it."""
    if given.id is not None:
        raise BadFile("--id is for files of columns; leave it out")
    by = () if given.by is None else (given.by,)
    asked = Options(
        error=given.error, acceptable=given.acceptable, by=by, head=given.head, companions=companions(given)
    )
    judged = read_files(given.task, [given.predictions], asked)[0]
    measure = given.uncertainty or judged.measure_name
    if measure not in judged.measures or measure in judged.diagnostics:
        have = ", ".join(name for name in judged.measures if name not in judged.diagnostics)
        raise BadFile(f"{judged.source}: {measure!r} is no measure to defer by; it has {have}")
    scores = judged.measures[measure]
    notes = _unscored(scores)
    if judged.impossible is not None:
        scores = np.where(judged.impossible, np.inf, scores)
        count = int(judged.impossible.sum())
        notes += (f"the predictions of {count} units are impossible: their uncertainty counts as infinite",)
    if judged.shifted is not None and judged.shifted.any():
        notes += (f"{int(judged.shifted.sum())} of {len(judged)} units are shifted: promises are about this mixture",)
    return File(
        units(scores, judged.error.values),
        _grouped(given, judged.groups.get(given.by)),
        measure,
        judged.error_name,
        judged.error.acceptable,
        notes,
    )


def _grouped(given: argparse.Namespace, by: NDArray[Any] | None) -> NDArray[Any] | None:
    if by is not None and (values := len(np.unique(by.astype(str)))) > MOST_GROUPS:
        raise BadFile(f"{given.predictions}: column {given.by} has {values} values; at most {MOST_GROUPS} are groups")
    return by


def _unscored(scores: NDArray[Any]) -> tuple[str, ...]:
    count = int(np.isnan(scores).sum())
    return (f"{count} units have no uncertainty: they are deferred at every threshold",) if count else ()
