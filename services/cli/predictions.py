"""Files of predictions as commands read them: forms of any origin and the tasks' own, with what they need besides."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from models.evaluation.unit_errors import BadFile, Options, UnitErrors
from services.cli.output import ProgressLine
from services.tasks import PREDICTIONS

FORMS = {
    "generic": "models.evaluation.generic:read",
    "regression": "models.evaluation.regression:read",
    "classification": "models.evaluation.classification:read",
}
"""Files of any origin, by what they hold; the tasks' own formats are in ``services.tasks``."""
READERS = FORMS | PREDICTIONS
COMPANIONS = ("references", "domains", "flags", "scenes", "ground_truth")


def companion_arguments(parser: argparse.ArgumentParser) -> None:
    """Options for the other files that some tasks need."""
    parser.add_argument("--references", type=Path, help="translation: reference translations, text or JSON lines")
    parser.add_argument("--domains", type=Path, help="translation: one number a line, not 0 = shifted")
    parser.add_argument("--flags", type=Path, help="translation: anomalies of sentences to break figures down by")
    parser.add_argument("--scenes", type=Path, help="motion: scenes, or the true trajectories as a submission")
    parser.add_argument(
        "--ground-truth",
        type=Path,
        help="lesion: folder of masks, if not beside the predictions; vessel, weather: the official file with the "
        "labels of a submission",
    )
    parser.add_argument("--head", help="weather: head of a scored table, temperature (default) or precipitation")


def companions(given: argparse.Namespace) -> dict[str, Any]:
    """Those that were given, by option."""
    return {name: getattr(given, name) for name in COMPANIONS if getattr(given, name) is not None}


def check_file(path: Path) -> None:
    """Raises BadFile unless a path is a file or a folder."""
    if not path.exists():
        raise BadFile(f"{path}: no such file")
    if not (path.is_file() or path.is_dir()):
        raise BadFile(f"{path} is a pipe or a device; write it to a file first")


def read_files(task: str, paths: Sequence[Path], asked: Options) -> list[UnitErrors]:
    """The files of a task or form, each as its reader judges it.

    Raises:
        BadFile: a file that is not there or not of that form, or an option that says nothing about it.
    """
    name, _, function = READERS[task].partition(":")
    module = importlib.import_module(name)
    read: Callable[[Path, Options], UnitErrors] = getattr(module, function)
    given = {*asked.companions, *(name for name in ("bins", "head") if getattr(asked, name) is not None)}
    if useless := sorted(given - module.OPTIONS):
        raise BadFile(f"--{useless[0].replace('_', '-')} says nothing about files of this task; leave it out")
    files = []
    line = ProgressLine("reading")
    for number, path in enumerate(paths, 1):
        check_file(path)
        try:
            files.append(read(path, asked))
        except BadFile:
            raise
        except ValueError as error:  # numbers that the figures refuse; they say which
            raise BadFile(f"{path}: {error}") from error
        line(number / len(paths), path.name)
    return files
