"""Scenes in Label Studio: a picture from above, on which annotators mark where the vehicle will be.

Key points are named by their time; five of them, a second apart, are enough. Positions between two marked ones are on a
smooth curve, as in the review console; those after the last one are not known.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import SubElement

import numpy as np
from numpy.typing import NDArray

from models.label_errors.trajectories import STEPS
from models.tasks.motion.inference.scenes import STEP_S
from services.tasks.motion import review
from services.tasks.motion.scene_picture import PIXELS, Frame, frame, picture
from services.transport.label_studio import results
from services.transport.label_studio.converter import ClaimedInput, Data, Result, StudioHead

_SHOWN, _FRAME, _SPEED = "scene", "frame_m", "speed_m_s"
_POINT_PERCENT = 0.6
"""Size of a mark, percent of the picture's width."""
TIMES = tuple(f"{STEP_S * (step + 1):.1f} s" for step in range(STEPS))
"""Names of the marks, in the order of the steps."""


class SceneConverter:
    """Converter of scenes; see ``services.transport.label_studio.converter``."""

    def config(self, head: StudioHead) -> str:
        root = results.view(head.label)
        SubElement(root, "Image", name=_SHOWN, value=f"${_SHOWN}", zoom="true", zoomControl="true")
        marks = results.control(root, "KeyPointLabels", _SHOWN, strokeWidth="2")
        for time in TIMES:
            SubElement(marks, "Label", value=time)
        return results.xml(root)

    def data(self, head: StudioHead, source: ClaimedInput) -> dict[str, Any]:
        scene = review.scene(source.content)
        shown = frame(scene[_SPEED])
        drawn = results.data_uri("image/svg+xml", picture(scene, shown).encode())
        return {_SHOWN: drawn, _FRAME: [shown.back, shown.front, shown.side], _SPEED: scene[_SPEED]}

    def value(self, head: StudioHead, data: Data, annotated: Sequence[Result]) -> object:
        shown, speed = _frame(data), results.finite(data.get(_SPEED), _SPEED)
        marks: dict[int, tuple[float, float]] = {}
        for result in results.of_control(annotated, "keypointlabels"):
            value = result["value"]
            time = results.first_of(value.get("keypointlabels"))
            if time not in TIMES:
                raise results.bad_label(time, f"must be one of {', '.join(TIMES)}", "keypointlabels")
            step = TIMES.index(time)
            if step in marks:
                raise results.bad_label(time, "must be marked once", "keypointlabels")
            across, down = (_percent(value, name) for name in ("x", "y"))
            marks[step] = shown.place(across / 100, down / 100)
        if not marks:
            raise results.bad_label(0, f"must be at least one mark; five of {STEPS} are enough", "marks")
        return path(marks, speed)

    def predictions(self, head: StudioHead, data: Data, draft: object) -> list[list[dict[str, Any]]]:
        shown = _frame(data)
        plans = draft.get("plans") or [] if isinstance(draft, dict) else []
        return [_marks(shown, plan) for plan in plans]


def path(marks: Mapping[int, tuple[float, float]], speed: float) -> list[list[float] | None]:
    """Return the positions of all steps, m, with null after the last mark.

    Between marks runs a cubic Hermite spline of the distance from driving on as now: it begins with the present speed.

    Args:
        marks: position of some steps.
        speed: present speed, m/s.
    """
    steps = sorted(marks)
    times = np.array([0, *(step + 1 for step in steps)], np.float64)
    onward = np.stack([speed * STEP_S * np.arange(STEPS + 1), np.zeros(STEPS + 1)], axis=1)
    shifts = np.array([(0, 0), *(np.subtract(marks[step], onward[step + 1]) for step in steps)], np.float64)
    positions = onward[1:] + _spline(times, shifts, np.arange(1, STEPS + 1))
    for step in steps:
        positions[step] = marks[step]
    return [place if step <= steps[-1] else None for step, place in enumerate(positions.tolist())]


def _spline(knots: NDArray[np.float64], values: NDArray[np.float64], places: NDArray[Any]) -> NDArray[np.float64]:
    """Return the values [n, 2] of a curve through knots, level at its beginning and straight at its end."""
    slopes = np.zeros_like(values)
    slopes[1:-1] = (values[2:] - values[:-2]) / (knots[2:] - knots[:-2])[:, None]
    slopes[-1] = (values[-1] - values[-2]) / (knots[-1] - knots[-2])
    left = np.clip(np.searchsorted(knots, places, side="right") - 1, 0, len(knots) - 2)
    width = (knots[left + 1] - knots[left])[:, None]
    u = (places[:, None] - knots[left][:, None]) / width
    ends = (2 * u**3 - 3 * u**2 + 1) * values[left] + (3 * u**2 - 2 * u**3) * values[left + 1]
    bends = (u**3 - 2 * u**2 + u) * slopes[left] + (u**3 - u**2) * slopes[left + 1]
    curve: NDArray[np.float64] = ends + width * bends
    return curve


def _marks(shown: Frame, plan: Sequence[Any]) -> list[dict[str, Any]]:
    marks = []
    for step, place in enumerate(plan[:STEPS]):
        if place is None:
            continue
        across, down = shown.share(*place)
        if 0 <= across <= 1 and 0 <= down <= 1:  # what is outside of the picture cannot be marked
            value = {"x": 100 * across, "y": 100 * down, "width": _POINT_PERCENT, "keypointlabels": [TIMES[step]]}
            size = {"original_width": PIXELS, "original_height": PIXELS, "image_rotation": 0}
            marks.append(results.result("keypointlabels", _SHOWN, value, step, **size))
    return marks


def _frame(data: Data) -> Frame:
    numbers = data.get(_FRAME)
    if not isinstance(numbers, list) or len(numbers) != 3:
        raise results.bad_label(numbers, "must be the edges of the picture, as they were exported", _FRAME)
    back, front, side = (results.finite(number, _FRAME) for number in numbers)
    if not (back < front and side > 0):
        raise results.bad_label(numbers, "must be the edges of the picture, as they were exported", _FRAME)
    return Frame(back, front, side)


def _percent(value: Mapping[str, Any], name: str) -> float:
    percent = results.finite(value.get(name), name)
    if not 0 <= percent <= 100:
        raise results.bad_label(percent, "must be on the picture, 0 to 100 percent", name)
    return percent


SCENES = SceneConverter()
