"""FLAIR and T1 signal of tissue before a scanner blurs it, with structures that resemble lesions but are not."""

import math
from dataclasses import dataclass

import numpy as np

from simulators.lesion import fields
from simulators.lesion.anatomy import SHAPE, Anatomy
from simulators.lesion.fields import Float
from simulators.lesion.lesions import Lesions
from simulators.lesion.sites import Contrast


@dataclass(frozen=True, slots=True)
class Bodies:
    """Structures that both contrasts share besides tissue and lesions, each map [x, y, z]."""

    band: Float
    """Bright lining and caps of the ventricles, 0 to about 1."""
    diffuse: Float
    """Dirty-appearing white matter around lesions and behind the ventricles, 0 to about 1."""
    spots: Float
    """Points, vessels and flow as the change of FLAIR relative to white matter."""
    tracts: Float
    """Slow variation within white matter, variance 1."""
    cortex: Float
    """Slow variation within grey matter, variance 1."""


def bodies(rng: np.random.Generator, anatomy: Anatomy, lesions: Lesions) -> Bodies:
    """Draw the structures that both contrasts share."""
    from_wall = np.maximum(anatomy.ventricle, 0)
    width = rng.uniform(0.7, 1.8)
    patches = np.clip(0.7 + 0.6 * fields.smooth(rng, SHAPE, 9.0), 0, None)
    band = np.exp(-from_wall / width) * patches * (anatomy.ventricle > -1.5)
    around = fields.blur(np.minimum(lesions.share, 1), 4.0)
    clouds = np.clip(fields.smooth(rng, SHAPE, 12.0), 0, None) * np.exp(-((from_wall - 6) ** 2) / 72)
    diffuse = np.minimum(2.2 * around, 0.8) + rng.uniform(0, 0.6) * clouds
    return Bodies(
        band.astype(np.float32),
        diffuse.astype(np.float32),
        _spots(rng, anatomy),
        0.75 * fields.smooth(rng, SHAPE, 9.0) + 0.66 * fields.smooth(rng, SHAPE, 3.0),
        0.5 * fields.smooth(rng, SHAPE, 14.0) + 0.86 * fields.smooth(rng, SHAPE, 3.0),
    )


def flair(rng: np.random.Generator, anatomy: Anatomy, lesions: Lesions, shared: Bodies, contrast: Contrast) -> Float:
    """Return the FLAIR signal with white matter at 1; lesions are bright, fluid is dark."""
    grey, fluid, lesion = _varied(rng, contrast)
    white = 1 + 0.045 * shared.tracts
    signal = anatomy.white * white
    iron = rng.uniform(0.0, 0.28)
    signal += anatomy.grey * (grey - iron * anatomy.core + 0.11 * shared.cortex)
    signal += anatomy.fluid * (fluid + 0.12 * np.clip(shared.cortex - 0.4, 0, None))
    tissue = 1 - anatomy.fluid
    signal += tissue * (shared.band * rng.uniform(0.05, 0.45) + shared.diffuse * rng.uniform(0.05, 0.30)) * (lesion - 1)
    goal = 1 + (lesion - 1) * lesions.brightness * (1 + 0.14 * shared.cortex)
    rise = np.maximum(goal - signal, 0)
    return np.asarray(signal + lesions.share * rise + shared.spots * (lesion - 1))


def t1(rng: np.random.Generator, anatomy: Anatomy, lesions: Lesions, shared: Bodies, contrast: Contrast) -> Float:
    """Return the T1-weighted signal with white matter at 1; lesions look like white matter, grey matter or holes."""
    grey, fluid, lesion = _varied(rng, contrast)
    signal = anatomy.white * (1 + 0.02 * shared.tracts - 0.06 * shared.diffuse)
    signal += anatomy.grey * (grey + 0.025 * shared.cortex) + anatomy.fluid * fluid
    goal = lesion - (lesion - fluid) * lesions.hole
    return np.asarray(signal + lesions.share * np.minimum(goal - signal, 0))


def _varied(rng: np.random.Generator, contrast: Contrast) -> tuple[float, float, float]:
    """Return the signals of grey matter, fluid and lesions in one scan."""
    together, *apart = rng.normal(0, contrast.spread, 4)
    grey = 1 + (contrast.grey - 1) * math.exp(together + apart[0])
    fluid = contrast.fluid * math.exp(2 * apart[1])
    lesion = 1 + (contrast.lesion - 1) * math.exp(together + apart[2])
    return grey, fluid, lesion


def _spots(rng: np.random.Generator, anatomy: Anatomy) -> Float:
    """Return a map of points in white matter, vessels in furrows and choroid plexus, each a few voxels in size."""
    spots = np.zeros(SHAPE, np.float32)
    inside = anatomy.hull > 0.7
    places = (
        (inside & (anatomy.white > 0.8), rng.poisson(14), (0.5, 1.2), (0.45, 0.75)),
        (inside & (anatomy.fluid > 0.5) & (anatomy.ventricle > 3), rng.poisson(30), (0.8, 2.5), (0.6, 1.1)),
        ((anatomy.ventricle < -1.5), rng.poisson(3), (1.2, 2.2), (1.0, 1.9)),
        (inside & (anatomy.grey > 0.85), rng.poisson(25), (0.3, 0.8), (0.7, 1.6)),
    )
    for where, count, height, radius in places:
        flat = np.flatnonzero(where)
        if not len(flat):
            continue
        for centre in np.column_stack(np.unravel_index(rng.choice(flat, count), SHAPE)):
            _add(rng, spots, centre, rng.uniform(*height), rng.uniform(*radius))
    return spots


def _add(rng: np.random.Generator, volume: Float, centre: np.ndarray, height: float, radius: float) -> None:
    low, high = np.maximum(centre - 5, 0), np.minimum(centre + 6, SHAPE)
    box = tuple(slice(int(a), int(b)) for a, b in zip(low, high, strict=True))
    stretch = np.exp(rng.normal(0, 0.35, 3))
    square = sum(
        ((np.arange(a, b) - c) / (radius * s)).reshape([-1 if i == axis else 1 for i in range(3)]) ** 2
        for axis, (a, b, c, s) in enumerate(zip(low, high, centre, stretch, strict=True))
    )
    volume[box] += (height * np.exp(-0.5 * square)).astype(np.float32)
