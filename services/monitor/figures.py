"""The retention curves of a judgement, drawn as the report's are."""

from __future__ import annotations

import re

from models.head import Head
from models.live.window_evaluator import WindowResult
from models.live.window_figures import Curve
from services.report import glossary
from services.report.charts import Band, Mark, Series, lines
from services.report.drawing import WIDE, Chart, Frame
from services.report.numerals import numeral, percent, with_unit
from services.report.palette import Key
from services.report.words import axis

_LIVE: Key = 0


def strokes() -> tuple[tuple[str, Key], ...]:
    """What the lines mean."""
    return (("Live, with its 95 % band", _LIVE), ("Random", "random"), ("Optimal", "optimal"))


def figures(head: Head, one: WindowResult, name: str) -> list[Chart]:
    """Error- and F1-retention of a valid window; nothing of one that is not.

    Args:
        name: unique in the page.

    Raises:
        BadFile: matplotlib is not installed.
    """
    if not one.valid or one.error_curve is None:
        return []
    prefix = re.sub(r"[^A-Za-z0-9]+", "-", f"{name}-{one.window}-{one.source}")
    error = glossary.heading(glossary.mean_error(head.error))
    answered = 1 - one.abstained
    point, area = one.figures.get("error"), one.figures["r_auc"]
    words = f"R-AUC {with_unit(area.estimate, head.error_unit)}"
    if point is not None:
        words = (
            f"{percent(answered)} answered, with {with_unit(point.estimate, head.error_unit)} over all units; {words}"
        )
    marks = [] if point is None else [Mark(_LIVE, answered, point.estimate, numeral(point.estimate))]
    frame = Frame(
        name=f"{prefix}-error",
        title="Error-retention",
        x_label="Share answered, most certain first",
        y_label=axis(f"{error} over all units", head.error_unit),
        message=f"{words}.",
        width=WIDE,
    )
    found = [_drawn(frame, one.error_curve, marks, answered)]
    if one.f1_curve is not None:
        areas = (one.figures.get("f1_auc"), one.figures.get("f1_at_95"))
        said = [
            f"{label} {numeral(value.estimate, '1')}"
            for label, value in zip(("F1-AUC", "F1 at 95 %"), areas, strict=True)
            if value is not None
        ]
        frame = Frame(
            name=f"{prefix}-f1",
            title="F1-retention",
            x_label="Share answered, most certain first",
            y_label="F1 of answering what is acceptable",
            message=f"{', '.join(said)}.",
            width=WIDE,
        )
        found.append(_drawn(frame, one.f1_curve, [], answered))
    return found


def _drawn(frame: Frame, curve: Curve, marks: list[Mark], upright: float) -> Chart:
    band = curve.band
    series = [
        Series(_LIVE, "Live", band.retention, band.estimate),
        Series("random", "Random", band.retention, curve.random),
        Series("optimal", "Optimal", band.retention, curve.optimal),
    ]
    bands = [Band(_LIVE, band.retention, band.low, band.high)]
    return lines(frame, series, marks, upright, bands=bands, files=False)
