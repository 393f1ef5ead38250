"""A prepared scan's whole way to its segmentation: windows, stitched members, maps, lesions, back on the scan's grid.

``work`` is a generator of batches of calls that may run side by side; it knows no scheduler, and between two batches
does next to nothing. What the calls make does not depend on the order in which they finish.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.nifti import Affine
from models.predictive import Volumes
from models.tasks.lesion import lesions, maps
from models.tasks.lesion.appearance import Remark, appearance, remarks
from models.tasks.lesion.burden import Burden, quantity
from models.tasks.lesion.image import Scan
from models.tasks.lesion.lesions import Lesion, Lesions, Load
from models.tasks.lesion.maps import BrainMaps
from models.tasks.lesion.preparation import Prepared, prepare
from models.tasks.lesion.recipe import Recipe
from models.tasks.lesion.windows import Stitch, Windows

Float32 = NDArray[np.float32]
Mask = NDArray[np.bool_]

_PIECE = 1 << 19  # voxels of a call: some ten milliseconds
_BATCH = 4  # calls a lane in a batch of windows, so that the last ones leave few lanes idle
_WINDOWS_END = 0.9  # of the time, if the networks are as slow as they usually are


class Members(Protocol):
    """The networks of an ensemble; calls may come from several threads."""

    def __len__(self) -> int: ...

    def difference(self, member: int, window: Float32) -> Float32:
        """Logit 1 less logit 0 of a window [channels, x, y, z], float32 [x, y, z]."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """A bounded piece of work; its result is what the function returns."""

    seconds: float
    """Expected duration."""
    function: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """Calls that may run side by side, in any order; their results are sent back in this order."""

    calls: tuple[Call, ...]
    stage: str
    """What is being done, in words."""
    done: float
    """Share of the whole work that is finished before this batch, 0 to 1."""


@dataclass(frozen=True)
class Means:
    """Of the brain's voxels, nats; one member has no knowledge."""

    total: float
    data: float | None = None
    knowledge: float | None = None
    rmi: float | None = None


@dataclass(frozen=True)
class Segmentation:
    """All that is said of a scan; volumes [x, y, z] lie on the scan's own grid."""

    affine: Affine
    space: int
    mask: Mask
    maps: Mapping[str, NDArray[Any]]
    """``probability``, ``total``, of ensembles ``data``, ``knowledge`` and ``rmi`` (float32, nats, 0 outside the
    brain), where the recipe gives advice ``advice`` (uint8, 1: look at this voxel)."""
    lesions: tuple[Lesion, ...]
    """Largest first."""
    burden: Burden
    means: Means
    structural: float | None
    """One minus the members' mean Dice with the ensemble's mask, 0 to 1; None for a single model."""
    look_at_voxels: float | None
    """Share of the brain's voxels that advice marks; None without advice."""
    brain_ml: float
    resampled: bool
    """Whether the image was interpolated for the networks."""
    appearance: Mapping[str, float]
    remarks: tuple[Remark, ...]

    def predictive(self) -> Volumes:
        """The statistics of one unit."""
        means = self.means
        data, epkl = means.data, None
        if means.rmi is not None and data is not None:
            epkl = means.rmi + means.total - data
        return Volumes(
            probability=[self.maps["probability"]],
            mask=[self.mask],
            entropy=np.array([means.total], np.float32),
            expected_entropy=None if data is None else np.array([data], np.float32),
            epkl=None if epkl is None else np.array([epkl], np.float32),
            structural=None if self.structural is None else np.array([self.structural], np.float32),
        )


Work = Generator[Batch, list[Any], Segmentation]


def segment(scan: Scan, members: Members, recipe: Recipe, threads: int = 1) -> Segmentation:
    """A scan's segmentation, from beginning to end.

    Raises:
        BadImage: the scan cannot be prepared.
        NotFinite: a network answers NaN.
    """
    return finished(work(prepare(scan, recipe), members, recipe, lanes=threads), threads)


def finished(steps: Work, threads: int = 1) -> Segmentation:
    """Runs all batches, in so many threads."""
    with ThreadPoolExecutor(threads) as pool:
        results: list[Any] | None = None
        while True:
            try:
                batch = next(steps) if results is None else steps.send(results)
            except StopIteration as end:
                found: Segmentation = end.value
                return found
            run = map if threads == 1 else pool.map
            results = list(run(lambda call: call.function(), batch.calls))


