"""``demur evaluate``: errors of predictions, quality of their uncertainty, and a report."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from click import option

from models.assessment.convention import CONVENTIONS
from models.evaluation import evaluate as evaluating
from models.evaluation.compare import Comparison, Interval, compare, same_units
from models.evaluation.evaluate import Evaluation, Section, mean_and_deviation, plain
from models.evaluation.unit_errors import BadFile, ErrorOptions, UnitErrors
from services.cli.options import Options, command, convention_option, json_option, many, require, switch
from services.cli.output import BadInput, ProgressLine, print_json, table
from services.cli.predictions import FORM_NAME, companion_options, companions, read_files


@command("evaluate", example="demur evaluate --task regression --predictions ensemble.npz single.npz --report report")
@option("--task", required=True, type=FORM_NAME, help="Task or form of the files.")
@many("--predictions", required=True, type=Path, metavar="FILE", help="One or more files; several are compared.")
@option("--error", help="Error to judge by (generic: the column that holds it).  [default: the task's]")
@option("--acceptable", type=float, help="Largest acceptable error.  [default: the task's]")
@option("--by", multiple=True, metavar="COLUMN", help="Column to break figures down by; may be repeated.")
@option("--at", multiple=True, type=float, metavar="RETENTION", help="Retention to report, 0 to 1; may be repeated.")
@convention_option
@option("--bins", type=int, help="Bins of calibration figures.  [default: 500 from 100,000 units on]")
@companion_options
@switch("--singles", help="Files are members of one ensemble: report mean ± σ, no differences.")
@option("--human-error", type=float, help="Mean error of reviewers, for the report.  [default: 0]")
@json_option
@option("--report", type=Path, metavar="DIR", help="Folder for a report with figures.")
def evaluate(options: Options) -> int:
    """Evaluate predictions: their errors, and how well their uncertainty ranks them."""
    _check(options)
    request = ErrorOptions(
        convention=CONVENTIONS[options.convention],
        error=options.error,
        acceptable=options.acceptable,
        bins=options.bins,
        by=tuple(options.by),
        head=options.head,
        companions=companions(options),
    )
    # what exceeds float64 is infinite, and what does not exist NaN: figures say so, numpy need not
    with np.errstate(all="ignore"):
        try:
            files = read_files(options.task, options.predictions, request)
            for other in files[1:]:
                same_units(files[0], other)
            if options.singles:
                files = [replace(file, members=1) for file in files]
            together = len(files) > 1 and all(file.members == 1 for file in files)
            comparison = None if len(files) == 1 or options.singles else compare(files, ProgressLine("comparing"))
            line = ProgressLine("judging")
            evaluations = []
            for number, judged in enumerate(files, 1):
                evaluations.append(_judge(judged, request.by, tuple(options.at)))
                line(number / len(files), judged.source)
            page = _report(options, evaluations, comparison) if options.report else None
        except BadFile as error:
            raise BadInput(str(error)) from error
    document = _document(evaluations, comparison, together)
    if options.json:
        print_json(plain(document))
    else:
        print("\n".join(lines(evaluations, comparison, document.get("mean_sd"))))
        if page:
            print(f"\nreport: {page}")
    return 0


def _check(options: Options) -> None:
    require(options, "bins", lambda value: value >= 1, "at least 1")
    for name in ("acceptable", "human_error"):
        require(options, name, lambda value: 0 <= value < math.inf, "a finite error of at least 0")
    require(options, "at", lambda value: 0 <= value <= 1, "a retention between 0 and 1")
    if len({path.resolve() for path in options.predictions}) < len(options.predictions):
        raise BadInput("--predictions: the same file occurs twice")
    if options.report is not None:
        _check_report(options.report)
    elif options.human_error is not None:
        raise BadInput("--human-error: only for the report; give --report too")


def _check_report(report: Path) -> None:
    """Check that the report can be written, before hours of work."""
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
        return evaluating.evaluate(judged, by, at)
    except BadFile:
        raise
    except ValueError as error:  # numbers that no figure can be made of; the figure says which
        raise BadFile(f"{judged.source}: {error}") from error


def _report(options: Options, evaluations: Sequence[Evaluation], comparison: Comparison | None) -> Path:
    from services.report import write_report

    try:
        return write_report(
            options.report, evaluations, comparison, options.human_error or 0.0, ProgressLine("drawing")
        )
    except OSError as error:
        raise BadInput(f"--report {options.report} cannot be written: {error}") from error


def _document(evaluations: Sequence[Evaluation], comparison: Comparison | None, together: bool) -> dict[str, Any]:
    """Return the document of one file, or a list of several with their comparison."""
    if len(evaluations) == 1:
        return evaluations[0].document()
    document: dict[str, Any] = {"files": [evaluation.document() for evaluation in evaluations]}
    if comparison is not None:
        document["comparison"] = comparison.document()
    if together:
        document["mean_sd"] = mean_and_deviation(tuple(evaluation.full for evaluation in evaluations))
    return document


HEADLINE = (
    "n",
    "error",
    "r_auc",
    "r_auc_random",
    "r_auc_optimal",
    "prr",
    "f1_auc",
    "f1_auc_random",
    "f1_auc_optimal",
    "f1_at_95",
    "roc_auc",
    "aupr",
    "augrc",
    "e_aurc",
)
MOST_GROUPS = 200
PER_MEASURE = ("r_auc", "prr", "f1_auc", "f1_at_95", "roc_auc", "aupr", "augrc")


def lines(
    evaluations: Sequence[Evaluation], comparison: Comparison | None, mean_sd: Mapping[str, Mapping[str, float]] | None
) -> Iterator[str]:
    """Yield the tables of each file, then the comparison."""
    for number, evaluation in enumerate(evaluations):
        yield from _file(evaluation, first=number == 0)
    if mean_sd:
        yield from ("", f"mean ± σ of {len(evaluations)} files")
        yield from table([], ([name, _spread(mean_sd, name)] for name in mean_sd if _exists(mean_sd[name]["mean"])))
    if comparison:
        yield from ("", f"difference from {comparison.reference}, {comparison.level:.0%} paired-bootstrap interval")
        yield f"of {comparison.resamples} resamples; * excludes 0"
        rows = (
            [name, *(_interval(differences[name]) for differences in comparison.differences.values())]
            for name in next(iter(comparison.differences.values()))
        )
        yield from table(["", *comparison.differences], rows)


def _file(evaluation: Evaluation, *, first: bool) -> Iterator[str]:
    judged = evaluation.judged
    unit = "" if judged.error.unit == "1" else f" {judged.error.unit}"
    limit = "none" if judged.error.acceptable is None else f"{judged.error.acceptable:g}{unit}"
    if not first:
        yield ""
    yield judged.source
    yield (
        f"error: {judged.error_name}{unit and ' in' + unit}; acceptable: {limit}; "
        f"measure: {judged.measure_name}; convention: {judged.rules.convention.name}"
    )
    sections = {"full": evaluation.full, **evaluation.domains}
    values = {name: part.scalars() for name, part in sections.items()}
    names = [*HEADLINE, *evaluation.full.own]
    kept = [name for name in names if any(_exists(part[name]) for part in values.values())]
    singles = mean_and_deviation(evaluation.singles) if evaluation.singles else {}
    head = ["", *sections, *(["a member alone"] if singles else [])]
    rows = (
        [name, *(_number(part[name]) for part in values.values()), *([_spread(singles, name)] if singles else [])]
        for name in kept
    )
    yield from table(head, rows)
    if evaluation.full.points:
        yield ""
        yield from _points(sections)
    for column, parts in evaluation.groups.items():
        yield ""
        yield from _groups(column, parts)
    if len(evaluation.full.measures) > 1:
        yield ""
        yield from _measures(evaluation.full, judged.diagnostics)
    if len(evaluation.full.errors) > 1:
        yield ""
        kept = _existing(evaluation.full.errors.values(), ("error", *PER_MEASURE))
        rows = ([name, *(_number(getattr(part, key)) for key in kept)] for name, part in evaluation.full.errors.items())
        yield from table(["error", *(key.replace("error", "mean") for key in kept)], rows)
    yield from (f"note: {note}" for note in judged.notes)


def _groups(column: str, parts: Mapping[str, Section]) -> Iterator[str]:
    """Yield a row for each of the largest groups of a column."""
    largest = sorted(parts, key=lambda value: -parts[value].headline.n)[:MOST_GROUPS]
    shown = [value for value in parts if value in set(largest)]
    kept = _existing([parts[value].headline for value in shown], ("n", "error", *PER_MEASURE))
    yield from table(
        [column, *kept], ([value, *(_number(getattr(parts[value].headline, name)) for name in kept)] for value in shown)
    )
    if len(shown) < len(parts):
        yield f"the {len(shown)} largest of {len(parts)} groups; --json has all"


def _points(sections: Mapping[str, Section]) -> Iterator[str]:
    head = ["retention", "", "error, of all", "error, of the answered", "f1"]
    rows = (
        [f"{point.retention:g}", name, _number(point.error), _number(point.answered_error), _number(point.f1)]
        for name, part in sections.items()
        for point in part.points
    )
    yield from table(head, rows)


def _measures(part: Section, diagnostics: frozenset[str]) -> Iterator[str]:
    kept = _existing(part.measures.values(), PER_MEASURE)
    rows = (
        [name + (" *" if name in diagnostics else ""), *(_number(getattr(figures, key)) for key in kept)]
        for name, figures in part.measures.items()
    )
    yield from table(["measure", *kept], rows)
    if diagnostics & part.measures.keys():
        yield "* needs the label: a diagnostic, not a measure to defer by"


def _existing(figures: Iterable[object], names: Sequence[str]) -> list[str]:
    rows = list(figures)
    return [name for name in names if any(_exists(getattr(row, name)) for row in rows)]


def _exists(value: float) -> bool:
    return not math.isnan(value)


def _spread(figures: Mapping[str, Mapping[str, float]], name: str) -> str:
    """Return mean and standard deviation over members; empty for figures that members do not share, such as n."""
    return f"{_number(figures[name]['mean'])} ± {_number(figures[name]['sd'])}" if name in figures else ""


def _interval(interval: Interval) -> str:
    mark = "*" if interval.low > 0 or interval.high < 0 else " "
    return f"{_number(interval.difference)} [{_number(interval.low)}, {_number(interval.high)}]{mark}"


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    return "–" if math.isnan(value) else f"{value:.5g}"
