"""Appearance of a request in a few numbers of its feature map, and remarks on requests unlike those of training.

All numbers come from the map, so that scenes, tensors and prerendered files are treated alike.
"""

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from models.input_warning import Feature, InputWarning, unusual
from models.tasks.motion.inference.grid import USUAL_LIMIT, Float32

__all__ = ["FEATURES", "Feature", "measured", "remarks"]


FEATURES: Mapping[str, Feature] = {
    "agent_present": Feature("whether a vehicle is in the middle of the map", "1"),
    "speed": Feature("speed of the agent", "m/s"),
    "acceleration": Feature("acceleration of the agent, in any direction", "m/s²"),
    "vehicles": Feature("vehicles on the map; those that touch count as one", "vehicles"),
    "fastest": Feature("speed of the fastest vehicle on the map", "m/s"),
    "pedestrians": Feature("pedestrians on the map; those that touch count as one", "pedestrians"),
    "lane_share": Feature("share of the map's cells on the middle of a lane", "1"),
    "road_share": Feature("share of the map's cells on roads", "1"),
    "crosswalk_share": Feature("share of the map's cells on crosswalks", "1"),
    "speed_limit": Feature("highest speed limit on the map", "m/s"),
}
"""Features of ``measured``; speed and acceleration are 0 without an agent."""

_NEEDED = "agent_present"


def measured(feature_map: Float32) -> dict[str, float]:
    """Return the features of a map [17, y, x], by the names of ``FEATURES``."""
    middle = feature_map.shape[1] // 2
    around = slice(middle - 1, middle + 1)
    agent = feature_map[:6, around, around].reshape(6, -1)
    here = agent[:, int(np.argmax(agent[0] > 0))] if (agent[0] > 0).any() else np.zeros(6, np.float32)
    moving = np.flatnonzero(feature_map[0])
    speeds = np.hypot(*feature_map[1:3].reshape(2, -1)[:, moving])
    return {
        "agent_present": float(here[0] > 0),
        "speed": float(np.hypot(here[1], here[2])),
        "acceleration": float(np.hypot(here[3], here[4])),
        "vehicles": _pieces(feature_map[0]),
        "fastest": float(speeds.max(initial=0)),
        "pedestrians": _pieces(feature_map[6]),
        "lane_share": _share(feature_map[13]),
        "road_share": _share(feature_map[16]),
        "crosswalk_share": _share(feature_map[9]),
        "speed_limit": float(feature_map[15].max()) * USUAL_LIMIT,
    }


def remarks(features: Mapping[str, float], typical: Mapping[str, tuple[float, float]]) -> tuple[InputWarning, ...]:
    """Return the remarks on a request.

    Args:
        features: features of ``measured``.
        typical: range of training requests (the middle 99 %) by feature; values beyond it by more than half its width
            are remarked on. Features without a range are not checked, except that the map must contain an agent.
    """
    return unusual(features, {_NEEDED: (1.0, 1.0)} | dict(typical), FEATURES, "training requests")


def _share(channel: Float32) -> float:
    return float(np.count_nonzero(channel)) / channel.size


def _pieces(channel: NDArray[Any]) -> float:
    """Return the number of connected marked areas; cells that touch at corners are connected."""
    marked = (channel != 0).view(np.uint8)
    if not marked.any():
        return 0.0
    return float(cv2.connectedComponents(marked, connectivity=8)[0] - 1)
