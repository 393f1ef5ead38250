"""Replay sets of lesions: crops of scans, each segmented as a separate scan, window by window."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import npz, replay
from models.artefact import Artefact
from models.building import UNSTATED, Provenance
from models.executors.device import CPU, Device
from models.imaging.nifti import BadImage
from models.replay import Arrays, Passes, Scores
from models.tasks.lesion.artefact import recipe as recipes
from models.tasks.lesion.artefact.recipe import Channel, Recipe
from models.tasks.lesion.data import examples
from models.tasks.lesion.data.examples import Files
from models.tasks.lesion.data.image import Scan
from models.tasks.lesion.inference import members as ensembles
from models.tasks.lesion.inference import segment
from models.tasks.lesion.inference.preparation import prepare
from models.tasks.lesion.spec import HEADS, LESIONS

UNITS = 32
"""Number of crops in a set, if there are enough scans."""
EDGE = 72
"""Edge of a crop, voxels; less for smaller scans or windows. Zeros fill the window up."""
LEVELS = 255
"""Number of intensities that brain voxels are rounded to."""
_PER_SCAN = 2
"""Crops per scan: one around a lesion, and one elsewhere."""
_RAS = np.eye(4)


class NoCrops(ValueError):
    """No crop of the scans can be replayed."""


def encode(crops: Sequence[Mapping[str, NDArray[np.uint8]]]) -> bytes:
    """Encode crops by channel, [x, y, z] of one shape, as a file of inputs in the same order."""
    return npz.encode({name: np.stack([crop[name] for crop in crops]) for name in crops[0]})


def crops(
    cases: Iterable[Files], channels: Sequence[Channel], window: tuple[int, int, int], seed: int = 0
) -> Iterator[dict[str, NDArray[np.uint8]]]:
    """Yield crops of each labelled scan, one around a lesion and one elsewhere in the brain, with ``LEVELS``
    intensities.

    Voxels are not resampled. Crops of one intensity are left out.

    Raises:
        BadFile: see ``examples.read``.
    """
    draw = np.random.default_rng(seed)
    for case in cases:
        scan, truth = examples.read(case, channels)
        brain = scan.brain
        for inside in (truth & brain, brain):
            places = np.argwhere(inside if inside.any() else brain)
            if not len(places):
                continue
            crop = _crop(scan, brain, places[draw.integers(len(places))], window)
            if all(len(np.unique(image[image > 0])) > 1 for image in crop.values()):
                yield crop


def _crop(
    scan: Scan, brain: NDArray[np.bool_], centre: NDArray[np.intp], window: Sequence[int]
) -> dict[str, NDArray[np.uint8]]:
    size = [min(EDGE, edge) for edge in window]
    start = [
        int(np.clip(at - edge // 2, 0, max(length - edge, 0)))
        for at, edge, length in zip(centre, size, brain.shape, strict=True)
    ]
    box = tuple(slice(at, at + edge) for at, edge in zip(start, size, strict=True))
    missing = [(0, edge - min(edge, length)) for edge, length in zip(size, brain.shape, strict=True)]
    return {name: np.pad(_rounded(image[box], brain[box]), missing) for name, image in _images(scan).items()}


def _images(scan: Scan) -> dict[str, NDArray[Any]]:
    return {"flair": scan.flair, **dict(zip(scan.names, scan.channels, strict=True))}


def _rounded(values: NDArray[Any], brain: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return intensities as whole numbers from 1, linear between the brain's extremes less a thousandth; 0 outside."""
    inside = np.asarray(values[brain], np.float64)
    low, high = np.quantile(inside, (0.0005, 0.9995)) if len(inside) else (0.0, 1.0)
    share = (np.asarray(values, np.float64) - low) / max(high - low, np.finfo(np.float32).tiny)
    return np.where(brain, 1 + np.rint(np.clip(share, 0, 1) * (LEVELS - 1)), 0).astype(np.uint8)


def attached(
    artefact: Artefact,
    calibration: Sequence[Files],
    judge: Mapping[str, Sequence[Files]],
    provenance: Provenance,
    *,
    device: Device = CPU,
) -> Artefact:
    """Attach crops of calibration scans and of others as the replay set; without any, return the artefact unchanged."""
    if not calibration:
        return artefact
    recipe = recipes.read(artefact)
    others = [case for cases in judge.values() for case in cases]
    try:
        content = chosen(calibration, others, recipe.channels, recipe.window)
    except NoCrops:
        return artefact
    return replay.attach(artefact, content, replay.units_of(provenance), device=device)


def chosen(
    known: Sequence[Files],
    shifted: Sequence[Files],
    channels: Sequence[Channel],
    window: tuple[int, int, int],
    units: int = UNITS,
) -> bytes:
    """Return a file of inputs: crops of in-domain and shifted scans, drawn and shuffled with a fixed seed.

    Raises:
        BadFile: see ``examples.read``.
        NoCrops: every crop has a single intensity.
    """
    inside, outside = replay.chosen(len(known), len(shifted), units // _PER_SCAN)
    cases = [known[at] for at in inside.tolist()] + [shifted[at] for at in outside.tolist()]
    drawn = list(crops(cases, channels, window))
    if not drawn:
        raise NoCrops("no crop of the scans has more than one intensity; scans of tissue are needed")
    return encode([drawn[at] for at in replay.shuffled(len(drawn)).tolist()])


def scans(arrays: Arrays, channels: Sequence[Channel]) -> list[Scan]:
    """Return the crops of a file of inputs as scans with voxels of 1 mm.

    Raises:
        BadArrays: a channel is missing, or of another type or shape.
    """
    flair = replay.array(arrays, "flair", "uint8", None, None, None, None)
    images = {name: replay.array(arrays, name, "uint8", *flair.shape) for name in channels}
    return [
        Scan(
            names=tuple(channels),
            channels=tuple(images[name][number] for name in channels),
            flair=flair[number],
            brain_mask=None,
            affine=_RAS,
            spacing=(1.0, 1.0, 1.0),
            space=1,
        )
        for number in range(len(flair))
    ]


def of_files(artefact: Artefact, directory: Path) -> Artefact:
    """Attach crops of a folder's scans as the replay set: ``dev_in``, and all others but ``train``.

    Raises:
        BadFile, OSError, ValueError: a file is missing or cannot be read.
    """
    from models.tasks.lesion.data.official import read_files

    data = read_files(directory)
    others = {name: cases for name, cases in data.items() if name not in ("train", "dev_in")}
    return attached(artefact, data.get("dev_in", ()), others, UNSTATED)


def replayer(artefact: Artefact, arrays: Arrays, device: Device) -> Passes:
    """Return the passes that score the crops of a replay set, one crop a pass.

    Raises:
        BadArrays: see ``scans``; or a crop cannot be prepared.
        ArtefactError, ProviderUnavailable: the members cannot be run.
    """
    recipe = recipes.read(artefact)
    crops = scans(arrays, recipe.channels)
    _check(crops, recipe)
    members = ensembles.members(artefact, device=device)

    def score(part: slice) -> Scores:
        predictives = [segment.segment(scan, members, recipe).predictive() for scan in crops[part]]
        return replay.joined(
            [replay.scored(HEADS, artefact.manifest, {LESIONS.name: predictive}) for predictive in predictives]
        )

    return Passes(len(crops), 1, score)  # a crop has one window, which is one pass


def _check(crops: Sequence[Scan], recipe: Recipe) -> None:
    for number, scan in enumerate(crops):
        try:
            prepare(scan, recipe)
        except BadImage as error:
            raise npz.BadArrays(f"crop {number}: {error}") from error
