"""Files of predictions that commands read: general forms, the tasks' own formats, and columns for calibration."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from click import option
from numpy.typing import NDArray

from models.certification.folds import id_draws
from models.certification.units import Units, units
from models.evaluation.generic import ERROR, UNCERTAINTY
from models.evaluation.table import column_names, read_columns
from models.evaluation.unit_errors import BadFile, ErrorOptions, UnitErrors
from services.app.model_store import Store
from services.cli.options import Decorated, Options
from services.cli.output import ProgressLine
from services.cli.task_name import TaskName
from services.runtime.settings import Settings
from services.tasks import PREDICTIONS

FORMS = {
    "generic": "models.evaluation.generic:read",
    "regression": "models.evaluation.regression:read",
    "classification": "models.evaluation.classification:read",
}
"""Readers of general forms; ``services.tasks`` has those of the tasks' own formats."""
READERS = FORMS | PREDICTIONS
FORM_NAME = TaskName(*FORMS, of=PREDICTIONS)
"""Type of the argument that names a task, form or row model."""
COMPANIONS = ("references", "domains", "flags", "scenes", "ground_truth")


_COMPANION_OPTIONS = (
    option("--references", type=Path, help="translation: reference translations, text or JSON lines."),
    option("--domains", type=Path, help="translation: one number per line, not 0 = shifted."),
    option("--flags", type=Path, help="translation: anomalies of sentences, to break figures down by."),
    option("--scenes", type=Path, help="motion: scenes, or the true trajectories as a submission."),
    option(
        "--ground-truth",
        type=Path,
        help="lesion: folder of masks, if not beside the predictions; vessel, weather: the official file with the "
        "labels of a submission.",
    ),
    option("--head", help="weather: head of a scored table, temperature (default) or precipitation."),
)


def companion_options(command: Decorated) -> Decorated:
    """Add the options for the other files that some tasks need."""
    for decorate in reversed(_COMPANION_OPTIONS):
        command = decorate(command)
    return command


def companions(options: Options) -> dict[str, Any]:
    """Return the companion files that the options name, by option."""
    return {name: getattr(options, name) for name in COMPANIONS if getattr(options, name) is not None}


def check_file(path: Path) -> None:
    """Raises BadFile unless a path is a file or a folder."""
    if not path.exists():
        raise BadFile(f"{path}: no such file")
    if not (path.is_file() or path.is_dir()):
        raise BadFile(f"{path} is a pipe or a device; write it to a file first")


def reader(task: str) -> tuple[Callable[[Path, ErrorOptions], UnitErrors], frozenset[str]]:
    """Return the reader of the files of a task, form or row model, and the options that apply to it.

    Raises:
        LookupError, ArtefactError: the model store does not hold the row model, or a damaged one.
    """
    if task not in READERS:
        from models.tasks.rows.data import predictions

        stored = Store(Settings.read().home).get(task)
        return lambda path, options: predictions.read(path, options, stored), frozenset(predictions.OPTIONS)
    name, _, function = READERS[task].partition(":")
    module = importlib.import_module(name)
    return getattr(module, function), frozenset(module.OPTIONS)


def read_files(task: str, paths: Sequence[Path], request: ErrorOptions) -> list[UnitErrors]:
    """Read the files of a task or form, and judge each.

    Raises:
        BadFile: a file that is not there or not of that form, or an option that says nothing about it.
    """
    read, allowed = reader(task)
    present = {*request.companions, *(name for name in ("bins", "head") if getattr(request, name) is not None)}
    if useless := sorted(present - allowed):
        raise BadFile(f"--{useless[0].replace('_', '-')} has no effect on files of this task; leave it out")
    files = []
    line = ProgressLine("reading")
    for number, path in enumerate(paths, 1):
        check_file(path)
        try:
            files.append(read(path, request))
        except BadFile:
            raise
        except ValueError as error:  # numbers that the figures refuse; they say which
            raise BadFile(f"{path}: {error}") from error
        line(number / len(paths), path.name)
    return files


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
    """Largest acceptable error: of the option, else of the task."""
    notes: tuple[str, ...]


def read(options: Options) -> File:
    """Read the file that the options name.

    Raises:
        BadFile: it is not there, or something in it cannot be used; the message names column and row.
        ValueError: numbers that units cannot have.
    """
    check_file(options.predictions)
    return _columns(options) if options.task == GENERIC else _task(options)


def _columns(options: Options) -> File:
    """Read a file of columns; retention and capacity need no errors."""
    path = options.predictions
    if companions(options):
        raise BadFile(
            f"--{next(iter(companions(options))).replace('_', '-')} has no effect on files of columns; leave it out"
        )
    error, measure = options.error or ERROR, options.uncertainty or UNCERTAINTY
    needs = (
        options.risk is not None
        or options.joint_risk is not None
        or options.error is not None
        or options.acceptable is not None
    )
    with_error = needs or error in column_names(path)
    numeric = list(dict.fromkeys([*([error] if with_error else []), measure]))
    texts = [name for name in dict.fromkeys([options.by, options.id]) if name is not None and name not in numeric]
    columns = read_columns(path, numeric, texts)
    scores, errors = columns[measure], columns.get(error)
    if errors is not None and np.isnan(errors).any():
        row = int(np.argmax(np.isnan(errors)))
        raise BadFile(f"{path}: row {row} (from 0) has no {error}: each unit needs one; leave the row out")
    draws = None if options.id is None else id_draws(columns[options.id].astype(str).tolist())
    by = None if options.by is None else columns[options.by]
    return File(
        units(scores, errors, draws=draws),
        _grouped(options, by),
        measure,
        error if with_error else None,
        options.acceptable,
        _unscored(scores),
    )


def _task(options: Options) -> File:
    """Read a file of a task's own format, as ``demur evaluate`` does."""
    if options.id is not None:
        raise BadFile("--id: only for files of columns; leave it out")
    by = () if options.by is None else (options.by,)
    request = ErrorOptions(
        error=options.error, acceptable=options.acceptable, by=by, head=options.head, companions=companions(options)
    )
    judged = read_files(options.task, [options.predictions], request)[0]
    measure = options.uncertainty or judged.measure_name
    if measure not in judged.measures or measure in judged.diagnostics:
        have = ", ".join(name for name in judged.measures if name not in judged.diagnostics)
        raise BadFile(f"{judged.source}: {measure!r} cannot be used to defer: must be one of {have}")
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
        _grouped(options, judged.groups.get(options.by)),
        measure,
        judged.error_name,
        judged.error.acceptable,
        notes,
    )


def _grouped(options: Options, by: NDArray[Any] | None) -> NDArray[Any] | None:
    if by is not None and (values := len(np.unique(by.astype(str)))) > MOST_GROUPS:
        raise BadFile(
            f"{options.predictions}: column {options.by} has {values} values; at most {MOST_GROUPS} are groups"
        )
    return by


def _unscored(scores: NDArray[Any]) -> tuple[str, ...]:
    count = int(np.isnan(scores).sum())
    return (f"{count} units have no uncertainty: they are deferred at every threshold",) if count else ()
