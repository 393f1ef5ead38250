"""Segmentation of a prepared scan: windows, stitched members, maps, lesions, and resampling to the scan's grid.

``work`` is a generator of batches of calls that may run in parallel. It is independent of the scheduler and does almost
no work between batches. Results do not depend on the order in which calls finish.
"""

import math
from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.data.image import Scan
from models.tasks.lesion.inference import lesions, maps
from models.tasks.lesion.inference.appearance import appearance, remarks
from models.tasks.lesion.inference.burden import Burden, quantity
from models.tasks.lesion.inference.calls import Batch, batch_of, finished
from models.tasks.lesion.inference.grid import Grid
from models.tasks.lesion.inference.lesions import Agreement, Lesions, box_of
from models.tasks.lesion.inference.maps import BrainMaps
from models.tasks.lesion.inference.preparation import Prepared, prepare
from models.tasks.lesion.inference.segmentation import Means, Segmentation
from models.tasks.lesion.inference.windows import Stitch, Windows

Float32 = NDArray[np.float32]
Mask = NDArray[np.bool_]

PIECE = 1 << 19
"""Voxels of a call that runs no network: about ten milliseconds."""
_BATCH = 4  # calls per lane in a batch of windows, so that few lanes are idle at its end
_WINDOWS_END = 0.9  # typical share of the time that is spent up to the end of the windows


class Members(Protocol):
    """Networks of an ensemble; calls may come from several threads."""

    def __len__(self) -> int: ...

    def difference(self, member: int, window: Float32) -> Float32:
        """Return logit 1 less logit 0 of a window [channels, x, y, z], float32 [x, y, z]."""
        ...


Work = Generator[Batch, list[Any], Segmentation]


def segment(scan: Scan, members: Members, recipe: Recipe, threads: int = 1) -> Segmentation:
    """Prepare and segment a scan.

    Raises:
        BadImage: the scan cannot be prepared.
        NotFinite: a network returns NaN or infinity.
    """
    return finished(work(prepare(scan, recipe), members, recipe, lanes=threads), threads)


def work(
    prepared: Prepared,
    members: Members,
    recipe: Recipe,
    *,
    lanes: int = 1,
    window_seconds: float = 0.5,
    map_names: Collection[str] | None = None,
) -> Work:
    """Yield batches of calls, and return the segmentation; ``memory`` returns the memory that this needs.

    Args:
        lanes: number of calls that are expected to run in parallel.
        window_seconds: expected time of a network for a window, seconds.
        map_names: names of the maps to make besides the probability; None: all.
    """
    windows = Windows(prepared.grid.shape, recipe.window, recipe.overlap)
    stitch, blank, look = yield batch_of(
        "looking at the scan",
        0,
        (0.1, partial(Stitch, windows, len(members))),
        (0.05, partial(_blank, prepared.image, windows)),
        (0.2, partial(appearance, prepared.scan)),
    )
    yield from _differences(prepared, members, windows, stitch, blank, lanes, window_seconds)
    finishes = [partial(stitch.finish, member) for member in range(len(members))]
    yield batch_of("stitching", _WINDOWS_END, *((0.02, finish) for finish in finishes))
    differences = stitch.means()
    del stitch, finishes
    voxel_maps = yield from _maps(prepared, differences, recipe)
    share = partial(voxel_maps.share_above, recipe.voxel_trust)
    means, look_at_voxels = yield batch_of("measuring uncertainty", 0.94, (0.02, voxel_maps.means), (0.01, share))
    mask, table, burden = yield from _lesions(prepared, differences, voxel_maps, recipe)
    del differences  # frees most of the memory
    scan_mask, volumes = yield from _back(prepared, voxel_maps, mask, recipe, map_names)
    return Segmentation(
        affine=prepared.scan.affine,
        space=prepared.scan.space,
        mask=scan_mask,
        maps=volumes,
        lesions=table.table,
        burden=burden,
        means=means,
        structural=table.structural,
        look_at_voxels=look_at_voxels,
        brain_ml=prepared.brain_ml,
        resampled=prepared.resampled,
        appearance=look,
        remarks=remarks(look, recipe.typical),
    )


