"""Multiple sclerosis lesions of a patient: number, sizes, places, shapes and contrast."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.lesion import fields
from simulators.lesion.anatomy import SHAPE, Anatomy
from simulators.lesion.fields import Float

SMALLEST, LARGEST = 2.0, 700.0
"""Smallest and largest volume of one focus, mm³; larger lesions are several foci that grew together."""
_SPREAD = 1.75
"""Standard deviation of the logarithm of the volume of a lesion."""
_CROWDING = 1.5
"""Sum of the volumes of single lesions over their joint volume: lesions overlap and spare grey matter."""

PLACES = ("periventricular", "juxtacortical", "deep", "infratentorial")
_SHARES = {"small": (0.28, 0.32, 0.34, 0.06), "large": (0.72, 0.12, 0.13, 0.03)}
"""Shares of lesions below and above 60 mm³ by place, in the order of ``PLACES``."""


@dataclass(frozen=True, slots=True)
class Burden:
    """Lesion burden of a patient."""

    volume: float
    """Total volume, ml."""
    count: int


@dataclass(frozen=True, slots=True)
class Lesions:
    """Lesions of a patient, each map [x, y, z]."""

    share: Float
    """Share of each voxel that is lesion, 0 to 1."""
    brightness: Float
    """Position of the FLAIR signal between tissue (0) and lesion (1 on average); 0 outside lesions."""
    hole: Float
    """Position of the T1 signal between white matter (0) and fluid (1)."""


def draw(rng: np.random.Generator, anatomy: Anatomy, burden: Burden) -> Lesions:
    """Draw lesions whose total is near the burden's."""
    share, brightness, hole = (np.zeros(SHAPE, np.float32) for _ in range(3))
    texture = fields.smooth(rng, SHAPE, 3.0)
    wide = fields.smooth(rng, SHAPE, 7.0)
    sizes = _sizes(rng, burden)
    room = _room(anatomy)
    candidates = _candidates(rng, anatomy, room)
    softness = rng.uniform(0.65, 1.1)
    holes = rng.beta(1.3, 2.5)
    for size in sizes:
        kind = rng.choice(len(PLACES), p=_SHARES["large" if size > 60 else "small"])
        for centre, part in _foci(rng, candidates[kind], room, anatomy.ventricle, size, kind == 0):
            periventricular = kind == 0
            bright = float(np.clip(rng.normal(1.0, 0.18) - 0.16 * math.exp(-part / 30), 0.4, 1.5))
            dark = float(np.clip(rng.beta(1.2, 2.6) * 0.6 + holes * 0.4, 0, 1)) * min(1.0, 0.35 + part / 250)
            box, value = _focus(rng, anatomy, centre, part, texture, wide, periventricular, softness)
            value *= room[box]
            higher = value > share[box]
            brightness[box] = np.where(higher, bright, brightness[box])
            hole[box] = np.where(higher, dark, hole[box])
            share[box] = np.maximum(share[box], value)
    return Lesions(share, brightness, hole)


def _sizes(rng: np.random.Generator, burden: Burden) -> NDArray[np.float64]:
    """Draw volumes of lesions, mm³, largest first: log-normal, with the burden's count and sum."""
    logs = rng.normal(0, _SPREAD, burden.count)
    sizes = np.exp(logs)
    total = 1000 * burden.volume * _CROWDING
    for _ in range(4):  # the smallest size increases the sum again
        sizes = np.maximum(sizes * total / sizes.sum(), SMALLEST)
    return -np.sort(-sizes)


def _room(anatomy: Anatomy) -> Float:
    """Return the map of possible lesion tissue: white matter and the adjacent deep grey matter, never fluid."""
    near = np.clip(2.2 * fields.blur(anatomy.white, 1.0) - 0.35, 0, 1)
    return np.asarray(near * (1 - anatomy.fluid))


