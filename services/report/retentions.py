"""The blocks of retention: error and F1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from services.report import charts, glossary, words
from services.report.block import Block, File, Note, Panel, file_legend, notes, of_first, references, spoken
from services.report.charts import Mark, Series
from services.report.curves import OPERATING_POINT
from services.report.drawing import NARROW, WIDE, Frame
from services.report.numerals import given, numeral, with_unit

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
        series = [Series(file.place, file.name, *curves[file.place].error.points) for file in have]
        first = have[0]
        series += references(first, len(files), curves[first.place].references)
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
        "The less certain units are deferred to a human who makes no error: this is the system error, of model and "
        "human together. The lower the curve, the better. "
        f"Dots mark 95\u202f% retention{of_first(files)}; values divide by all units, answered or not."
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
            series.append(Series(file.place, file.name, *curves.f1.points))
            text = "" if marks else f"F1@95: {numeral(curves.f1_at_95, '1')}"
            marks.append(Mark(file.place, curves.f1_marked, curves.f1_at_95, text))
            figures = file.section(domain).headline
            said.append((file, f"F1-AUC {numeral(figures.f1_auc, '1')}, F1@95 {numeral(figures.f1_at_95, '1')}"))
        series += references(have[0], len(files), have[0].curves[domain].f1_references)
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
        panels.append(Panel(charts.lines(frame, series, marks, marks[0].x), caption))
    if not panels:
        return None
    judged = next(one for one in (file.evaluation.judged for file in files) if one.error.acceptable is not None)
    assert judged.error.acceptable is not None
    limit, name = given(judged.error.acceptable, judged.error.unit), glossary.error(judged.error_name).label
    lead = (
        f"“Retained” is read as a prediction of “the {name} is at most {limit}”: the higher the curve, the better. "
        f"Its peak balances answering much against answering well."
    )
    return Block("f1-retention", "F1 against retention", lead, tuple(panels), file_legend(files, references=True))


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


def _domains(files: Sequence[File]) -> list[str]:
    return [name for name in words.DOMAINS if any(name in file.curves for file in files)]


def _width(panels: Sequence[str]) -> int:
    return WIDE if len(panels) < 3 else NARROW
