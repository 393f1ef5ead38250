"""Channels of vehicles and pedestrians: occupancy, and motion in the frame of the agent."""

import cv2
import numpy as np

from models.tasks.motion.inference.frame import Float32
from models.tasks.motion.inference.objects import Objects
from models.tasks.motion.inference.render.raster import Cells
from models.tasks.motion.inference.render.shapes import touching

CORNERS = 4
"""Number of corners of an object seen from above."""


def draw_vehicles(out: Float32, objects: Objects, corners: Cells, frame: Float32) -> None:
    """Draw occupancy, velocity x and y, acceleration x and y, and yaw as measured in the scene.

    Args:
        out: six channels [6, y, x], zero.
        objects: objects; later ones are drawn over earlier ones.
        corners: corners of the objects, [4 N, 2].
        frame: frame of the agent, [4, 4].
    """
    ones = np.ones((len(objects), 1), np.float32)
    yaw = objects.yaw[:, None].astype(np.float32)
    velocity, acceleration = _turned(objects.velocity, frame), _turned(objects.acceleration, frame)
    _paint(out, corners, np.concatenate([ones, velocity, acceleration, yaw], axis=1))


def draw_pedestrians(out: Float32, objects: Objects, corners: Cells, frame: Float32) -> None:
    """Draw occupancy, velocity x and y into three channels [3, y, x]; see ``draw_vehicles``."""
    ones = np.ones((len(objects), 1), np.float32)
    _paint(out, corners, np.concatenate([ones, _turned(objects.velocity, frame)], axis=1))


def _turned(vectors: np.ndarray[tuple[int, ...], np.dtype[np.float64]], frame: Float32) -> Float32:
    """Return vectors [N, 2] in the agent's frame, float32.

    As released, the translation of the frame is added and subtracted again: far from the scene's origin this causes
    steps of a thousandth, which the training data contain.
    """
    x, y = vectors.T.astype(np.float32)
    turned = [x * frame[axis, 0] + y * frame[axis, 1] + frame[axis, 3] - frame[axis, 3] for axis in (0, 1)]
    return np.stack(turned, axis=1)


def _paint(out: Float32, corners: Cells, values: Float32) -> None:
    """Write the values [N, channels] of objects into their cells, which are drawn once for all channels."""
    size = out.shape[-1]
    near = touching(corners, np.arange(0, len(corners) + 1, CORNERS), size)
    if not near:
        return
    labels = np.zeros((size, size), np.int32)
    for label, box in near:
        cv2.fillPoly(labels, [box], label + 1)
    flat = labels.reshape(-1)
    covered = np.flatnonzero(flat)
    out.reshape(len(out), -1)[:, covered] = values[flat[covered] - 1].T
