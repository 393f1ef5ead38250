"""The blocks of retention: error, F1, and the error of model and human together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from models.assessment.ranking import Floats
from services.report import charts, words
from services.report.block import Block, File, Note, Panel, file_legend, notes, spoken
from services.report.charts import Mark, Series
from services.report.curves import OPERATING_POINT, Line
from services.report.drawing import NARROW, WIDE, Frame
from services.report.numerals import given, numeral, percent, with_unit

RETENTION = "retention: share of units answered"
_ALL_GOOD = 1.0
_MOST_FLATTENED = 3.0


def error_retention(files: Sequence[File]) -> Block:
    """Error-retention curves, a panel a domain."""
    judged = files[0].evaluation.judged
    name, unit = words.mean_error(judged), judged.error.unit
    panels, domains = [], _domains(files)
    for domain in domains:
        have = [file for file in files if domain in file.curves]
        curves = {file.place: file.curves[domain] for file in have}
        series = [Series(file.place, file.name, *_points(curves[file.place].error)) for file in have]
        first = have[0]
        series += _references(first, len(files), curves[first.place].references)
        marks = [Mark(place, OPERATING_POINT, one.error_at_95) for place, one in curves.items()]
        at_95 = with_unit(curves[first.place].error_at_95, unit)
        marks[0] = replace(marks[0], text=f"at 95\u202f%: {at_95}")
        caption = _error_caption(have, files, domain, unit)
        frame = Frame(
            f"error-retention-{domain}",
            words.DOMAINS[domain],
            RETENTION,
            words.axis(f"{name} over all units", unit),
            f"Error-retention, {words.DOMAINS[domain].lower()}. {spoken(caption)}",
            top=_height(files),
            width=_width(domains),
        )
        panels.append(Panel(charts.lines(frame, series, marks, OPERATING_POINT), caption))
    lead = (
        "The less certain units are deferred, and count as answered without error: the lower the curve, the better. "
        f"Dots mark 95\u202f% retention{_of_first(files)}; values divide by all units, answered or not."
    )
    return Block("error-retention", "Error against retention", lead, tuple(panels), file_legend(files, references=True))


def f1_retention(files: Sequence[File]) -> Block | None:
    """F1-retention curves, a panel a domain; None where no file has any."""
    panels, domains = [], _domains(files)
    for domain in domains:
        have = [file for file in files if domain in file.curves and file.curves[domain].f1 is not None]
        if not have:
            continue
        series: list[Series] = []
        marks: list[Mark] = []
        said = []
        for file in have:
            curves = file.curves[domain]
            assert curves.f1 is not None
            series.append(Series(file.place, file.name, *_points(curves.f1)))
            text = "" if marks else f"F1@95: {numeral(curves.f1_at_95, '1')}"
            marks.append(Mark(file.place, curves.f1_marked, curves.f1_at_95, text))
            figures = file.section(domain).headline
            said.append((file, f"F1-AUC {numeral(figures.f1_auc, '1')}, F1@95 {numeral(figures.f1_at_95, '1')}"))
        series += _references(have[0], len(files), have[0].curves[domain].f1_references)
        title = words.DOMAINS[domain]
        if len(files) == 1:
            figures = have[0].section(domain).headline
            ends = (numeral(figures.f1_auc_random, "1"), numeral(figures.f1_auc_optimal, "1"))
            said.append((have[0], f"F1-AUC at random {ends[0]}, optimal {ends[1]}"))
        caption = notes(said, files)
        message = f"F1-retention, {title.lower()}. {spoken(caption)}"
        frame = Frame(
            f"f1-retention-{domain}",
            title,
            RETENTION,
            "F1 of acceptable answers",
            message,
            _ALL_GOOD,
            width=_width(domains),
        )
        panels.append(Panel(charts.lines(frame, series, marks, OPERATING_POINT), caption))
    if not panels:
        return None
    error = next(file.evaluation.judged.error for file in files if file.evaluation.judged.error.acceptable is not None)
    assert error.acceptable is not None
    limit = given(error.acceptable, error.unit)
    lead = (
        f"“Retained” is read as a prediction of “the error is at most {limit}”: the higher the curve, the better. "
        f"Its peak balances answering much against answering well."
    )
    return Block("f1-retention", "F1 against retention", lead, tuple(panels), file_legend(files, references=True))


def system_error(files: Sequence[File], human_error: float) -> Block:
    """Mean error of model and human together against retention."""
    judged = files[0].evaluation.judged
    unit = judged.error.unit
    series = [Series(file.place, file.name, *_points(file.system.line)) for file in files]
    marks: list[Mark] = []
    said = []
    for file in files:
        best = file.system
        model = with_unit(file.evaluation.full.headline.error, unit)
        if not human_error:
            said.append((file, f"{model} with all answered by the model"))
            continue
        text = f"best: {with_unit(best.best_error, unit)} at {percent(best.best_retention)}"
        marks.append(Mark(file.place, best.best_retention, best.best_error, "" if marks else text))
        least = f"{with_unit(best.best_error, unit)} with {percent(best.best_retention)} answered by the model"
        said.append((file, f"Least error {least}, {model} with all"))
    caption = notes(said, files)
    if human_error:
        who = f"with a mean error of {given(human_error, unit)}"
        lead = f"Somebody {who} answers what the model defers; the dot is the share that the model should answer."
    else:
        lead = (
            "Somebody who makes no error answers what the model defers: then every deferral helps, and the curve shows "
            "what each share answered by the model costs."
        )
    frame = Frame(
        "system-error",
        "Model and human together",
        RETENTION + " by the model",
        words.axis(words.mean_error(judged), unit),
        f"System error. {spoken(caption)}",
        width=WIDE,
    )
    panel = Panel(charts.lines(frame, series, marks, marks[0].x if marks else None), caption)
    return Block("system-error", "Error of the whole system", lead, (panel,), file_legend(files))


def _error_caption(have: Sequence[File], files: Sequence[File], domain: str, unit: str) -> tuple[Note, ...]:
    if len(files) > 1:
        return notes([(file, f"Area {numeral(file.section(domain).headline.r_auc, unit)}") for file in have], files)
    figures = have[0].section(domain).headline
    ends = f"at random {numeral(figures.r_auc_random, unit)}, optimal {numeral(figures.r_auc_optimal, unit)}"
    return (
        Note(f"{with_unit(figures.error, unit)} with {words.count_units(figures.n)} answered."),
        Note(f"Area {numeral(figures.r_auc, unit)}; {ends}."),
    )


def _height(files: Sequence[File]) -> float | None:
    """One upper end for all domains, so that they can be compared; None where it would flatten one of them."""
    means = [part.references["random"].value[-1] for file in files for part in file.curves.values()]
    return float(max(means)) if 0 < max(means) < math.inf and max(means) < _MOST_FLATTENED * min(means) else None


def _references(file: File, files: int, references: dict[str, Line]) -> list[Series]:
    of = f" for {file.name}" if files > 1 else ""
    return [
        Series(key, f"{key.capitalize()}{of}", *_points(references[key]))
        for key in ("random", "optimal")
        if key in references
    ]


def _points(line: Line) -> tuple[Floats, Floats]:
    return line.retention, line.value


def _domains(files: Sequence[File]) -> list[str]:
    return [name for name in words.DOMAINS if any(name in file.curves for file in files)]


def _width(panels: Sequence[str]) -> int:
    return WIDE if len(panels) < 3 else NARROW


def _of_first(files: Sequence[File]) -> str:
    return f", with the value for {files[0].name}" if len(files) > 1 else ""
