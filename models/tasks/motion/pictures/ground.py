"""Ground of a picture: roads, lanes, crosswalks, vehicles and pedestrians, from a scene or from a feature map."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.evaluation.files import need
from models.tasks.motion.inference.lights import CLOSED, OPEN
from models.tasks.motion.inference.render import CHANNEL_NAMES
from models.tasks.motion.pictures.surroundings import Body, Cells, Points, Surroundings

BEYOND, GROUND, ROAD, KERB, LANE, STRIPES = "#f3f4f1", "#e4e7df", "#fafaf7", "#c3c8bf", "#bfc5c9", "#cfd3cb"
VEHICLE, VEHICLE_EDGE, PEDESTRIAN = "#9aa3ad", "#646d78", "#a8447c"
LIGHTS = {OPEN: "#57a773", CLOSED: "#c9483f"}
"""Colours of lanes that are open or closed by their lights."""
_LIGHT_NAMES = {OPEN: "lane open by its lights", CLOSED: "lane closed by its lights"}
_PURPOSE = "a figure"
_ARROW_METRES = 18.0
"""Distance between the arrows of a lane, m."""
Window = tuple[float, float, float, float]
"""Left, right, lower and upper edge of the picture, m."""


def draw_ground(axes: Any, around: Surroundings | Cells, agent: str, window: Window) -> None:
    """Draw the surroundings; ``agent`` is the colour of the agent."""
    if isinstance(around, Cells):
        _cells(axes, around, agent)
    else:
        _scene(axes, around, agent, window)


def ground_key(around: Surroundings | Cells, agent: str, window: Window) -> list[tuple[str, dict[str, Any]]]:
    """Return names of the kinds of objects in the window, each with its line style in the legend."""
    box: dict[str, Any] = {"color": VEHICLE, "marker": "s", "markersize": 7, "markeredgecolor": VEHICLE_EDGE}
    if isinstance(around, Cells):
        kinds: list[tuple[str, dict[str, Any]]] = [
            ("the agent now", {"linestyle": "none", "marker": (3, 0, 0), "markersize": 8, "color": agent})
        ]
        others = ("vehicles", box | {"linestyle": "none"})
        vehicles, walking = (bool(_channel(around, f"{kind}_occupancy").any()) for kind in ("vehicle", "pedestrian"))
        lights = {value for value in LIGHTS if (_channel(around, "lane_availability") == value).any()}
    else:
        kinds = [("the agent and its past", {"color": agent, "linewidth": 2, "marker": "s", "markersize": 6})]
        others = ("others and their past", box | {"linewidth": 1.1})
        vehicles, walking = (
            any(_inside(body.outline, window) for body in bodies) for bodies in (around.vehicles, around.pedestrians)
        )
        lights = {value for line, value in around.lanes if _inside(line, window)}
    kinds += [others] if vehicles else []
    if walking:
        kinds.append(("pedestrians", {"linestyle": "none", "marker": "o", "markersize": 5, "color": PEDESTRIAN}))
    kinds += [(_LIGHT_NAMES[value], {"color": LIGHTS[value], "linewidth": 1.2}) for value in LIGHTS if value in lights]
    return kinds


def _inside(points: Points, window: Window) -> bool:
    """Return whether any point is in the window."""
    left, right, low, high = window
    across, up = -points[:, 1], points[:, 0]
    return bool(((across > left) & (across < right) & (up > low) & (up < high)).any())


def _scene(axes: Any, around: Surroundings, agent: str, window: Window) -> None:
    collections = need("matplotlib.collections", _PURPOSE)
    axes.set_facecolor(GROUND)
    roads = _papers(around.roads)  # first all kerbs, then all roads, so that there is no kerb between adjacent roads
    axes.add_collection(collections.PolyCollection(roads, edgecolor=KERB, linewidth=2.0, zorder=1))
    axes.add_collection(collections.PolyCollection(roads, facecolor=ROAD, edgecolor=ROAD, linewidth=0.3, zorder=1.1))
    hatched = collections.PolyCollection(
        _papers(around.crosswalks), facecolor=ROAD, edgecolor=STRIPES, hatch="||||", linewidth=0.8, zorder=1.2
    )
    axes.add_collection(hatched)
    lines = [(line, LIGHTS.get(value, LANE)) for line, value in around.lanes if len(line) > 1]
    drawn = collections.LineCollection(
        _papers(line for line, _ in lines), colors=[colour for _, colour in lines], linewidths=0.9, zorder=1.5
    )
    axes.add_collection(drawn)
    _arrows(axes, lines, window)
    for body in around.pedestrians:
        _pedestrian(axes, body)
    for body in around.vehicles:
        _vehicle(axes, body, VEHICLE, VEHICLE_EDGE, zorder=4)
    _vehicle(axes, around.agent, agent, agent, zorder=5, trail=2.0)


def _papers(lines: Iterable[Points]) -> list[NDArray[np.float64]]:
    """Return lines of at least two points as positions in the picture: across, up."""
    return [np.stack([-line[:, 1], line[:, 0]], axis=1) for line in lines if len(line) > 1]


def _arrows(axes: Any, lines: Sequence[tuple[Points, str]], window: Window) -> None:
    """Draw small arrow heads along the lanes, in the direction of driving."""
    left, right, low, high = window
    for line, colour in lines:
        (paper,) = _papers([line])
        pieces = np.diff(paper, axis=0)
        lengths = np.hypot(*pieces.T)
        along = np.concatenate([[0.0], np.cumsum(lengths)])
        for place in np.arange(min(_ARROW_METRES, along[-1]) / 2, along[-1], _ARROW_METRES):
            piece = min(int(np.searchsorted(along, place, side="right")) - 1, len(pieces) - 1)
            if not lengths[piece] > 0:
                continue
            direction = pieces[piece] / lengths[piece]
            x, y = paper[piece] + direction * (place - along[piece])
            if not (left < x < right and low < y < high):
                continue
            axes.annotate(
                "",
                xy=(x + direction[0], y + direction[1]),
                xytext=(x, y),
                arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 0, "mutation_scale": 7},
                zorder=1.6,
            )


def _vehicle(axes: Any, body: Body, face: str, edge: str, *, zorder: float, trail: float = 1.1) -> None:
    """Draw the box with a line across its front, and its past."""
    patches = need("matplotlib.patches", _PURPOSE)
    axes.plot(-body.past[:, 1], body.past[:, 0], color=face, linewidth=trail, zorder=zorder - 0.5, alpha=0.9)
    (outline,) = _papers([body.outline])
    axes.add_patch(patches.Polygon(outline, facecolor=face, edgecolor=edge, linewidth=0.9, zorder=zorder))
    front = _front(body)
    if front is not None:
        axes.plot(*front, color=ROAD, linewidth=1.1, zorder=zorder + 0.1, solid_capstyle="butt")


def _front(body: Body) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return a line near the moving end; None for a stationary vehicle, whose yaw is known up to half a turn."""
    known = body.past[np.isfinite(body.past).all(axis=1)]
    if len(known) < 2:
        return None
    moved = known[-1] - known[-2]
    left_front, right_front, right_back, left_back = body.outline
    ahead = (left_front + right_front - left_back - right_back) / 2
    if np.hypot(*moved) < 0.04:
        return None
    ends = (left_front, right_front, right_back, left_back)
    lead_left, lead_right, tail_right, tail_left = (
        ends if moved @ ahead >= 0 else (right_back, left_back, left_front, right_front)
    )
    line = np.stack([0.72 * lead_left + 0.28 * tail_left, 0.72 * lead_right + 0.28 * tail_right])
    (paper,) = _papers([line])
    return paper[:, 0], paper[:, 1]


