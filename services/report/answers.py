"""The block of what answers cost: of the model alone, or of model and human together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from services.report import charts, words
from services.report.block import Block, File, Note, Panel, file_legend, notes, of_first, references, spoken
from services.report.charts import Mark, Series
from services.report.curves import OPERATING_POINT
from services.report.drawing import WIDE, Frame
from services.report.numerals import given, percent, with_unit
from services.report.retentions import RETENTION


def answered_error(files: Sequence[File]) -> Block:
    """Mean error of the answered units alone against retention."""
    judged, curves = files[0].evaluation.judged, [file.curves["full"] for file in files]
    name, unit = words.mean_error(judged), judged.error.unit
    series = [Series(file.place, file.name, *one.answered.points) for file, one in zip(files, curves, strict=True)]
    series += references(files[0], len(files), curves[0].answered_references)
    marks = [
        Mark(file.place, OPERATING_POINT, one.answered_at[OPERATING_POINT])
        for file, one in zip(files, curves, strict=True)
    ]
    marks[0] = replace(marks[0], text=f"at {percent(OPERATING_POINT)}: {with_unit(marks[0].y, unit)}")
    caption = _shares(files, unit)
    frame = Frame(
        "answered-error",
        "The model’s answers alone",
        RETENTION,
        words.axis(f"{name} of the answered", unit),
        f"Mean error of the answers. {spoken(caption)}",
        width=WIDE,
    )
    lead = (
        "Here the errors are divided by the units that are answered (selective risk): what an answer costs on average "
        f"where only the most certain are given. The dot marks {percent(OPERATING_POINT)}{of_first(files)}. Whoever "
        "answers the rest is not counted; --human-error draws the system error with theirs."
    )
    panel = Panel(charts.lines(frame, series, marks, OPERATING_POINT), caption)
    return Block("answered-error", "Error of the answers", lead, (panel,), file_legend(files, references=True))


def _shares(files: Sequence[File], unit: str) -> tuple[Note, ...]:
    """The curve at a few shares: a line each for one file, a line a file for several."""
    said: list[tuple[File, str]] = []
    for file in files:
        shares = {"all": file.evaluation.full.headline.error}
        shares |= {percent(at): value for at, value in file.curves["full"].answered_at.items()}
        ends = [f"{with_unit(value, unit)} with {share}" for share, value in shares.items()]
        ends[0] += " answered"
        said += [(file, one) for one in (ends if len(files) == 1 else [", ".join(ends)])]
    return notes(said, files)


def system_error(files: Sequence[File], human_error: float) -> Block:
    """Mean error of model and human together against retention; the human's is not 0."""
    judged = files[0].evaluation.judged
    unit = judged.error.unit
    series: list[Series] = []
    marks: list[Mark] = []
    said = []
    for file in files:
        best = file.system
        assert best is not None
        series.append(Series(file.place, file.name, *best.line.points))
        text = f"best: {with_unit(best.best_error, unit)} at {percent(best.best_retention)}"
        marks.append(Mark(file.place, best.best_retention, best.best_error, "" if marks else text))
        least = f"{with_unit(best.best_error, unit)} with {percent(best.best_retention)} answered by the model"
        said.append((file, f"Least error {least}, {with_unit(file.evaluation.full.headline.error, unit)} with all"))
    caption = notes(said, files)
    who = f"with a mean error of {given(human_error, unit)}"
    lead = f"Somebody {who} answers what the model defers; the dot is the share that the model should answer."
    frame = Frame(
        "system-error",
        "Model and human together",
        RETENTION + " by the model",
        words.axis(words.mean_error(judged), unit),
        f"System error. {spoken(caption)}",
        width=WIDE,
    )
    panel = Panel(charts.lines(frame, series, marks, marks[0].x), caption)
    return Block("system-error", "Error of the whole system", lead, (panel,), file_legend(files))
