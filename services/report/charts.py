"""Kinds of figures: curves, histograms, agreement and intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from models.assessment.ranking import Floats
from services.report.drawing import LARGEST, Chart, Frame, apart, chart, dashes, drawn, ink
from services.report.palette import Key, stroke


@dataclass(frozen=True, slots=True)
class Series:
    """Line or cloud of points; both axes float64 [p]."""

    key: Key
    label: str
    x: Floats
    y: Floats


@dataclass(frozen=True, slots=True)
class Mark:
    """Highlighted point with its value as text."""

    key: Key
    x: float
    y: float
    text: str = ""


@dataclass(frozen=True, slots=True)
class Band:
    """Area between two lines; all float64 [p]."""

    key: Key
    x: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Bars:
    """Class of a histogram: edges [b + 1], heights [b]."""

    key: Key
    label: str
    edges: Floats
    heights: Floats


@dataclass(frozen=True, slots=True)
class Span:
    """Difference with its interval."""

    key: int
    label: str
    difference: float
    low: float
    high: float


def lines(
    frame: Frame,
    series: Sequence[Series],
    marks: Sequence[Mark] = (),
    upright: float | None = None,
    *,
    bands: Sequence[Band] = (),
    files: bool = True,
) -> Chart:
    """Draw curves over retention 0 to 1; texts of marks are written beside them, at the top.

    Args:
        upright: retention of a thin vertical line.
        files: also draw the figure as files.
    """

    def draw(axes: Any) -> None:
        axes.set_xlim(0, 1)
        for band in bands:
            colour = ink(stroke(band.key).ink)
            axes.fill_between(
                band.x, drawn(band.low), drawn(band.high), color=colour, alpha=0.2, linewidth=0, zorder=1.5
            )
        for line in reversed(series):  # the first is on top
            _line(axes, line)
        ends = [*(line.y for line in series), *(end for band in bands for end in (band.low, band.high))]
        values = [float(value) for end in ends for value in drawn(end) if value == value]
        low, high = apart(min([0.0, *values]), max([0.0, *values]) if frame.top is None else frame.top)
        axes.set_ylim(0.0 if not values or min(values) >= 0 else low, high + (0.12 if marks else 0.04) * (high - low))
        if upright is not None:
            axes.axvline(upright, color=ink("soft"), linewidth=0.8, dashes=(1, 2), zorder=1)
        for mark in marks:
            if not abs(mark.y) <= LARGEST:
                continue
            axes.plot([mark.x], [mark.y], "o", color=ink(stroke(mark.key).ink), markersize=6, zorder=6, clip_on=False)
            if mark.text:
                right = mark.x > 0.5
                axes.text(
                    mark.x + (-0.015 if right else 0.015),
                    0.985,
                    mark.text,
                    transform=axes.get_xaxis_transform(),
                    ha="right" if right else "left",
                    va="top",
                    color=ink(stroke(mark.key).ink),
                    fontweight="bold",
                )

    return chart(frame, draw, [(line.label, line.key) for line in series], files=files)


def histogram(frame: Frame, bars: Sequence[Bars]) -> Chart:
    """Draw filled steps, with a colour and a dash for each class."""

    def draw(axes: Any) -> None:
        for group in bars:
            pen = stroke(group.key)
            edges, colour, style = group.edges, ink(pen.ink), dashes(pen.dash)
            axes.stairs(group.heights, edges, fill=True, color=colour, alpha=0.22, linewidth=0, zorder=2)
            axes.stairs(group.heights, edges, color=colour, linewidth=1.6, linestyle=style, zorder=3)
        axes.set_xlim(float(bars[0].edges[0]), float(bars[0].edges[-1]))
        axes.set_ylim(0, 1.08 * max(float(group.heights.max()) for group in bars))

    return chart(frame, draw, [(group.label, group.key) for group in bars])


def agreement(frame: Frame, clouds: Sequence[Series]) -> Chart:
    """Draw points against the diagonal, on equal axes."""

    def draw(axes: Any) -> None:
        values = [
            float(value) for cloud in clouds for part in (cloud.x, cloud.y) for value in drawn(part) if value == value
        ]
        low, high = apart(min(values), max(values))
        if frame.logarithmic[0]:
            room = max(1.2, 10 ** (0.04 * (math.log10(high) - math.log10(low))))
            low, high = low / room, high * room
        else:
            room = 0.06 * (high - low)
            low, high = max(0.0, low - room) if min(values) >= 0 else low - room, high + room
        axes.plot([low, high], [low, high], color=ink("random"), linewidth=1.2, dashes=(4, 2.2), zorder=1)
        for cloud, form in zip(clouds, "os^Dv" * len(clouds), strict=False):
            colour = ink(stroke(cloud.key).ink)
            axes.plot(
                drawn(cloud.x),
                drawn(cloud.y),
                form,
                color=colour,
                markersize=4.6,
                alpha=0.85,
                markeredgewidth=0,
                zorder=3,
            )
        axes.set_xlim(low, high)
        axes.set_ylim(low, high)

    return chart(frame, draw, [(cloud.label, cloud.key) for cloud in clouds])


def intervals(frame: Frame, spans: Sequence[Span]) -> Chart:
    """Draw differences from zero, one row each; dots are filled if the interval excludes zero."""

    def draw(axes: Any) -> None:
        axes.axvline(0, color=ink("soft"), linewidth=1.0, zorder=1)
        for row, span in enumerate(spans):
            colour = ink(stroke(span.key).ink)
            sure = span.low > 0 or span.high < 0
            axes.plot([span.low, span.high], [row, row], color=colour, linewidth=2.2, solid_capstyle="butt", zorder=2)
            fill = colour if sure else ink("paper")
            axes.plot([span.difference], [row], "o", markersize=7.5, color=colour, markerfacecolor=fill, zorder=3)
            axes.text(
                *(0, row - 0.3),
                span.label,
                transform=axes.get_yaxis_transform(),
                va="bottom",
                color=ink("ink"),
                bbox={"facecolor": ink("paper"), "edgecolor": "none", "pad": 1.5},
                zorder=4,
            )
        reach = 1.12 * max(abs(end) for span in spans for end in (span.low, span.high, span.difference))
        axes.set_xlim(*apart(-reach, reach))
        axes.set_ylim(len(spans) - 0.6, -0.8)
        axes.set_yticks([])
        axes.locator_params(axis="x", nbins=5)

    return chart(frame, draw, [])


def _line(axes: Any, series: Series) -> None:
    pen = stroke(series.key)
    order = 3 if isinstance(series.key, int) else 2
    colour = ink(pen.ink)
    if len(series.x) == 1:
        axes.plot(series.x, drawn(series.y), "o", color=colour, markersize=4, zorder=order)
        return
    style = dashes(pen.dash, pen.width)
    axes.plot(
        series.x, drawn(series.y), color=colour, linewidth=pen.width, linestyle=style, zorder=order, clip_on=False
    )
