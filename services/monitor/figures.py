"""Figures of a window: its retention curves, drawn like those of the report."""

import re

from models.head import Head
from models.live.window_evaluator import WindowResult
from models.live.window_figures import Curve
from services.report import glossary
from services.report.captions import axis
from services.report.charts import Band, Mark, Series, lines
from services.report.drawing import WIDE, Chart, Frame
from services.report.number_format import numeral, percent, with_unit
from services.report.palette import Key

_LIVE: Key = 0
STROKES: tuple[tuple[str, Key], ...] = (
    ("Live, with its 95 % band", _LIVE),
    ("Random", "random"),
    ("Optimal", "optimal"),
)
"""Legend of the figures: name and series."""


def figures(head: Head, judgement: WindowResult, name: str) -> list[Chart]:
    """Return error- and F1-retention of a valid window; empty for an invalid one.

    Args:
        name: prefix of the figures' names, unique in the page.

    Raises:
        BadFile: matplotlib is not installed.
    """
    if not judgement.valid or judgement.error_curve is None:
        return []
    prefix = re.sub(r"[^A-Za-z0-9]+", "-", f"{name}-{judgement.window}-{judgement.source}")
    error = glossary.heading(glossary.mean_error(head.error))
    answered = 1 - judgement.abstained
    point, area = judgement.figures.get("error"), judgement.figures["r_auc"]
    message = f"R-AUC {with_unit(area.estimate, head.error_unit)}"
    if point is not None:
        message = (
            f"{percent(answered)} answered, with {with_unit(point.estimate, head.error_unit)} over all units; {message}"
        )
    marks = [] if point is None else [Mark(_LIVE, answered, point.estimate, numeral(point.estimate))]
    frame = Frame(
        name=f"{prefix}-error",
        title="Error-retention",
        x_label="Share answered, most certain first",
        y_label=axis(f"{error} over all units", head.error_unit),
        message=f"{message}.",
        width=WIDE,
    )
    charts = [_draw(frame, judgement.error_curve, marks, answered)]
    if judgement.f1_curve is not None:
        areas = (judgement.figures.get("f1_auc"), judgement.figures.get("f1_at_95"))
        values = [
            f"{label} {numeral(value.estimate, '1')}"
            for label, value in zip(("F1-AUC", "F1 at 95 %"), areas, strict=True)
            if value is not None
        ]
        frame = Frame(
            name=f"{prefix}-f1",
            title="F1-retention",
            x_label="Share answered, most certain first",
            y_label="F1 of answering what is acceptable",
            message=f"{', '.join(values)}.",
            width=WIDE,
        )
        charts.append(_draw(frame, judgement.f1_curve, [], answered))
    return charts


def _draw(frame: Frame, curve: Curve, marks: list[Mark], upright: float) -> Chart:
    band = curve.band
    series = [
        Series(_LIVE, "Live", band.retention, band.estimate),
        Series("random", "Random", band.retention, curve.random),
        Series("optimal", "Optimal", band.retention, curve.optimal),
    ]
    bands = [Band(_LIVE, band.retention, band.low, band.high)]
    return lines(frame, series, marks, upright, bands=bands, files=False)
