"""Simulated scan: a patient of a site, imaged and annotated at that site."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.lesion import anatomy, images, lesions, raters, scanner
from simulators.lesion.fields import Float
from simulators.lesion.sites import Site
from simulators.lesion.template import Template

AFFINE = np.array(
    [[float(row == column) for column in range(3)] + [-(anatomy.SHAPE[row] - 1) / 2] for row in range(3)]
    + [[0.0, 0.0, 0.0, 1.0]]
)
"""Transformation from voxels to millimetres: 1 mm towards right, front and top, 0 in the middle."""

_RANGE = (0.6, 50.0)
"""Range of the total lesion volume, ml."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """Volumes of a scan as in the official files, each [x, y, z]; images are 0 outside the brain mask."""

    flair: Float
    t1: Float
    truth: NDArray[np.bool_]
    brain: NDArray[np.bool_]


def draw(rng: np.random.Generator, template: Template, site: Site) -> Simulated:
    """Draw a scan; equal generators give equal scans."""
    age = float(rng.beta(1.8, 1.8))
    carried = burden(rng, site)
    disease = math.log(carried.volume / _RANGE[0]) / math.log(_RANGE[1] / _RANGE[0])
    patient = anatomy.draw(rng, template, min(1.0, 0.55 * age + 0.45 * disease))
    damage = lesions.draw(rng, patient, carried)
    shared = images.bodies(rng, patient, damage)
    brain = scanner.brain_mask(rng, patient)
    grid = scanner.lattice(rng, site.voxel)
    outside = scanner.surroundings(rng, patient)
    flair = images.flair(rng, patient, damage, shared, site.flair)
    t1 = images.t1(rng, patient, damage, shared, site.t1)
    channels = []
    for signal, contrast in ((flair, site.flair), (t1, site.t1)):
        inside = np.clip(2 * patient.hull, 0, 1)
        noise = contrast.noise * math.exp(rng.normal(0, 0.25))
        image = scanner.acquire(rng, signal * inside + outside, grid, noise, site.bias)
        unit = np.float32(site.unit * math.exp(rng.normal(0, 0.35)))
        channels.append(np.where(brain, image * unit, np.float32(0)).astype(np.float32))
    truth = raters.consensus(rng, scanner.blurred(damage.share, grid), damage.brightness, brain, site.raters)
    return Simulated(channels[0], channels[1], truth, brain)


def burden(rng: np.random.Generator, site: Site) -> lesions.Burden:
    """Draw volume and number of lesions of a patient: the volume from a gamma law, the number as its square root."""
    mean, deviation = site.load
    volume = float(np.clip(rng.gamma((mean / deviation) ** 2, deviation**2 / mean), *_RANGE))
    count = site.lesions * math.sqrt(volume / 10) * math.exp(rng.normal(0, 0.5))
    return lesions.Burden(volume, int(np.clip(count, 3, 800)))
