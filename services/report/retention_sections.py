"""Sections of error and F1 against retention, and of the error of the answers or of the whole system."""

import math
from collections.abc import Sequence
from dataclasses import replace

from services.report import captions, charts, glossary
from services.report.block import Block, File, Note, Panel, file_legend, notes, of_first, references, spoken
from services.report.charts import Mark, Series
from services.report.curves import OPERATING_POINT
from services.report.drawing import NARROW, WIDE, Frame
from services.report.number_format import as_given, numeral, percent, with_unit

RETENTION = "retention: share of units answered"
_ALL_GOOD = 1.0
_MOST_FLATTENED = 3.0


def error_retention(files: Sequence[File]) -> Block:
    """Return error-retention curves, a panel per domain."""
    judged = files[0].evaluation.judged
    name, unit = captions.mean_error(judged), judged.error.unit
    panels, domains = [], _domains(files)
    for domain in domains:
        have = [file for file in files if domain in file.curves]
        curves = {file.place: file.curves[domain] for file in have}
        series = [Series(file.place, file.name, *curves[file.place].error.points) for file in have]
        first = have[0]
        series += references(first, len(files), curves[first.place].references)
        marks = [Mark(place, OPERATING_POINT, curve.error_at_95) for place, curve in curves.items()]
        at_95 = with_unit(curves[first.place].error_at_95, unit)
        marks[0] = replace(marks[0], text=f"at 95\u202f%: {at_95}")
        caption = _error_caption(have, files, domain, unit)
        frame = Frame(
            f"error-retention-{domain}",
            captions.DOMAINS[domain],
            RETENTION,
            captions.axis(f"{name} over all units", unit),
            f"Error-retention, {captions.DOMAINS[domain].lower()}. {spoken(caption)}",
            top=_height(files),
            width=_width(domains),
        )
        panels.append(Panel(charts.lines(frame, series, marks, OPERATING_POINT), caption))
    lead = (
        "The less certain units are deferred to a human who makes no error: this is the system error, of model and "
        "human together. The lower the curve, the better. "
        f"Dots mark 95\u202f% retention{of_first(files)}; values divide by all units, answered or not."
    )
    return Block("error-retention", "Error against retention", lead, tuple(panels), file_legend(files, references=True))


def f1_retention(files: Sequence[File]) -> Block | None:
    """Return F1-retention curves, a panel per domain; None if no file has any."""
    panels, domains = [], _domains(files)
    for domain in domains:
        have = [file for file in files if domain in file.curves and file.curves[domain].f1 is not None]
        if not have:
            continue
        series: list[Series] = []
        marks: list[Mark] = []
        lines = []
        for file in have:
            curves = file.curves[domain]
            assert curves.f1 is not None
            series.append(Series(file.place, file.name, *curves.f1.points))
            text = "" if marks else f"F1@95: {numeral(curves.f1_at_95, '1')}"
            marks.append(Mark(file.place, curves.f1_marked, curves.f1_at_95, text))
            figures = file.section(domain).headline
            lines.append((file, f"F1-AUC {numeral(figures.f1_auc, '1')}, F1@95 {numeral(figures.f1_at_95, '1')}"))
        series += references(have[0], len(files), have[0].curves[domain].f1_references)
        title = captions.DOMAINS[domain]
        if len(files) == 1:
            figures = have[0].section(domain).headline
            ends = (numeral(figures.f1_auc_random, "1"), numeral(figures.f1_auc_optimal, "1"))
            lines.append((have[0], f"F1-AUC at random {ends[0]}, optimal {ends[1]}"))
        caption = notes(lines, files)
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
        panels.append(Panel(charts.lines(frame, series, marks, marks[0].x), caption))
    if not panels:
        return None
    judged = files[0].evaluation.judged
    limits = (file.evaluation.judged.error.acceptable for file in files)
    limit = as_given(next(limit for limit in limits if limit is not None), judged.error.unit)
    name = glossary.error(judged.error_name).label
    lead = (
        f"“Retained” is read as a prediction of “the {name} is at most {limit}”: the higher the curve, the better. "
        f"Its peak balances answering much against answering well."
    )
    return Block("f1-retention", "F1 against retention", lead, tuple(panels), file_legend(files, references=True))


