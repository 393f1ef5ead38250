"""Section of calibration: predicted variances against squared errors."""

from collections.abc import Sequence

import numpy as np

from models.assessment import regression_calibration as calibration
from services.report import captions, charts
from services.report.block import Block, File, Note, Panel, file_legend, notes, spoken
from services.report.charts import Series
from services.report.curves import r3_line
from services.report.drawing import WIDE, Frame, drawn
from services.report.number_format import numeral

_MOST_DRAWN = 50
_CALIBRATION = {"ence": "ENCE", "cv": "Cv", "lence": "LENCE"}
"""Figures of the caption, over all bins even if fewer are drawn."""
_LOG_SPAN = 30.0


def variances(files: Sequence[File]) -> Block | None:
    """Return RMSE against RMV by bin, and RMSE / RMV by retention; None if no file has variances."""
    have = [file for file in files if file.evaluation.judged.normals is not None]
    if not have:
        return None
    clouds, curves = [], []
    lines: list[tuple[File, str]] = []
    ends: list[tuple[File, str]] = []
    for file in have:
        normals = file.evaluation.judged.normals
        assert normals is not None
        squared = np.square(np.asarray(normals.target, np.float64) - normals.mean)
        bins = calibration.bins_by_variance(squared, normals.variance, bins=normals.bins)
        own = {"ence": calibration.ence(bins), **file.evaluation.full.own}
        figures = [f"{label} {numeral(own[name], '1')}" for name, label in _CALIBRATION.items() if name in own]
        lines.append((file, ", ".join(figures)))
        if len(bins.rmse) > _MOST_DRAWN:
            bins = calibration.bins_by_variance(squared, normals.variance, bins=_MOST_DRAWN)
        finite = np.isfinite(drawn(bins.rmv)) & np.isfinite(drawn(bins.rmse))
        if finite.any():
            clouds.append(Series(file.place, file.name, bins.rmv[finite], bins.rmse[finite]))
        line = r3_line(calibration.r3_curve(squared, normals.variance))
        if len(line.value):
            curves.append(Series(file.place, file.name, line.retention, line.value))
            ends.append((file, f"{numeral(float(line.value[-1]))} over all rows"))
    unit = have[0].evaluation.judged.normals.unit  # type: ignore[union-attr]
    panels = []
    if clouds:
        panels.append(_bins_panel(clouds, unit, notes(lines, files)))
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
    values = np.concatenate([part for cloud in clouds for part in (cloud.x, cloud.y)])
    log = bool((values > 0).all() and values.max() > _LOG_SPAN * values.min())
    frame = Frame(
        "calibration-bins",
        "Root mean squared error by bin",
        captions.axis("root mean predicted variance", unit),
        captions.axis("root mean squared error", unit),
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
