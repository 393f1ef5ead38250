"""Picture of a scene from above as SVG, in the frame of labels: the vehicle to judge looks up.

It holds numbers of the scene and no text of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

PIXELS = 1200
"""Edge of the picture, pixels."""
_LEAST_AHEAD_M = 32.0
_LABEL_SECONDS = 5.0
"""Time that a label spans, s."""
_COLOURS = {"agent": "#c2410c", "vehicle": "#8a94a0", "ego": "#8a94a0", "pedestrian": "#a8447c"}
_LIGHTS = {"open": "#57a773", "closed": "#c9483f"}
_PAPER, _ROAD, _KERB, _LANE, _CROSSWALK = "#e4e7df", "#fafaf7", "#c3c8bf", "#bfc5c9", "#b9bdb5"
_STEP_M = 10.0
"""Distance of the lines of the scale, m."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Square of the scene that is shown, m."""

    back: float
    """x of the lower edge; negative: behind the vehicle."""
    front: float
    """x of the upper edge."""
    side: float
    """y of the left edge; the right one has the same with a minus."""

    def share(self, x: float, y: float) -> tuple[float, float]:
        """Return the place of a position as shares of the width from the left, and of the height from above."""
        return (self.side - y) / (2 * self.side), (self.front - x) / (self.front - self.back)

    def place(self, across: float, down: float) -> tuple[float, float]:
        """Return the position of such a place, m; the inverse of ``share``."""
        return self.front - down * (self.front - self.back), self.side - across * 2 * self.side


def frame(speed: float) -> Frame:
    """Return the square that shows where a vehicle of this speed (m/s) gets in five seconds, and where it came from."""
    ahead = max(_LEAST_AHEAD_M, 1.25 * speed * _LABEL_SECONDS)
    return Frame(back=-0.29 * ahead, front=1.01 * ahead, side=0.65 * ahead)


def picture(scene: Mapping[str, Any], shown: Frame) -> str:
    """Return the SVG of a scene, see ``services.tasks.motion.review.scene``."""
    parts = [f'<rect width="{PIXELS}" height="{PIXELS}" fill="{_PAPER}"/>']
    parts += [_area(shown, road, f'fill="{_ROAD}" stroke="{_KERB}"') for road in scene["roads"]]
    parts += [
        _area(shown, crossing["points"], f'fill="{_CROSSWALK}" stroke-dasharray="4 3" stroke="{_KERB}"')
        for crossing in scene["crosswalks"]
    ]
    parts += [_line(shown, lane["points"], _LIGHTS.get(lane["states"][-1], _LANE), 1.5) for lane in scene["lanes"]]
    parts += _scale(shown)
    for agent in reversed(scene["agents"]):  # the one to judge is the first of them, and drawn on top
        parts += _agent(shown, agent)
    body = "\n".join(parts)
    size = f'width="{PIXELS}" height="{PIXELS}" viewBox="0 0 {PIXELS} {PIXELS}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{body}\n</svg>\n'


def _agent(shown: Frame, agent: Mapping[str, Any]) -> Iterable[str]:
    """Yield the past of an agent as a line, and its box where it was seen last, with a line across its front."""
    colour = _COLOURS[agent["kind"]]
    seen = [state for state in agent["states"] if state is not None]
    if not seen:
        return
    yield _line(shown, [state[:2] for state in seen], colour, 2.5 if agent["kind"] == "agent" else 1.5)
    x, y, yaw = seen[-1]
    half = np.array([agent["length_m"], agent["width_m"]]) / 2
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    corners = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]]) * half @ turn.T + (x, y)
    yield _area(shown, corners.tolist(), f'fill="{colour}" stroke="{_PAPER}"')
    yield _line(shown, (0.8 * corners[:2] + 0.2 * corners[[3, 2]]).tolist(), _ROAD, 2.0)


def _scale(shown: Frame) -> Iterable[str]:
    """Yield short lines on the left edge, ten metres apart, with their distance."""
    for x in np.arange(np.ceil(shown.back / _STEP_M) * _STEP_M, shown.front, _STEP_M).tolist():
        height = PIXELS * shown.share(x, 0)[1]
        yield f'<path d="M0 {height:.1f}H14" stroke="#555"/>'
        yield f'<text x="18" y="{height + 4:.1f}" font-size="13" fill="#555">{x:.0f} m</text>'


def _points(shown: Frame, positions: Iterable[Sequence[float]]) -> str:
    shares = (shown.share(x, y) for x, y in positions)
    return " ".join(f"{PIXELS * across:.1f},{PIXELS * down:.1f}" for across, down in shares)


def _area(shown: Frame, positions: Iterable[Sequence[float]], style: str) -> str:
    return f'<polygon points="{_points(shown, positions)}" {style}/>'


def _line(shown: Frame, positions: Iterable[Sequence[float]], colour: str, width: float) -> str:
    return f'<polyline points="{_points(shown, positions)}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