def memory(grid: Grid, members: int) -> int:
    """Return the peak memory of ``work``, bytes, besides the prepared scan and the memory of the networks."""
    ours, scans = math.prod(grid.shape), math.prod(grid.scan_shape)
    back = 6 * scans if grid.step is not None else 0
    return 4 * (max((members + 3) * ours, 5 * ours + back) + (members + 12) * PIECE)


def _blank(image: Float32, windows: Windows) -> tuple[bool, ...]:
    """Return which windows are 0 throughout: a member has the same output for all of them."""
    marked = image != 0  # searching booleans is much faster
    return tuple(not windows.cut(marked, number).any() for number in range(len(windows)))


def _differences(
    prepared: Prepared,
    members: Members,
    windows: Windows,
    stitch: Stitch,
    blank: Sequence[bool],
    lanes: int,
    seconds: float,
) -> Generator[Batch, list[Any], None]:
    """Run each member on each window, and only once on a blank one."""
    empty: list[Float32] = []
    if any(blank):
        zeros = np.zeros((len(prepared.image), *windows.window), np.float32)
        each = [(seconds, partial(members.difference, member, zeros)) for member in range(len(members))]
        empty = yield batch_of("segmenting", 0.01, *each)

    def run(number: int, member: int, window: Callable[[], Float32]) -> None:
        output = empty[member] if blank[number] else members.difference(member, window())
        stitch.add(member, number, output)

    at_once = max(math.ceil(_BATCH * lanes / len(members)), 1)
    for first in range(0, len(windows), at_once):
        calls = []
        for number in range(first, min(first + at_once, len(windows))):
            window = cache(partial(windows.cut, prepared.image, number))  # cut once for all members
            share = 0.005 if blank[number] else seconds
            calls += [(share, partial(run, number, member, window)) for member in range(len(members))]
        yield batch_of("segmenting", 0.01 + (_WINDOWS_END - 0.01) * first / len(windows), *calls)


@dataclass(frozen=True)
class _VoxelMaps:
    """Results on the voxels of the networks' grid."""

    probability: Float32
    candidates: Mask
    """Voxels where any member reaches the threshold."""
    brain: BrainMaps

    def means(self) -> Means:
        def mean(values: Float32 | None) -> float | None:
            return None if values is None else float(values.mean(dtype=np.float64))

        brain = self.brain
        total = float(brain.total.mean(dtype=np.float64))
        return Means(total, mean(brain.data), mean(brain.knowledge), mean(brain.rmi))

    def doubtful(self, trust: float) -> NDArray[np.uint8]:
        """Return 1 for voxels of the brain whose uncertainty exceeds ``trust``, else 0."""
        values = self.brain.total if self.brain.rmi is None else self.brain.rmi
        return (values > np.float32(trust)).view(np.uint8)

    def share_above(self, trust: float | None) -> float | None:
        return None if trust is None else float(self.doubtful(trust).mean())


def _maps(prepared: Prepared, differences: Float32, recipe: Recipe) -> Generator[Batch, list[Any], _VoxelMaps]:
    """Compute the probability of all voxels and the uncertainties of the brain's, in pieces."""
    shape = prepared.grid.shape
    inside = prepared.brain.reshape(-1)
    pieces = [slice(first, min(first + PIECE, inside.size)) for first in range(0, inside.size, PIECE)]
    offsets = np.cumsum([0, *(int(np.count_nonzero(inside[piece])) for piece in pieces)]).tolist()
    brain = maps.empty_maps(offsets[-1], len(differences))
    voxel_maps = _VoxelMaps(np.empty(shape, np.float32), np.empty(shape, bool), brain)
    flat = differences.reshape(len(differences), -1)
    threshold = np.float32(_logit(recipe.threshold))

    def fill(piece: slice, first: int, last: int) -> None:
        candidates = maps.fill_probability(flat[:, piece], voxel_maps.probability.reshape(-1)[piece], threshold)
        voxel_maps.candidates.reshape(-1)[piece] = candidates
        of_brain = np.empty((len(flat), last - first), np.float32)
        places = np.flatnonzero(inside[piece])
        for own, difference in zip(of_brain, flat, strict=True):
            np.take(difference[piece], places, out=own, mode="clip")  # the fastest way in NumPy
        maps.fill_uncertainty(of_brain, brain.part(first, last))

    fills = [partial(fill, *bounds) for bounds in zip(pieces, offsets[:-1], offsets[1:], strict=True)]
    yield batch_of("measuring uncertainty", 0.92, *((0.02, call) for call in fills))
    return voxel_maps