def _pedestrian(axes: Any, body: Body) -> None:
    axes.plot(-body.past[:, 1], body.past[:, 0], color=PEDESTRIAN, linewidth=0.9, zorder=3.5, alpha=0.8)
    x, y = body.outline.mean(axis=0)
    axes.scatter([-y], [x], s=16, color=PEDESTRIAN, edgecolor=ROAD, linewidth=0.6, zorder=4)


def _cells(axes: Any, around: Cells, agent: str) -> None:
    """Draw channels on top of each other; rows of a map are y and columns x, so the picture shows it turned."""
    colors = need("matplotlib.colors", _PURPOSE)
    patches = need("matplotlib.patches", _PURPOSE)
    reach = around.reach
    edge = {"edgecolor": KERB, "linewidth": 0.8, "linestyle": (0, (3, 3))}
    axes.add_patch(patches.Rectangle((-reach, -reach), 2 * reach, 2 * reach, facecolor=GROUND, zorder=0.5, **edge))

    def layer(name: str, colour: str, alpha: float, zorder: float, only: float | None = None) -> None:
        values = _channel(around, name)
        marked = values != 0 if only is None else values == np.float32(only)
        shown = np.zeros((*marked.shape, 4))
        shown[marked.T[:, ::-1]] = (*colors.to_rgb(colour), alpha)
        extent = (-reach, reach, -reach, reach)
        axes.imshow(shown, extent=extent, origin="lower", interpolation="nearest", zorder=zorder, aspect="equal")

    layer("road_polygons", ROAD, 1, 1)
    layer("crosswalk_occupancy", STRIPES, 0.8, 1.2)
    layer("lane_occupancy", LANE, 0.8, 1.5)
    for value, colour in LIGHTS.items():
        layer("lane_availability", colour, 0.7, 1.6, only=value)
    layer("pedestrian_occupancy", PEDESTRIAN, 1, 4)
    layer("vehicle_occupancy", VEHICLE, 1, 4)
    axes.plot([0], [0], marker=(3, 0, 0), markersize=10, color=agent, markeredgecolor=ROAD, zorder=8.5)


def _channel(around: Cells, name: str) -> NDArray[np.float32]:
    """Return a channel, [y, x]."""
    return np.asarray(around.values[CHANNEL_NAMES.index(name)])
