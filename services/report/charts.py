"""Figures drawn with matplotlib: once for the page (no legend, theme colours), once as files of their own."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from models.assessment.ranking import Floats
from models.evaluation.files import need
from services.report.numerals import tick
from services.report.palette import INKS, Dash, stroke
from services.report.svg import inline

Key = int | str
"""What ``palette.stroke`` takes."""
NARROW, WIDE = 360, 420
"""Width in pixels, as drawn, of a panel among three and of one with more room; the page scales it by a little."""
_HEIGHT = 0.76
"""Of the width."""
_LEGEND_ROW = 18
_PNG_DPI = 180
_SETTINGS = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "demur",
    "svg.image_inline": True,
    "text.parse_math": False,  # a file may be called $x$
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that sizes are the same everywhere
    "font.size": 11.0,
    "axes.unicode_minus": True,
    "axes.formatter.useoffset": False,
    "path.simplify": True,
}
_SYSTEM_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Chart:
    """One figure in its three forms."""

    name: str
    message: str
    """What it shows, in words."""
    inline: str
    """For the page: an ``<svg>`` element that follows the theme."""
    svg: bytes
    png: bytes


@dataclass(frozen=True, slots=True)
class Series:
    """A line or a cloud of points; both float64 [p]."""

    key: Key
    label: str
    x: Floats
    y: Floats


@dataclass(frozen=True, slots=True)
class Mark:
    """A point worth a number."""

    key: Key
    x: float
    y: float
    text: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """One class of a histogram: edges [b + 1], heights [b]."""

    key: Key
    label: str
    edges: Floats
    heights: Floats


@dataclass(frozen=True, slots=True)
class Span:
    """A difference with its interval."""

    key: int
    label: str
    difference: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Frame:
    """What surrounds the data of a figure."""

    name: str
    title: str
    x_label: str
    y_label: str
    message: str
    top: float | None = None
    """Upper end of the y axis; None leaves it to the data."""
    logarithmic: tuple[bool, bool] = (False, False)
    level: float | None = None
    """Height of a thin line across."""
    width: int = NARROW
    height: int | None = None
    """Pixels; None takes a part of the width."""


def lines(frame: Frame, series: Sequence[Series], marks: Sequence[Mark] = (), upright: float | None = None) -> Chart:
    """Curves over retention 0 to 1; the first mark with a text is written at a thin upright line."""

    def draw(axes: Any) -> None:
        axes.set_xlim(0, 1)
        for one in reversed(series):  # the first lies on top
            _line(axes, one)
        values = [float(value) for one in series for value in one.y if math.isfinite(value)]
        low, high = min([0.0, *values]), max([0.0, *values]) if frame.top is None else frame.top
        room = (0.12 if marks else 0.04) * ((high - low) or 1.0)
        axes.set_ylim(low, high + room)
        if upright is not None:
            axes.axvline(upright, color=_ink("soft"), linewidth=0.8, dashes=(1, 2), zorder=1)
        for mark in marks:
            if not math.isfinite(mark.y):
                continue
            axes.plot([mark.x], [mark.y], "o", color=_ink(stroke(mark.key).ink), markersize=6, zorder=6, clip_on=False)
            if mark.text:
                right = mark.x > 0.5
                axes.text(
                    mark.x + (-0.015 if right else 0.015),
                    0.985,
                    mark.text,
                    transform=axes.get_xaxis_transform(),
                    ha="right" if right else "left",
                    va="top",
                    color=_ink(stroke(mark.key).ink),
                    fontweight="bold",
                )

    return _chart(frame, draw, [(one.label, one.key) for one in series])


def histogram(frame: Frame, bars: Sequence[Bars]) -> Chart:
    """Filled steps, one class a colour and a dash."""

    def draw(axes: Any) -> None:
        for one in bars:
            pen = stroke(one.key)
            axes.stairs(one.heights, one.edges, fill=True, color=_ink(pen.ink), alpha=0.22, linewidth=0, zorder=2)
            axes.stairs(
                one.heights, one.edges, color=_ink(pen.ink), linewidth=1.6, linestyle=_dashes(pen.dash), zorder=3
            )
        axes.set_xlim(float(bars[0].edges[0]), float(bars[0].edges[-1]))
        axes.set_ylim(0, 1.08 * max(float(one.heights.max()) for one in bars))

    return _chart(frame, draw, [(one.label, one.key) for one in bars])


def agreement(frame: Frame, clouds: Sequence[Series]) -> Chart:
    """Points against the diagonal on equal axes."""

    def draw(axes: Any) -> None:
        values = [float(value) for one in clouds for part in (one.x, one.y) for value in part]
        low, high = min(values), max(values)
        if frame.logarithmic[0]:
            low, high = low / 1.2, high * 1.2
        else:
            room = 0.06 * ((high - low) or abs(high) or 1.0)
            low, high = max(0.0, low - room) if low >= 0 else low - room, high + room
        axes.plot([low, high], [low, high], color=_ink("random"), linewidth=1.2, dashes=(4, 2.2), zorder=1)
        for one, form in zip(clouds, "os^Dv" * len(clouds), strict=False):
            colour = _ink(stroke(one.key).ink)
            axes.plot(one.x, one.y, form, color=colour, markersize=4.6, alpha=0.85, markeredgewidth=0, zorder=3)
        axes.set_xlim(low, high)
        axes.set_ylim(low, high)

    return _chart(frame, draw, [(one.label, one.key) for one in clouds])


def intervals(frame: Frame, spans: Sequence[Span]) -> Chart:
    """Differences from zero, one row each; filled where the interval leaves zero out."""

    def draw(axes: Any) -> None:
        axes.axvline(0, color=_ink("soft"), linewidth=1.0, zorder=1)
        for row, span in enumerate(spans):
            colour = _ink(stroke(span.key).ink)
            sure = span.low > 0 or span.high < 0
            axes.plot([span.low, span.high], [row, row], color=colour, linewidth=2.2, solid_capstyle="butt", zorder=2)
            fill = colour if sure else _ink("paper")
            axes.plot([span.difference], [row], "o", markersize=7.5, color=colour, markerfacecolor=fill, zorder=3)
            axes.text(
                *(0, row - 0.3),
                span.label,
                transform=axes.get_yaxis_transform(),
                va="bottom",
                color=_ink("ink"),
                bbox={"facecolor": _ink("paper"), "edgecolor": "none", "pad": 1.5},
                zorder=4,
            )
        reach = 1.12 * max([abs(end) for span in spans for end in (span.low, span.high, span.difference)] + [1e-300])
        axes.set_xlim(-reach, reach)
        axes.set_ylim(len(spans) - 0.6, -0.8)
        axes.set_yticks([])
        axes.locator_params(axis="x", nbins=5)

    return _chart(frame, draw, [])


def _chart(frame: Frame, draw: Callable[[Any], None], legend: list[tuple[str, Key]]) -> Chart:
    matplotlib, figures = need("matplotlib", "a report"), need("matplotlib.figure", "a report")
    agg = need("matplotlib.backends.backend_agg", "a report")
    svg = need("matplotlib.backends.backend_svg", "a report")

    def drawn(with_legend: bool) -> Any:
        rows = len(legend) if with_legend and len(legend) > 1 else 0
        height = (frame.height or _HEIGHT * frame.width) + _LEGEND_ROW * rows
        size = (frame.width / 72, height / 72)
        figure = figures.Figure(size, dpi=72, layout="constrained", facecolor=_ink("paper"))
        axes = figure.add_subplot()
        _dress(axes, frame)
        draw(axes)
        if frame.level is not None:
            axes.axhline(frame.level, color=_ink("random"), linewidth=1.2, dashes=(4, 2.2), zorder=1)
        if rows:
            _legend(figure, legend)
        return figure

    def saved(figure: Any, canvas: Any, form: str, **options: Any) -> bytes:
        buffer = io.BytesIO()
        getattr(canvas(figure), f"print_{form}")(buffer, **options)
        return buffer.getvalue()

    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # letters that the measuring typeface lacks: the reader's has them
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        undated = {"Date": None, "Creator": None, "Format": None, "Type": None}
        bare, own = drawn(False), drawn(True)
        bare.patch.set_visible(False)
        page = saved(bare, svg.FigureCanvasSVG, "svg", metadata=undated)
        file = saved(own, svg.FigureCanvasSVG, "svg", metadata=undated)
        own.set_dpi(_PNG_DPI)
        png = saved(own, agg.FigureCanvasAgg, "png", metadata={"Software": None})
    file = file.replace(b"'DejaVu Sans'", _SYSTEM_FONTS.replace("'", "&apos;").encode())
    return Chart(frame.name, frame.message, inline(page, frame.name, frame.message), file, png)


def _dress(axes: Any, frame: Frame) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_ink("soft"))
    axes.spines["bottom"].set_linewidth(0.9)
    axes.patch.set_visible(False)
    if frame.logarithmic[0]:
        axes.set_xscale("log")
    if frame.logarithmic[1]:
        axes.set_yscale("log")
    ticker = need("matplotlib.ticker", "a report")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: tick(value)))
        axis.set_minor_formatter(ticker.NullFormatter())
    axes.grid(True, color=_ink("grid"), linewidth=0.9)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", color=_ink("rule"), labelcolor=_ink("soft"), length=0, pad=5)
    axes.tick_params(axis="x", which="major", color=_ink("soft"), length=4)
    if frame.title:
        axes.set_title(frame.title, loc="left", color=_ink("ink"), fontsize=12, fontweight="bold", pad=10)
    axes.set_xlabel(frame.x_label, color=_ink("soft"), labelpad=6)
    axes.set_ylabel(frame.y_label, color=_ink("soft"), labelpad=6)


def _line(axes: Any, series: Series) -> None:
    pen = stroke(series.key)
    order = 3 if isinstance(series.key, int) else 2
    colour = _ink(pen.ink)
    if len(series.x) == 1:
        axes.plot(series.x, series.y, "o", color=colour, markersize=4, zorder=order)
        return
    style = _dashes(pen.dash, pen.width)
    axes.plot(series.x, series.y, color=colour, linewidth=pen.width, linestyle=style, zorder=order, clip_on=False)


def _legend(figure: Any, entries: list[tuple[str, Key]]) -> None:
    lines2d = need("matplotlib.lines", "a report")
    handles = []
    for label, key in entries:
        pen = stroke(key)
        style = _dashes(pen.dash, pen.width)
        handles.append(lines2d.Line2D([], [], color=_ink(pen.ink), linewidth=pen.width, linestyle=style, label=label))
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=1,
        frameon=False,
        labelcolor=_ink("ink"),
        handlelength=3.2,
        labelspacing=0.35,
    )


def _ink(name: str) -> str:
    return INKS[name].light


def _dashes(dash: Dash, width: float = 1.6) -> Any:
    """Matplotlib scales dashes by the line's width; pixels are given."""
    return (0, tuple(length / width for length in dash)) if dash else "-"
