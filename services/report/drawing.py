"""Figures drawn with matplotlib: once for the page (no legend, theme colours), once as files of their own."""

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.evaluation.files import need
from services.report.number_format import tick
from services.report.palette import INKS, Dash, Key, stroke
from services.report.svg import inline

NARROW, WIDE = 360, 420
"""Widths in pixels of a panel among three and of a panel with more room; the page scales them slightly."""
_HEIGHT = 0.76
"""Height as a share of the width."""
_LABEL = 42
"""Maximum characters in a line of the y axis's label, so that it fits into the lowest figure."""
_LEGEND_ROW = 18
LARGEST = 1e300
"""Largest absolute value that is drawn; larger ones are left out like infinite ones."""
_NARROWEST = 1e-290
_APART = 1e-9
"""Relative distance below which both ends of an axis would have the same label."""
_PNG_DPI = 180
_SETTINGS = {
    "svg.fonttype": "none",  # keep text as text
    "svg.hashsalt": "demur",
    "svg.image_inline": True,
    "text.parse_math": False,  # a file may be called $x$
    "font.family": "DejaVu Sans",  # comes with matplotlib: same sizes everywhere
    "font.size": 11.0,
    "axes.unicode_minus": True,
    "axes.formatter.useoffset": False,
    "path.simplify": True,
}
_SYSTEM_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Chart:
    """Figure in its three forms."""

    name: str
    message: str
    """Description of the figure, for screen readers."""
    inline: str
    """Figure for the page: an ``<svg>`` element that follows the theme."""
    svg: bytes
    """SVG file; empty if no files are drawn, like ``png``."""
    png: bytes


@dataclass(frozen=True, slots=True)
class Frame:
    """Title, axes and size of a figure."""

    name: str
    title: str
    x_label: str
    y_label: str
    message: str
    top: float | None = None
    """Upper end of the y axis; None to fit the data."""
    logarithmic: tuple[bool, bool] = (False, False)
    level: float | None = None
    """Value of a thin horizontal line."""
    width: int = NARROW
    height: int | None = None
    """Height in pixels; None for a share of the width."""


def chart(frame: Frame, draw: Callable[[Any], None], legend: list[tuple[str, Key]], *, files: bool = True) -> Chart:
    """Draw a figure; without ``files`` for a page only, which takes a third of the time.

    Args:
        draw: draws the data on matplotlib axes.
        legend: names and strokes of the series.

    Raises:
        BadFile: matplotlib is not installed.
    """
    matplotlib, figures = need("matplotlib", "a report"), need("matplotlib.figure", "a report")
    agg = need("matplotlib.backends.backend_agg", "a report")
    svg = need("matplotlib.backends.backend_svg", "a report")

    def made(with_legend: bool) -> Any:
        rows = len(legend) if with_legend and len(legend) > 1 else 0
        height = (frame.height or _HEIGHT * frame.width) + _LEGEND_ROW * rows
        size = (frame.width / 72, height / 72)
        figure = figures.Figure(size, dpi=72, layout="constrained", facecolor=ink("paper"))
        axes = figure.add_subplot()
        _dress(axes, frame)
        draw(axes)
        if frame.level is not None:
            axes.axhline(frame.level, color=ink("random"), linewidth=1.2, dashes=(4, 2.2), zorder=1)
        if rows:
            _legend(figure, legend)
        return figure

    def saved(figure: Any, canvas: Any, form: str, **options: Any) -> bytes:
        buffer = io.BytesIO()
        getattr(canvas(figure), f"print_{form}")(buffer, **options)
        return buffer.getvalue()

    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # the typeface for measuring lacks some letters; the reader's has them
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        undated = {"Date": None, "Creator": None, "Format": None, "Type": None}
        bare = made(False)
        bare.patch.set_visible(False)
        page = saved(bare, svg.FigureCanvasSVG, "svg", metadata=undated)
        if not files:
            return Chart(frame.name, frame.message, inline(page, frame.name, frame.message), b"", b"")
        own = made(True)
        file = saved(own, svg.FigureCanvasSVG, "svg", metadata=undated)
        own.set_dpi(_PNG_DPI)
        png = saved(own, agg.FigureCanvasAgg, "png", metadata={"Software": None})
    file = file.replace(b"'DejaVu Sans'", _SYSTEM_FONTS.replace("'", "&apos;").encode())
    return Chart(frame.name, frame.message, inline(page, frame.name, frame.message), file, png)


def _dress(axes: Any, frame: Frame) -> None:
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(ink("soft"))
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
    axes.grid(True, color=ink("grid"), linewidth=0.9)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", color=ink("rule"), labelcolor=ink("soft"), length=0, pad=5)
    axes.tick_params(axis="x", which="major", color=ink("soft"), length=4)
    if frame.title:
        axes.set_title(frame.title, loc="left", color=ink("ink"), fontsize=12, fontweight="bold", pad=10)
    axes.set_xlabel(frame.x_label, color=ink("soft"), labelpad=6)
    axes.set_ylabel(_wrapped(frame.y_label), color=ink("soft"), labelpad=6)


def _wrapped(label: str) -> str:
    """Return a label in lines that fit beside a figure; a unit is not broken."""
    quantity, comma, unit = label.rpartition(", ")
    parts = [label] if len(label) <= _LABEL or not comma else [quantity + ",", unit]
    return "\n".join(fill(part, _LABEL, max_lines=2, placeholder="…") for part in parts)


def _legend(figure: Any, entries: list[tuple[str, Key]]) -> None:
    lines2d = need("matplotlib.lines", "a report")
    handles = []
    for label, key in entries:
        pen = stroke(key)
        style = dashes(pen.dash, pen.width)
        handles.append(lines2d.Line2D([], [], color=ink(pen.ink), linewidth=pen.width, linestyle=style, label=label))
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=1,
        frameon=False,
        labelcolor=ink("ink"),
        handlelength=3.2,
        labelspacing=0.35,
    )


def ink(name: str) -> str:
    """Return a colour of the light theme, in which figures are drawn."""
    return INKS[name].light


def dashes(dash: Dash, width: float = 1.6) -> Any:
    """Return a line style of matplotlib, which scales dashes by the line's width; ``dash`` is in pixels."""
    return (0, tuple(length / width for length in dash)) if dash else "-"


def drawn(values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return the values as float64, with NaN for values too large to be drawn."""
    known = np.asarray(values, np.float64)
    return np.where(np.abs(known) <= LARGEST, known, np.nan)


def apart(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis, moved apart by half of their size if they are equal or nearly so."""
    low, high = (min(max(end, -LARGEST), LARGEST) for end in (low, high))
    size = max(abs(low), abs(high))
    if high - low > max(_APART * size, _NARROWEST):
        return low, high
    room = size / 2 if size > _NARROWEST else 0.5
    return low - room, high + room