def _lesions(
    prepared: Prepared, differences: Float32, voxel_maps: _VoxelMaps, recipe: Recipe
) -> Generator[Batch, list[Any], tuple[Mask, Lesions, Burden]]:
    """Compare the masks of the ensemble and of each member, inside the box of all marked voxels."""
    (box,) = yield batch_of("finding lesions", 0.95, (0.03, partial(box_of, voxel_maps.candidates)))
    grid, small = prepared.grid, recipe.small_voxels
    mark = partial(lesions.marked, voxel_maps.probability[box], recipe.threshold, small)
    (ensemble,) = yield batch_of("finding lesions", 0.95, (0.02, mark))
    threshold = _logit(recipe.threshold)

    def compare(difference: Float32) -> Agreement:
        return lesions.agreement(ensemble, lesions.marked(difference[box], threshold, small))

    compares = [partial(compare, difference) for difference in differences]
    members: list[Agreement] = yield batch_of("finding lesions", 0.95, *((0.02, call) for call in compares))
    describe = partial(
        lesions.describe,
        ensemble,
        voxel_maps.probability[box],
        members,
        affine=grid.affine,
        corner=[part.start for part in box],
        trust=recipe.lesion_trust,
    )
    (table,) = yield batch_of("finding lesions", 0.96, (0.02, describe))
    mask = np.zeros(grid.shape, bool)
    mask[box] = ensemble.mask()
    ml = grid.voxel_mm3 / 1000
    count = quantity(len(table.table), [member.count for member in members])
    volume = quantity(table.voxels * ml, [member.voxels * ml for member in members])
    return mask, table, Burden(count, volume, count.interval(recipe.count), volume.interval(recipe.volume))


def _back(
    prepared: Prepared, voxel_maps: _VoxelMaps, mask: Mask, recipe: Recipe, requested: Collection[str] | None
) -> Generator[Batch, list[Any], tuple[Mask, dict[str, NDArray[Any]]]]:
    """Resample the mask and maps to the scan's grid."""
    grid = prepared.grid
    of_brain: dict[str, NDArray[Any]] = {
        name: values for name, values in vars(voxel_maps.brain).items() if values is not None
    }
    if recipe.voxel_trust is not None:
        of_brain["advice"] = voxel_maps.doubtful(recipe.voxel_trust)
    names = [name for name in of_brain if requested is None or name in requested]

    def whole(name: str) -> NDArray[Any]:
        volume = np.zeros(grid.shape, of_brain[name].dtype)
        volume[prepared.brain] = of_brain[name]
        return grid.near_back(volume) if name == "advice" else volume

    makes = [partial(whole, name) for name in names]
    marked, *wholes = yield batch_of(
        "writing on the scan's grid", 0.97, (0.1, partial(grid.mask_back, mask)), *((0.02, make) for make in makes)
    )
    volumes = dict(zip(("probability", *names), (voxel_maps.probability, *wholes), strict=True))
    smooth = [name for name in volumes if name != "advice"]
    if grid.step is None:
        return marked, volumes | {name: grid.back(volumes[name]) for name in smooth}
    outs = {name: np.empty(grid.turned_scan_shape, np.float32) for name in smooth}
    planes = max(PIECE // math.prod(grid.turned_scan_shape[1:]), 1)

    def fill(name: str, first: int) -> None:
        part = outs[name][first : first + planes]
        part[...] = grid.planes_back(volumes[name], first, first + len(part))

    fills = [partial(fill, name, first) for name in smooth for first in range(0, grid.turned_scan_shape[0], planes)]
    yield batch_of("writing on the scan's grid", 0.98, *((0.05, call) for call in fills))
    return marked, volumes | {name: grid.turned_back(out) for name, out in outs.items()}


def _logit(probability: float) -> float:
    return math.log(probability) - math.log1p(-probability)