def work(prepared: Prepared, members: Members, recipe: Recipe, *, lanes: int = 1, window_seconds: float = 0.5) -> Work:
    """Batches of calls whose end is the segmentation.

    ``lanes`` is how many calls are expected to run side by side; ``window_seconds`` how long a network takes for a
    window. Memory: a volume a member, and a few more.
    """
    windows = Windows(prepared.grid.shape, recipe.window, recipe.overlap)
    stitch, blank, look = yield _batch(
        "looking at the scan",
        0,
        (0.1, partial(Stitch, windows, len(members))),
        (0.05, partial(_blank, prepared.image, windows)),
        (0.3, partial(appearance, prepared.scan)),
    )
    yield from _differences(prepared, members, windows, stitch, blank, lanes, window_seconds)
    yield _batch("stitching", _WINDOWS_END, *((0.02, partial(stitch.finish, member)) for member in range(len(members))))
    differences = stitch.means()
    del stitch, blank
    found = yield from _maps(prepared, differences, recipe)
    del differences
    volume = yield from _lesions(prepared, found, recipe)
    found.differences = None  # no longer needed, and most of the memory
    mask, volumes = yield from _back(prepared, found, recipe)
    advice = volumes.get("advice")
    return Segmentation(
        affine=prepared.scan.affine,
        space=prepared.scan.space,
        mask=mask,
        maps=volumes,
        lesions=volume.lesions.table,
        burden=volume.burden,
        means=found.means(),
        structural=volume.lesions.structural,
        look_at_voxels=None if advice is None else found.share_above(recipe.voxel_trust),
        brain_ml=prepared.brain_ml,
        resampled=prepared.resampled,
        appearance=look,
        remarks=remarks(look, recipe.typical),
    )


def _batch(stage: str, done: float, *calls: tuple[float, Callable[[], Any]]) -> Batch:
    return Batch(tuple(Call(seconds, function) for seconds, function in calls), stage, done)


def _blank(image: Float32, windows: Windows) -> tuple[bool, ...]:
    """Which windows are 0 throughout: a member says the same of all of them."""
    return tuple(not windows.cut(image, number).any() for number in range(len(windows)))


def _differences(
    prepared: Prepared,
    members: Members,
    windows: Windows,
    stitch: Stitch,
    blank: Sequence[bool],
    lanes: int,
    seconds: float,
) -> Generator[Batch, list[Any], None]:
    """Runs each member on each window, and on a blank one only once."""
    empty: list[Float32] = []
    if any(blank):
        zeros = np.zeros((len(prepared.image), *windows.window), np.float32)
        each = [(seconds, partial(members.difference, member, zeros)) for member in range(len(members))]
        empty = yield _batch("segmenting", 0.01, *each)

    def run(number: int, member: int) -> None:
        if blank[number]:
            stitch.add(member, number, empty[member])
        else:
            stitch.add(member, number, members.difference(member, windows.cut(prepared.image, number)))

    at_once = max(math.ceil(_BATCH * lanes / len(members)), 1)
    for first in range(0, len(windows), at_once):
        numbers = range(first, min(first + at_once, len(windows)))
        pairs = [(number, member) for number in numbers for member in range(len(members))]
        calls = [(0.005 if blank[number] else seconds, partial(run, number, member)) for number, member in pairs]
        yield _batch("segmenting", 0.01 + (_WINDOWS_END - 0.01) * first / len(windows), *calls)


@dataclass
class _Found:
    """What is known on the networks' grid."""

    differences: Float32 | None
    """[members, x, y, z]."""
    probability: Float32
    candidates: Mask
    """Where any member reaches the threshold."""
    brain: BrainMaps
    mask: Mask

    def means(self) -> Means:
        def mean(values: Float32 | None) -> float | None:
            return None if values is None else float(values.mean(dtype=np.float64))

        total = mean(self.brain.total)
        assert total is not None
        return Means(total, mean(self.brain.data), mean(self.brain.knowledge), mean(self.brain.rmi))

    def advising(self) -> Float32:
        """What the voxel advice is given by."""
        return self.brain.total if self.brain.rmi is None else self.brain.rmi

    def share_above(self, trust: float | None) -> float | None:
        return None if trust is None else float(np.mean(self.advising() > np.float32(trust)))


