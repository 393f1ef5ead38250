"""Picture of a prediction request as PNG, seen from above with the agent driving upwards."""

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.evaluation.files import need
from models.tasks.motion.pictures.ground import BEYOND, Window, draw_ground, ground_key
from models.tasks.motion.pictures.surroundings import Cells, Points, Surroundings

PAPER, INK, SOFT, FAINT = "#ffffff", "#1b1f24", "#5b636d", "#d9dde1"
AGENT, PLAN, TRUTH, KNOWLEDGE = "#1f5fbf", "#d9620f", "#111111", "#7b4fa3"
"""Colours blue, orange, black, violet: distinct with any colour blindness, and also distinguished by dashes and
marks.
"""
MARKED_SECONDS = (1.0, 3.0, 5.0)
"""Times at which plans have dots and spreads are drawn, s."""
STEP_SECONDS = 0.2
_PURPOSE = "a figure"
_DPI = 150
_SIZE = (9.9, 8.3)
_MAP = (0.62, 0.66, 6.25, 6.66)
"""Left, bottom, width and height of the map, inches."""
_KEY, _BARS, _SPREAD = (7.3, 5.72, 2.4, 1.6), (7.38, 3.95, 2.2, 1.35), (7.38, 1.5, 2.2, 1.8)
_LEAST_METRES, _ROOM_METRES, _MOST_METRES = 44.0, 8.0, 400.0
_BEHIND, _LEAST_BEHIND = 0.3, 8.0
"""Visible past: a share of the distance ahead, and least number of metres."""
_APART = 0.035
"""Least distance between labels of times, share of the map's height."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Content of a picture; positions are m in the agent's frame: x ahead, y to the left."""

    around: Surroundings | Cells
    plans: NDArray[np.floating[Any]]
    """Plans [D, T, 2], most confident first."""
    confidences: NDArray[np.floating[Any]]
    """Confidences of the plans, [D]."""
    total: NDArray[np.floating[Any]]
    """Variance of the position at each step, m², [T]."""
    title: str
    details: tuple[str, ...] = ()
    """Lines below the title, at most two."""
    data: NDArray[np.floating[Any]] | None = None
    knowledge: NDArray[np.floating[Any]] | None = None
    truth: NDArray[np.floating[Any]] | None = None
    """True positions [T, 2], NaN if unknown."""


def draw(picture: Picture) -> bytes:
    """Return a PNG: the map with the past, the futures by confidence and the truth; confidences; spread over time.

    Raises:
        BadFile: matplotlib is not installed.
    """
    figures, agg = need("matplotlib.figure", _PURPOSE), need("matplotlib.backends.backend_agg", _PURPOSE)
    figure = figures.Figure(_SIZE, dpi=_DPI, facecolor=PAPER)
    agg.FigureCanvasAgg(figure)
    axes = figure.add_axes(_share(_MAP), facecolor=BEYOND)
    window = _window(picture)
    _frame(axes, window)
    draw_ground(axes, picture.around, AGENT, window)
    _spreads(axes, picture)
    _plans(axes, picture)
    _truth(axes, picture)
    _key(figure.add_axes(_share(_KEY)), picture, window)
    _bars(figure.add_axes(_share(_BARS)), picture)
    _variances(figure.add_axes(_share(_SPREAD)), picture)
    _words(figure, picture)
    buffer = io.BytesIO()
    figure.canvas.print_png(buffer, metadata={"Software": None})
    return buffer.getvalue()


