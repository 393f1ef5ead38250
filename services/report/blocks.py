"""The report's figures in groups: what each shows, in one sentence, and what its panels say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from models.assessment.ranking import Floats
from models.evaluation.evaluate import Evaluation, Section
from services.report import charts, words
from services.report.charts import WIDE, Chart, Frame, Key, Mark, Series
from services.report.curves import OPERATING_POINT, Curves, Line, System
from services.report.histograms import Histogram
from services.report.numerals import count, given, numeral, percent, with_unit

RETENTION = "retention: share of units answered"
_ALL_GOOD = 1.0
_MOST_FLATTENED = 3.0


@dataclass(frozen=True, slots=True)
class File:
    """One evaluation with its short name and its curves."""

    place: int
    name: str
    evaluation: Evaluation
    curves: dict[str, Curves]
    """Of ``full``, and of ``in`` and ``shifted`` where there are such."""
    system: System

    def section(self, domain: str) -> Section:
        return self.evaluation.full if domain == "full" else self.evaluation.domains[domain]


@dataclass(frozen=True, slots=True)
class Note:
    """A line of a caption."""

    text: str
    file: File | None = None
    """The file that it is about, where there are several."""

    @property
    def spoken(self) -> str:
        """The line with the file's name."""
        return self.text if self.file is None else f"{self.file.name}: {self.text}"


@dataclass(frozen=True, slots=True)
class Panel:
    """A figure and what stands below it."""

    chart: Chart
    caption: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Figures that answer one question."""

    key: str
    title: str
    lead: str
    """One sentence, plain text."""
    panels: tuple[Panel, ...]
    legend: tuple[tuple[str, Key], ...] = ()


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


def uncertainty(files: Sequence[File], histograms: Sequence[Histogram | None]) -> Block | None:
    """A histogram of the uncertainty for each file."""
    panels = []
    for file, found in zip(files, histograms, strict=True):
        if found is None:
            continue
        keys = dict(zip(found.counts, _class_keys(found), strict=True))
        bars = [
            charts.Bars(keys[name], f"{name} ({count(found.counts[name])})", found.edges, shares)
            for name, shares in found.shares.items()
        ]
        judged, figures = file.evaluation.judged, file.evaluation.full.headline
        said = [", ".join(f"{name.lower()} {words.count_units(number)}" for name, number in found.counts.items())]
        said[0] = said[0][:1].upper() + said[0][1:]
        if judged.shifted is not None and len(found.counts) == 2:
            said.append(f"ROC-AUC of telling shifted units by it: {numeral(figures.roc_auc, '1')}")
        if found.above or found.below:
            said.append(f"{count(found.above + found.below)} units beyond the axis stand in the outermost bins")
        if found.left_out:
            said.append(f"{count(found.left_out)} units without a finite value are left out")
        caption = tuple(Note(f"{one}.") for one in said)
        names = list(found.counts)
        title = file.name if len(files) > 1 else " against ".join([names[0], *(name.lower() for name in names[1:])])
        frame = Frame(
            f"uncertainty-{file.place + 1}",
            title,
            f"{words.clean(judged.measure_name)}, larger is less certain" + (" (log)" if found.logarithmic else ""),
            "share of the class’s units per bin",
            f"Histogram of the uncertainty, {file.name}. {spoken(caption)}",
            logarithmic=(found.logarithmic, False),
            width=WIDE if len(files) < 3 else charts.NARROW,
        )
        panels.append(Panel(charts.histogram(frame, bars), caption))
    if not panels:
        return None
    known = [found for found in histograms if found is not None]
    entries: dict[str, Key] = {
        name: key for one in known for name, key in zip(one.counts, _class_keys(one), strict=True)
    }
    shifted = any(file.evaluation.judged.shifted is not None for file in files)
    lead = (
        "The further apart the two, the better does the uncertainty "
        + ("notice that data have shifted." if shifted else "notice answers that are not acceptable.")
        if len(entries) > 1
        else "How the uncertainty is spread over the units."
    )
    legend = tuple(entries.items()) if len(entries) > 1 else ()
    return Block("uncertainty", "How uncertain, where", lead, tuple(panels), legend)


def _class_keys(found: Histogram) -> list[Key]:
    return ["plain" if name in ("In-domain", "Acceptable error", "All units") else "marked" for name in found.counts]


def file_legend(files: Sequence[File], *, references: bool = False) -> tuple[tuple[str, Key], ...]:
    """The files by their strokes; nothing to tell for one file alone."""
    entries: list[tuple[str, Key]] = [(file.name, file.place) for file in files]
    if references:
        of = f" for {files[0].name}" if len(files) > 1 else ""
        entries += [(f"Random{of}", "random"), (f"Optimal{of}", "optimal")]
    return tuple(entries) if len(entries) > 1 else ()


def notes(said: Sequence[tuple[File, str]], files: Sequence[File]) -> tuple[Note, ...]:
    """A line a file, which is named where there are several."""
    return tuple(Note(f"{text}.", file if len(files) > 1 else None) for file, text in said)


def spoken(caption: Sequence[Note]) -> str:
    """A caption for those who cannot see strokes."""
    return " ".join(one.spoken for one in caption)


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
    return WIDE if len(panels) < 3 else charts.NARROW


def _of_first(files: Sequence[File]) -> str:
    return f", with the value for {files[0].name}" if len(files) > 1 else ""