def _maps(prepared: Prepared, differences: Float32, recipe: Recipe) -> Generator[Batch, list[Any], _Found]:
    """Probability of all voxels, uncertainties of the brain's, piece by piece."""
    shape = prepared.grid.shape
    inside = prepared.brain.reshape(-1)
    pieces = [slice(first, min(first + _PIECE, inside.size)) for first in range(0, inside.size, _PIECE)]
    offsets = np.cumsum([0, *(int(np.count_nonzero(inside[piece])) for piece in pieces)]).tolist()
    found = _Found(
        differences=differences,
        probability=np.empty(shape, np.float32),
        candidates=np.empty(shape, bool),
        brain=maps.empty_maps(offsets[-1], len(differences)),
        mask=np.zeros(shape, bool),
    )
    flat = differences.reshape(len(differences), -1)
    threshold = np.float32(_logit(recipe.threshold))

    def fill(piece: slice, first: int, last: int) -> None:
        candidates = maps.fill_probability(flat[:, piece], found.probability.reshape(-1)[piece], threshold)
        found.candidates.reshape(-1)[piece] = candidates
        maps.fill_uncertainty(np.ascontiguousarray(flat[:, piece][:, inside[piece]]), found.brain.part(first, last))

    fills = [partial(fill, *one) for one in zip(pieces, offsets[:-1], offsets[1:], strict=True)]
    yield _batch("measuring uncertainty", 0.92, *((0.05, one) for one in fills))
    return found


@dataclass(frozen=True)
class _Counted:
    lesions: Lesions
    burden: Burden


def _lesions(prepared: Prepared, found: _Found, recipe: Recipe) -> Generator[Batch, list[Any], _Counted]:
    """Masks of the ensemble and of each member, inside the box where any of them marks something."""
    (box,) = yield _batch("finding lesions", 0.95, (0.03, partial(lesions.box_of, found.candidates)))
    differences = found.differences
    assert differences is not None

    def marked(values: Float32, threshold: float) -> tuple[Mask, Load]:
        mask = lesions.marked(values, threshold, recipe.small_voxels)
        return mask, lesions.load(mask)

    logit = _logit(recipe.threshold)
    calls = [partial(marked, found.probability[box], recipe.threshold)]
    calls += [partial(marked, difference[box], logit) for difference in differences]
    (mask, own), *others = yield _batch("finding lesions", 0.95, *((0.05, call) for call in calls))
    found.mask[box] = mask
    masks = [one for one, _ in others]
    corner = [part.start for part in box]
    describe = partial(
        lesions.describe,
        mask,
        found.probability[box],
        masks,
        affine=prepared.grid.affine,
        corner=corner,
        trust=recipe.lesion_trust,
    )
    (table,) = yield _batch("finding lesions", 0.96, (0.1, describe))
    ml = prepared.grid.voxel_mm3 / 1000
    counts, volumes = [load.count for _, load in others], [load.voxels * ml for _, load in others]
    return _Counted(table, Burden(quantity(own.count, counts), quantity(own.voxels * ml, volumes)))


def _back(
    prepared: Prepared, found: _Found, recipe: Recipe
) -> Generator[Batch, list[Any], tuple[Mask, dict[str, NDArray[Any]]]]:
    """Mask and maps on the scan's grid."""
    named: dict[str, Float32] = {name: values for name, values in vars(found.brain).items() if values is not None}

    def whole(values: NDArray[Any]) -> NDArray[Any]:
        volume = np.zeros(prepared.grid.shape, values.dtype)
        volume[prepared.brain] = values
        return volume

    def advice() -> NDArray[np.uint8]:
        assert recipe.voxel_trust is not None
        return whole((found.advising() > np.float32(recipe.voxel_trust)).astype(np.uint8))

    grid = prepared.grid

    def uncertainty(values: Float32) -> Float32:
        return grid.back(whole(values))

    calls: list[tuple[float, Callable[[], Any]]] = [(0.1, partial(grid.mask_back, found.mask))]
    if recipe.voxel_trust is not None:
        calls.append((0.05, lambda: grid.near_back(advice())))
    calls.append((0.02, partial(grid.back, found.probability)))
    calls += [(0.05, partial(uncertainty, values)) for values in named.values()]
    results: Iterator[Any] = iter((yield _batch("writing on the scan's grid", 0.97, *calls)))
    mask = next(results)
    marks = {"advice": next(results)} if recipe.voxel_trust is not None else {}
    return mask, dict(zip(("probability", *named), results, strict=True)) | marks


def _logit(probability: float) -> float:
    return math.log(probability) - math.log1p(-probability)
