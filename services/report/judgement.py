"""Figures that judge more than a ranking: whether variances have the size of errors, and whether files differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.assessment import regression_calibration as calibration
from models.evaluation.compare import Comparison, Interval
from services.report import charts, glossary, naming, words
from services.report.block import Block, File, Note, Panel, file_legend, notes, spoken
from services.report.charts import Series, Span
from services.report.curves import r3_line
from services.report.drawing import WIDE, Frame
from services.report.numerals import count, numeral, percent
from services.report.ranges import LARGEST, drawn

_MOST_DRAWN = 50
_CALIBRATION = {"ence": "ENCE", "cv": "Cv", "lence": "LENCE"}
"""Points of one file in the figure of bins; figures in the caption are of all bins."""
_LOG_SPAN = 30.0


def variances(files: Sequence[File]) -> Block | None:
    """RMSE against RMV by bin, and RMSE / RMV by retention; None where no file holds variances."""
    have = [file for file in files if file.evaluation.judged.normals is not None]
    if not have:
        return None
    clouds, curves = [], []
    said: list[tuple[File, str]] = []
    ends: list[tuple[File, str]] = []
    for file in have:
        normals = file.evaluation.judged.normals
        assert normals is not None
        squared = np.square(np.asarray(normals.target, np.float64) - normals.mean)
        bins = calibration.bins_by_variance(squared, normals.variance, bins=normals.bins)
        own = {"ence": calibration.ence(bins), **file.evaluation.full.own}
        figures = [f"{label} {numeral(own[name], '1')}" for name, label in _CALIBRATION.items() if name in own]
        said.append((file, ", ".join(figures)))
        if len(bins.rmse) > _MOST_DRAWN:
            bins = calibration.bins_by_variance(squared, normals.variance, bins=_MOST_DRAWN)
        shown = np.isfinite(drawn(bins.rmv)) & np.isfinite(drawn(bins.rmse))
        if shown.any():
            clouds.append(Series(file.place, file.name, bins.rmv[shown], bins.rmse[shown]))
        line = r3_line(calibration.r3_curve(squared, normals.variance))
        if len(line.value):
            curves.append(Series(file.place, file.name, line.retention, line.value))
            ends.append((file, f"{numeral(float(line.value[-1]))} over all rows"))
    unit = have[0].evaluation.judged.normals.unit  # type: ignore[union-attr]
    panels = []
    if clouds:
        panels.append(_bins_panel(clouds, unit, notes(said, files)))
    if curves:
        panels.append(_r3_panel(curves, notes(ends, files)))
    if not panels:
        return None
    lead = (
        "Rows are binned by predicted variance. On the diagonal, errors are as large as announced; above it the model "
        "is too sure of itself."
    )
    return Block("calibration", "Are variances as large as errors?", lead, tuple(panels), file_legend(files))


def _bins_panel(clouds: Sequence[Series], unit: str, caption: tuple[Note, ...]) -> Panel:
    values = np.concatenate([part for one in clouds for part in (one.x, one.y)])
    log = bool((values > 0).all() and values.max() > _LOG_SPAN * values.min())
    frame = Frame(
        "calibration-bins",
        "Root mean squared error by bin",
        words.axis("root mean predicted variance", unit),
        words.axis("root mean squared error", unit),
        f"RMSE against RMV of bins by variance, with the diagonal. {spoken(caption)}",
        width=WIDE,
        logarithmic=(log, log),
    )
    return Panel(charts.agreement(frame, clouds), caption)


def _r3_panel(curves: Sequence[Series], ends: tuple[Note, ...]) -> Panel:
    caption = (*ends, Note("Above 1 variances are too small, below 1 too large."))
    frame = Frame(
        "calibration-r3",
        "RMSE / RMV of what is retained",
        "retention, least variance first",
        "RMSE / RMV",
        f"R3 curve with the line at 1. {spoken(caption)}",
        width=WIDE,
        level=1.0,
    )
    return Panel(charts.lines(frame, curves), caption)


def differences(files: Sequence[File], comparison: Comparison) -> Block | None:
    """Differences from the first file with their intervals, a panel a figure."""
    places = {file.evaluation.judged.source: file for file in files}
    panels = []
    for figure in compared(comparison):
        known = glossary.definition(figure)
        unit = files[0].evaluation.units.get(figure, "1")
        spans, said = [], []
        for source, figures in comparison.differences.items():
            one = figures.get(figure)
            if one is None or not all(abs(end) <= LARGEST for end in (one.difference, one.low, one.high)):
                continue
            file = places.get(source)
            name = file.name if file else naming.clean(source)
            spans.append(Span(file.place if file else 0, name, one.difference, one.low, one.high))
            said.append(f"{name} {reading(figure, one)}")
        if not spans:
            continue
        height = 84 + 44 * len(spans)
        frame = Frame(
            f"difference-{figure.replace('_', '-')}",
            f"{known.label} ({known.better} is better)" if known.better else known.label,
            words.axis("difference", unit),
            "",
            f"Difference in {known.label}. {' '.join(said)}",
            height=height,
        )
        panels.append(Panel(charts.intervals(frame, spans), ()))
    if not panels:
        return None
    names = naming.labels([comparison.reference])
    reference = places[comparison.reference].name if comparison.reference in places else names[0]
    lead = (
        f"Each file minus {reference}, with {percent(comparison.level)} intervals from {count(comparison.resamples)} "
        "paired resamples of the units. A full dot: the interval leaves zero out. A hollow one: it does not."
    )
    return Block("comparison", "Do the files differ?", lead, tuple(panels))


def compared(comparison: Comparison) -> list[str]:
    """Names of the figures that are compared, in the order of their first appearance."""
    return list(dict.fromkeys(figure for figures in comparison.differences.values() for figure in figures))


def reading(figure: str, interval: Interval) -> str:
    """What an interval says about a file: better, worse or not told apart from the reference."""
    if not (interval.low > 0 or interval.high < 0):
        return "not told apart"
    better = glossary.definition(figure).better
    if not better:
        return "higher" if interval.low > 0 else "lower"
    return "better" if (interval.high < 0) == (better == "lower") else "worse"
