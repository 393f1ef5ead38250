"""``demur evaluate``: how good predictions are, how well their uncertainty ranks them, and a report to look at."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from models.assessment.convention import CONVENTIONS
from models.evaluation.compare import Comparison, compare, same_units
from models.evaluation.evaluate import Evaluation, evaluate, mean_and_deviation, plain
from models.evaluation.unit_errors import BadFile, Options, UnitErrors
from services.cli.evaluate_text import lines
from services.cli.output import BadInput, ProgressLine, print_json
from services.cli.predictions import READERS, companion_arguments, companions, read_files

EXAMPLE = "demur evaluate --task regression --predictions ensemble.npz single.npz --report report"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--task", required=True, choices=sorted(READERS), help="what the files hold")
    parser.add_argument(
        "--predictions", required=True, nargs="+", type=Path, metavar="FILE", help="one or more; compared if several"
    )
    parser.add_argument("--error", help="error to judge by (generic: the column that holds it); default: the task's")
    parser.add_argument("--acceptable", type=float, help="largest acceptable error; default: the task's")
    parser.add_argument("--by", action="append", default=[], metavar="COLUMN", help="break figures down by a column")
    parser.add_argument(
        "--at", action="append", default=[], type=float, metavar="RETENTION", help="give the curves there, 0 to 1"
    )
    parser.add_argument(
        "--convention", choices=sorted(CONVENTIONS), default="official", help="released code or text of the papers"
    )
    parser.add_argument("--bins", type=int, help="bins of calibration figures; default: 500 from 100,000 units on")
    companion_arguments(parser)
    parser.add_argument(
        "--singles", action="store_true", help="the files are members of one ensemble: mean ± σ, no differences"
    )
    parser.add_argument(
        "--human-error", type=float, help="mean error of who answers deferred units, for the report; default 0"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON document")
    parser.add_argument("--report", type=Path, metavar="DIR", help="write a page with figures there")


def run(given: argparse.Namespace) -> int:
    """Reads all files before it judges any, so that a bad one leaves nothing half done."""
    _check(given)
    asked = Options(
        convention=CONVENTIONS[given.convention],
        error=given.error,
        acceptable=given.acceptable,
        bins=given.bins,
        by=tuple(given.by),
        head=given.head,
        companions=companions(given),
    )
    # what exceeds float64 is infinite, and what does not exist NaN: figures say so, numpy need not
    with np.errstate(all="ignore"):
        try:
            files = read_files(given.task, given.predictions, asked)
            for other in files[1:]:
                same_units(files[0], other)
            if given.singles:
                files = [replace(one, members=1) for one in files]
            together = len(files) > 1 and all(one.members == 1 for one in files)
            comparison = None if len(files) == 1 or given.singles else compare(files, ProgressLine("comparing"))
            line = ProgressLine("judging")
            evaluations = []
            for number, judged in enumerate(files, 1):
                evaluations.append(_judge(judged, asked.by, tuple(given.at)))
                line(number / len(files), judged.source)
            page = _report(given, evaluations, comparison) if given.report else None
        except BadFile as error:
            raise BadInput(str(error)) from error
    document = _document(evaluations, comparison, together)
    if given.json:
        print_json(plain(document))
    else:
        print("\n".join(lines(evaluations, comparison, document.get("mean_sd"))))
        if page:
            print(f"\nreport: {page}")
    return 0


def _check(given: argparse.Namespace) -> None:
    if given.bins is not None and given.bins < 1:
        raise BadInput(f"--bins is {given.bins}; at least 1 is needed")
    for name in ("acceptable", "human_error"):
        value = getattr(given, name)
        if value is not None and not 0 <= value < math.inf:
            raise BadInput(f"--{name.replace('_', '-')} is {value:g}; a finite error of at least 0 is needed")
    for share in given.at:
        if not 0 <= share <= 1:
            raise BadInput(f"--at is {share:g}; retention is a share between 0 and 1")
    if len({path.resolve() for path in given.predictions}) < len(given.predictions):
        raise BadInput("a file is given twice")
    if given.report is not None:
        _check_report(given.report)
    elif given.human_error is not None:
        raise BadInput("--human-error is for the report: give --report too")


def _check_report(report: Path) -> None:
    """Before hours of work, not after: whether the page can be written there."""
    from services.report.write import PAGE

    if report.is_dir():
        if any(report.iterdir()) and not (report / PAGE).is_file():
            raise BadInput(f"--report {report} holds other files; give a new directory or that of an earlier report")
        return
    there = report
    while not there.exists():
        there = there.parent
    if not there.is_dir():
        raise BadInput(f"--report {report} cannot be a directory: {there} is a file")
    if not os.access(there, os.W_OK):
        raise BadInput(f"--report {report} cannot be written: no permission in {there}")


def _judge(judged: UnitErrors, by: tuple[str, ...], at: tuple[float, ...]) -> Evaluation:
    try:
        return evaluate(judged, by, at)
    except BadFile:
        raise
    except ValueError as error:  # numbers that no figure can be made of; the figure says which
        raise BadFile(f"{judged.source}: {error}") from error


def _report(given: argparse.Namespace, evaluations: Sequence[Evaluation], comparison: Comparison | None) -> Path:
    from services.report import write_report

    try:
        return write_report(given.report, evaluations, comparison, given.human_error or 0.0, ProgressLine("drawing"))
    except OSError as error:
        raise BadInput(f"--report {given.report} cannot be written: {error}") from error


def _document(evaluations: Sequence[Evaluation], comparison: Comparison | None, together: bool) -> dict[str, Any]:
    """One file's document as it is; several as a list, with what is found between them."""
    if len(evaluations) == 1:
        return evaluations[0].document()
    document: dict[str, Any] = {"files": [one.document() for one in evaluations]}
    if comparison is not None:
        document["comparison"] = comparison.document()
    if together:
        document["mean_sd"] = mean_and_deviation(tuple(one.full for one in evaluations))
    return document