def answered_error(files: Sequence[File]) -> Block:
    """Return the mean error of the answered units alone against retention."""
    judged, curves = files[0].evaluation.judged, [file.curves["full"] for file in files]
    name, unit = captions.mean_error(judged), judged.error.unit
    series = [Series(file.place, file.name, *curve.answered.points) for file, curve in zip(files, curves, strict=True)]
    series += references(files[0], len(files), curves[0].answered_references)
    marks = [
        Mark(file.place, OPERATING_POINT, curve.answered_at[OPERATING_POINT])
        for file, curve in zip(files, curves, strict=True)
    ]
    marks[0] = replace(marks[0], text=f"at {percent(OPERATING_POINT)}: {with_unit(marks[0].y, unit)}")
    caption = _share_caption(files, unit)
    frame = Frame(
        "answered-error",
        "The model’s answers alone",
        RETENTION,
        captions.axis(f"{name} of the answered", unit),
        f"Mean error of the answers. {spoken(caption)}",
        width=WIDE,
    )
    lead = (
        "Here the errors are averaged over the answered units alone (selective risk), the most certain first. "
        f"The dot marks {percent(OPERATING_POINT)}{of_first(files)}. Errors of the people who answer the rest are left "
        "out; --human-error draws the system error with them."
    )
    panel = Panel(charts.lines(frame, series, marks, OPERATING_POINT), caption)
    return Block("answered-error", "Error of the answers", lead, (panel,), file_legend(files, references=True))


def system_error(files: Sequence[File], human_error: float) -> Block:
    """Return the mean error of model and human together against retention.

    Args:
        human_error: mean error of the human, not 0, in the error's unit.
    """
    judged = files[0].evaluation.judged
    unit = judged.error.unit
    series: list[Series] = []
    marks: list[Mark] = []
    lines = []
    for file in files:
        best = file.system
        assert best is not None
        series.append(Series(file.place, file.name, *best.line.points))
        text = f"best: {with_unit(best.best_error, unit)} at {percent(best.best_retention)}"
        marks.append(Mark(file.place, best.best_retention, best.best_error, "" if marks else text))
        least = f"{with_unit(best.best_error, unit)} with {percent(best.best_retention)} answered by the model"
        lines.append((file, f"Least error {least}, {with_unit(file.evaluation.full.headline.error, unit)} with all"))
    caption = notes(lines, files)
    who = f"with a mean error of {as_given(human_error, unit)}"
    lead = f"Somebody {who} answers what the model defers; the dot is the share that the model should answer."
    frame = Frame(
        "system-error",
        "Model and human together",
        RETENTION + " by the model",
        captions.axis(captions.mean_error(judged), unit),
        f"System error. {spoken(caption)}",
        width=WIDE,
    )
    panel = Panel(charts.lines(frame, series, marks, marks[0].x), caption)
    return Block("system-error", "Error of the whole system", lead, (panel,), file_legend(files))


def _share_caption(files: Sequence[File], unit: str) -> tuple[Note, ...]:
    """Return the curve at a few shares: a line per share for one file, a line per file for several."""
    lines: list[tuple[File, str]] = []
    for file in files:
        shares = {"all": file.evaluation.full.headline.error}
        shares |= {percent(at): value for at, value in file.curves["full"].answered_at.items()}
        ends = [f"{with_unit(value, unit)} with {share}" for share, value in shares.items()]
        ends[0] += " answered"
        lines += [(file, line) for line in (ends if len(files) == 1 else [", ".join(ends)])]
    return notes(lines, files)


def _error_caption(have: Sequence[File], files: Sequence[File], domain: str, unit: str) -> tuple[Note, ...]:
    if len(files) > 1:
        return notes([(file, f"Area {numeral(file.section(domain).headline.r_auc, unit)}") for file in have], files)
    figures = have[0].section(domain).headline
    ends = f"at random {numeral(figures.r_auc_random, unit)}, optimal {numeral(figures.r_auc_optimal, unit)}"
    return (
        Note(f"{with_unit(figures.error, unit)} with {captions.count_units(figures.n)} answered."),
        Note(f"Area {numeral(figures.r_auc, unit)}; {ends}."),
    )


def _height(files: Sequence[File]) -> float | None:
    """Return a common upper end for all domains, so that they can be compared; None if it would flatten one of them."""
    means = [part.references["random"].value[-1] for file in files for part in file.curves.values()]
    return float(max(means)) if 0 < max(means) < math.inf and max(means) < _MOST_FLATTENED * min(means) else None


def _domains(files: Sequence[File]) -> list[str]:
    return [name for name in captions.DOMAINS if any(name in file.curves for file in files)]


def _width(panels: Sequence[str]) -> int:
    return WIDE if len(panels) < 3 else NARROW