def _candidates(rng: np.random.Generator, anatomy: Anatomy, room: Float) -> list[NDArray[np.intp]]:
    """Return flat indices of voxels in which a lesion may begin, for each of ``PLACES``; denser means likelier."""
    flat = np.flatnonzero((anatomy.white > 0.55).ravel() & (anatomy.hull > 0.6).ravel())
    flat = flat[rng.random(len(flat)) < 0.35]
    distance = anatomy.ventricle.ravel()[flat]
    below = anatomy.infratentorial.ravel()[flat]
    cortex = fields.blur(anatomy.grey, 2.0).ravel()[flat]
    above = ~below
    places = [
        flat[above & (distance > 0.5) & (distance < 7) & (rng.random(len(flat)) < np.exp(-distance / 4))],
        flat[above & (distance > 9) & (cortex > 0.25) & (cortex < 0.6)],
        flat[above & (distance > 7) & (cortex < 0.25)],
        flat[below],
    ]
    return [some if len(some) else flat for some in places]


def _foci(
    rng: np.random.Generator, candidates: NDArray[np.intp], room: Float, distance: Float, size: float, by_wall: bool
) -> list[tuple[NDArray[np.float64], float]]:
    """Draw centre and volume of the foci of a lesion: a single focus, or a chain that stays in white matter.

    If ``by_wall``, the chain follows the ventricles.
    """
    centre = np.array(np.unravel_index(rng.choice(candidates), SHAPE), float)
    count = max(1, math.ceil(size / LARGEST))
    parts = rng.dirichlet(np.full(count, 3.0)) * size
    foci = [(centre, parts[0])]
    for part in parts[1:]:
        start, volume = foci[rng.integers(len(foci))]
        best, most = start, -1.0
        for _ in range(6):
            step = rng.normal(0, 1, 3)
            step *= 1.15 * (volume * 3 / (4 * math.pi)) ** (1 / 3) / np.linalg.norm(step)
            there = np.clip(start + step, 2, np.array(SHAPE) - 3)
            voxel = tuple(there.astype(int))
            value = float(room[voxel]) + 0.3 * rng.random()
            if by_wall:
                value += math.exp(-max(float(distance[voxel]), 0.0) / 8)
            if value > most:
                best, most = there, value
        foci.append((best, part))
    return foci


def _focus(
    rng: np.random.Generator,
    anatomy: Anatomy,
    centre: NDArray[np.float64],
    volume: float,
    texture: Float,
    wide: Float,
    periventricular: bool,
    softness: float,
) -> tuple[tuple[slice, ...], Float]:
    """Return a box of the grid and the share of each of its voxels that an ovoid with a rough border covers."""
    radius = (volume * 3 / (4 * math.pi)) ** (1 / 3)
    axes = np.exp(rng.normal(0, 0.22, 3))
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    if periventricular:  # lesions perpendicular to the wall of the ventricle
        axes[0] *= rng.uniform(1.0, 1.9)
        turn = _basis(rng, _normal(anatomy.ventricle, centre) + rng.normal(0, 0.25, 3))
    axes /= np.prod(axes) ** (1 / 3)
    reach = radius * axes.max() * 1.5 + 2.5
    low = np.maximum(np.floor(centre - reach), 0).astype(int)
    high = np.minimum(np.ceil(centre + reach) + 1, SHAPE).astype(int)
    box = tuple(slice(int(a), int(b)) for a, b in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(*(np.arange(a, b) for a, b in zip(low, high, strict=True)), indexing="ij"))
    offset = (grid - centre[:, None, None, None]).reshape(3, -1)
    far = np.sqrt((((turn.T @ offset) / (radius * axes[:, None])) ** 2).sum(axis=0)).reshape(grid.shape[1:])
    rough = 0.22 * min(radius, 4.0) * texture[box] + 0.40 * max(min(radius, 8.0) - 2.0, 0.0) * wide[box]
    depth = (1 - far) * radius + rough
    edge = softness * (0.9 + 0.12 * radius)
    return box, np.clip(0.5 + depth / (2 * edge), 0, 1).astype(np.float32)


def _normal(distance: Float, centre: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the direction in which the distance from the ventricle grows."""
    x, y, z = np.clip(centre.astype(int), 1, np.array(SHAPE) - 2)
    slope = np.array(
        [
            distance[x + 1, y, z] - distance[x - 1, y, z],
            distance[x, y + 1, z] - distance[x, y - 1, z],
            distance[x, y, z + 1] - distance[x, y, z - 1],
        ],
        float,
    )
    return slope / max(float(np.linalg.norm(slope)), 1e-3)


def _basis(rng: np.random.Generator, first: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an orthonormal basis as columns, the first along ``first``."""
    return np.linalg.qr(np.column_stack([first, rng.standard_normal((3, 2))]))[0]
