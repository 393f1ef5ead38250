"""Brain of one patient: the deformed template with widened ventricles and furrows and sharpened tissue borders."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from simulators.lesion import fields
from simulators.lesion.fields import Float, Shape
from simulators.lesion.template import Template

SHAPE: Shape = (144, 168, 144)
"""Grid of 1 mm voxels towards right, front and top; eight windows of 96 that overlap by a quarter cover it."""

_SIZE = (0.90, 0.87, 0.87)
_NODES = 4.0
"""Distance between nodes of the deformation, voxels."""
_SHARPNESS = 2.2
"""Power applied to the template's tissue shares: the average of many brains is more blurred than one brain."""
_CORE = (11.0, 1.0)
"""Distance of the middle of the basal ganglia before and above the middle of the template's brain, mm."""


@dataclass(frozen=True, slots=True)
class Anatomy:
    """Tissue of a patient on the grid of ``SHAPE``."""

    grey: Float
    """Share of grey matter in each voxel, [x, y, z]; grey, white and fluid sum to 1."""
    white: Float
    fluid: Float
    hull: Float
    """Mask of the brain with its fluid; its border is soft around 0.5."""
    ventricle: Float
    """Approximate distance from the lateral ventricles, mm; negative inside."""
    core: Float
    """Map that is 1 around the basal ganglia and thalamus and 0 elsewhere."""
    infratentorial: NDArray[np.bool_]
    age: float
    """Degree of atrophy, from 0 (young, none) to 1."""


def draw(rng: np.random.Generator, template: Template, age: float) -> Anatomy:
    """Draw a patient; ``age`` (0 to 1) widens ventricles and furrows."""
    coarse = _deformation(rng, template, age)
    nearby = ndimage.map_coordinates(template.hull, coarse, np.float32, order=1, mode="nearest")
    inside = np.flatnonzero(fields.upsample(nearby, SHAPE, _NODES) > 0.01)
    place = np.stack([fields.upsample(part, SHAPE, _NODES).ravel()[inside] for part in coarse])

    def sampled(volume: Float) -> Float:
        return np.asarray(ndimage.map_coordinates(volume, place, np.float32, order=1, mode="nearest"))

    grey, white = sampled(template.grey), sampled(template.white)
    furrows = 0.75 + 0.5 * age + 0.45 * fields.smooth(rng, SHAPE, 5.0).ravel()[inside]
    fluid = np.clip(1 - grey - white, 0, 1) * np.exp(furrows)
    folds = 0.25 * fields.smooth(rng, SHAPE, 2.5) + 0.2 * fields.smooth(rng, SHAPE, 6.0)
    grey *= np.exp(folds.ravel()[inside])
    white *= 1.45  # the average cortex is thicker than a real cortex
    powers: list[Float] = [share**_SHARPNESS for share in (grey, white, fluid)]
    total = powers[0] + powers[1] + powers[2] + 1e-6
    grey, white = powers[0] / total, powers[1] / total
    side, front, top = place - template.centre[:, None].astype(np.float32)
    core = np.sqrt((side / 36) ** 2 + ((front - _CORE[0]) / 34) ** 2 + ((top - _CORE[1]) / 22) ** 2)

    def spread(values: Float, elsewhere: float = 0.0) -> Float:
        volume = np.full(SHAPE, elsewhere, np.float32)
        volume.ravel()[inside] = values
        return volume

    return Anatomy(
        spread(grey),
        spread(white),
        spread(1 - grey - white, 1.0),
        spread(sampled(template.hull)),
        spread(sampled(template.ventricle), 99.0),
        spread(np.clip(4 * (1.1 - core), 0, 1).astype(np.float32)),
        spread(sampled(template.infratentorial)) > 0.5,
        age,
    )


def _deformation(rng: np.random.Generator, template: Template, age: float) -> Float:
    """Return the template voxel of every node of the patient's grid, [3, i, j, k]."""
    size = np.array(_SIZE) * (1 + rng.normal(0, 0.02)) * (1 + rng.normal(0, 0.015, 3))
    size = np.clip(size, 0.80, (0.94, 0.895, 0.90))
    turn = _rotation(np.radians(rng.normal(0, (2.5, 1.5, 2.5))))
    grid = np.stack(np.meshgrid(*fields.nodes(SHAPE, _NODES), indexing="ij"))
    middle = (np.array(SHAPE) - 1) / 2 + rng.normal(0, 1.0, 3)
    flat = (grid - middle[:, None, None, None]).reshape(3, -1)
    straight = (turn @ flat) / size[:, None] + template.centre[:, None]
    coarse: Float = straight.reshape(grid.shape).astype(np.float32)
    shape = coarse.shape[1:]
    for axis in range(3):
        wide = fields.smooth(rng, shape, 24 / _NODES)
        fine = fields.smooth(rng, shape, 10 / _NODES)
        coarse[axis] += 1.8 * wide + 1.1 * fine
    strength = np.clip(rng.normal(1.0 + 5.0 * age, 1.2), -1.0, 9.0)
    for axis in range(3):
        pull = ndimage.map_coordinates(template.widening[axis], coarse, np.float32, order=1, mode="nearest")
        coarse[axis] += strength * pull
    return coarse


def _rotation(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rotation matrix around the axes x, y and z by angles in radians."""
    turn = np.eye(3)
    for axis, angle in enumerate(angles):
        matrix = np.eye(3)
        first, second = (other for other in range(3) if other != axis)
        matrix[first, first] = matrix[second, second] = math.cos(angle)
        matrix[first, second], matrix[second, first] = -math.sin(angle), math.sin(angle)
        turn = matrix @ turn
    return turn