def sideways(points: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return positions in the agent's frame as positions in the picture: across (right is positive) and up (ahead)."""
    return -points[..., 1], points[..., 0]


def _share(inches: tuple[float, float, float, float]) -> tuple[float, ...]:
    return tuple(length / _SIZE[axis % 2] for axis, length in enumerate(inches))


def _window(picture: Picture) -> Window:
    """Return left, right, lower and upper edge of the map, m: all predictions, and some of the past."""
    shown = [picture.plans.reshape(-1, 2), np.zeros((1, 2))]
    if picture.truth is not None:
        shown.append(picture.truth)
    points = np.concatenate(shown)
    points = np.clip(points[np.isfinite(points).all(axis=1)], -_MOST_METRES, _MOST_METRES)
    across, up = sideways(points)
    behind = max(_LEAST_BEHIND, _BEHIND * float(up.max()))
    lower, upper = min(float(up.min()), -behind), float(up.max())
    left, right = float(across.min()), float(across.max())
    wide, tall = right - left + 2 * _ROOM_METRES, upper - lower + 2 * _ROOM_METRES
    shape = _MAP[2] / _MAP[3]
    tall = max(tall, wide / shape, _LEAST_METRES)  # additional space is ahead
    middle, low = (left + right) / 2, lower - _ROOM_METRES
    return middle - tall * shape / 2, middle + tall * shape / 2, low, low + tall


def _frame(axes: Any, window: Window) -> None:
    ticker = need("matplotlib.ticker", _PURPOSE)
    left, right, low, high = window
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    axes.set_autoscale_on(False)
    axes.set_aspect("equal")
    step = next(metres for metres in (5, 10, 20, 50, 100, 200) if (high - low) / metres <= 9 or metres == 200)
    for axis, ends in ((axes.xaxis, "left right"), (axes.yaxis, "behind ahead")):
        negative, positive = ends.split()
        axis.set_major_locator(ticker.MultipleLocator(step))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{abs(value):.0f}"))
        axis.set_label_text(f"← {negative}      m      {positive} →", color=SOFT, fontsize=9)
    axes.tick_params(colors=SOFT, labelsize=8, length=2.5)
    for spine in axes.spines.values():
        spine.set_edgecolor(FAINT)


def _marked(steps: int) -> list[tuple[float, int]]:
    """Return the marked seconds that plans reach, with their steps."""
    marked = [(second, round(second / STEP_SECONDS) - 1) for second in MARKED_SECONDS]
    return [(second, step) for second, step in marked if step < steps]


def _spreads(axes: Any, picture: Picture) -> None:
    """Draw ellipses about the mean of the plans: as large as the spread of all samples, in the shape of the plans."""
    patches = need("matplotlib.patches", _PURPOSE)
    for _, step in _marked(picture.plans.shape[1]):
        points = picture.plans[:, step].astype(np.float64)
        mean = picture.confidences.astype(np.float64) @ points
        lengths, axis = ellipse(points, float(picture.total[step]))
        across, up = sideways(np.stack([mean, axis]))
        angle = float(np.degrees(np.arctan2(up[1], across[1])))
        shape = {"xy": (across[0], up[0]), "width": 2 * lengths[0], "height": 2 * lengths[1], "angle": angle}
        axes.add_patch(patches.Ellipse(**shape, facecolor=PLAN, alpha=0.13, zorder=3, linewidth=0))
        axes.add_patch(patches.Ellipse(**shape, fill=False, edgecolor=PLAN, alpha=0.55, zorder=3, linewidth=0.7))


def ellipse(points: Points, variance: float) -> tuple[tuple[float, float], Points]:
    """Return standard deviations along and across the main axis of points, m, and the axis, [2].

    Args:
        points: positions [D, 2], m.
        variance: variance of both axes together, m²; the squares of both deviations sum to it.
    """
    values, vectors = np.linalg.eigh(np.cov(points.T, ddof=0)) if len(points) > 1 else (np.ones(2), np.eye(2))
    values = np.maximum(values, 0.02 * values.max())  # never thinner than a seventh of its length
    if not values.sum() > 0:
        values = np.ones(2)
    across, along = np.sqrt(values / values.sum() * max(variance, 0.0))
    return (float(along), float(across)), np.asarray(vectors[:, 1])


def _plans(axes: Any, picture: Picture) -> None:
    effects = need("matplotlib.patheffects", _PURPOSE)
    marked = _marked(picture.plans.shape[1])
    for number in reversed(range(len(picture.plans))):
        width, alpha = strength(picture, number)
        line = np.concatenate([np.zeros((1, 2)), picture.plans[number]])
        across, up = sideways(line)
        axes.plot(across, up, color=PLAN, alpha=alpha, linewidth=width, zorder=6, solid_capstyle="round")
        across, up = sideways(picture.plans[number][[step for _, step in marked]])
        axes.scatter(
            across, up, s=(2.2 + width) ** 2, color=PLAN, alpha=alpha, edgecolor=PAPER, linewidth=0.6, zorder=7
        )
    across, up = sideways(picture.plans[0])
    low, high = axes.get_ylim()
    last = np.full(2, np.inf)
    for second, step in reversed(marked):
        place = np.array([across[step], up[step]])
        if np.hypot(*(place - last)) < _APART * (high - low):
            continue  # it would overlap the previous label
        last = place
        text = axes.annotate(
            f"{second:g} s",
            place,
            xytext=(9, -3),
            textcoords="offset points",
            color=INK,
            fontsize=8,
            zorder=9,
            annotation_clip=True,
        )
        text.set_path_effects([effects.withStroke(linewidth=2.2, foreground=PAPER, alpha=0.85)])


def strength(picture: Picture, number: int) -> tuple[float, float]:
    """Return width, points, and opacity of a plan: both grow with its confidence."""
    share = float(picture.confidences[number]) / max(float(picture.confidences.max()), 1e-12)
    return 1.0 + 3.0 * share, 0.3 + 0.65 * share


def _truth(axes: Any, picture: Picture) -> None:
    if picture.truth is None:
        return
    effects = need("matplotlib.patheffects", _PURPOSE)
    halo = [effects.withStroke(linewidth=3.4, foreground=PAPER, alpha=0.8)]
    across, up = sideways(np.concatenate([np.zeros((1, 2)), picture.truth]))
    (line,) = axes.plot(across, up, color=TRUTH, linewidth=1.6, linestyle=(0, (4, 1.6)), zorder=8)
    line.set_path_effects(halo)
    known = np.array([step for _, step in _marked(len(picture.truth))])
    across, up = sideways(picture.truth[known])
    axes.scatter(across, up, s=22, marker="D", facecolor=PAPER, edgecolor=TRUTH, linewidth=1.2, zorder=8)


def _key(axes: Any, picture: Picture, window: Window) -> None:
    lines2d = need("matplotlib.lines", _PURPOSE)
    lines = [
        lines2d.Line2D([], [], color=PLAN, linewidth=3.2, marker="o", markersize=5, label="futures, by confidence")
    ]
    if picture.truth is not None:
        dashes = {"linestyle": (0, (4, 1.6)), "marker": "D", "markersize": 4.5, "markerfacecolor": PAPER}
        lines.append(lines2d.Line2D([], [], color=TRUTH, linewidth=1.6, label="what happened", **dashes))
    for label, style in ground_key(picture.around, AGENT, window):
        lines.append(lines2d.Line2D([], [], label=label, **style))
    axes.set_axis_off()
    axes.legend(
        handles=lines,
        loc="upper left",
        bbox_to_anchor=(-0.02, 1.03),
        borderaxespad=0,
        fontsize=8.6,
        frameon=False,
        labelcolor=INK,
        labelspacing=0.45,
    )


def _bars(axes: Any, picture: Picture) -> None:
    places = np.arange(len(picture.confidences))
    for place, share in zip(places, picture.confidences, strict=True):
        _, alpha = strength(picture, int(place))
        axes.barh(place, share, height=0.66, color=PLAN, alpha=alpha)
        axes.text(float(share) + 0.02, place, f"{share:.2f}", va="center", fontsize=8, color=INK)
    axes.set_xlim(0, 1.15)
    axes.set_ylim(len(places) - 0.45, -0.55)
    axes.set_yticks(places, [str(place + 1) for place in places])
    axes.set_xticks([])
    axes.tick_params(colors=SOFT, labelsize=8, length=0)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set_edgecolor(FAINT)
    axes.set_title("confidence of each future", loc="left", fontsize=9.5, color=INK, pad=5)


def _variances(axes: Any, picture: Picture) -> None:
    times = STEP_SECONDS * np.arange(1, len(picture.total) + 1)
    if picture.data is not None and picture.knowledge is not None:
        both = picture.data + picture.knowledge
        axes.fill_between(times, 0, picture.data, color=PLAN, alpha=0.35, linewidth=0, label="data")
        axes.fill_between(times, picture.data, both, color=KNOWLEDGE, alpha=0.5, linewidth=0, label="knowledge")
    axes.plot(times, picture.total, color=INK, linewidth=1.3, label="total")
    axes.set_xlim(0, times[-1])
    axes.set_ylim(0, max(float(picture.total.max()) * 1.08, 0.1))
    axes.set_xticks(range(int(times[-1]) + 1))
    axes.set_xlabel("s from now", color=SOFT, fontsize=9)
    axes.tick_params(colors=SOFT, labelsize=8, length=2.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_edgecolor(FAINT)
    axes.set_title("spread of the position, m²", loc="left", fontsize=9.5, color=INK, pad=5)
    axes.legend(loc="upper left", fontsize=8, frameon=False, labelcolor=INK)


def _words(figure: Any, picture: Picture) -> None:
    width, height = _SIZE

    def text(inches: float, content: str, **style: Any) -> None:
        figure.text(_MAP[0] / width, 1 - inches / height, content, va="baseline", parse_math=False, **style)

    text(0.37, picture.title, color=INK, fontsize=13, fontweight="bold")
    for number, line in enumerate(picture.details):
        text(0.62 + 0.2 * number, line, color=SOFT, fontsize=9.5)
    figure.text(
        _KEY[0] / width,
        0.2 / height,
        "The agent drives upwards. Dots: after 1, 3 and\n5 s. Ellipses: standard deviation of all that was\n"
        "imagined, in the shape of the futures shown.",
        color=SOFT,
        fontsize=7.8,
        linespacing=1.35,
    )
