"""Members of a motion ensemble as one graph: feature maps in, plans and their scores under every member out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.artefact import Artefact, ArtefactError
from models.executors.device import CPU, Device
from models.executors.failures import DeviceFailed
from models.executors.onnx import OnnxGraph
from models.profile import Provider
from models.tasks.motion.artefact import recipe as recipes
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.inference.grid import CHANNELS, Grid

Float32 = NDArray[np.float32]

STEPS = 25
"""Number of positions of a plan, 0.2 s apart (Shifts 1.0, section 5)."""
MAPS, NOISE, PLANS, SCORES = "maps", "noise", "plans", "scores"
"""Inputs and outputs of the graph."""
GOLDEN_BLOCKS = 16
"""Blocks of equal values per side of golden maps."""
GOLDEN_TOLERANCE = 1e-3
"""Relative tolerance of positions and scores: 25 dependent steps amplify the rounding of other processors."""
_GOLDEN_MAPS = 2
_GOLDEN_LARGEST = (1, 10, 3, 2, 1, 3, 1, 1.5, 1.5, 1, 2, 2, 3, 1, 1, 1.5, 1)
"""Largest value of each channel in golden maps, similar to real maps."""
PASS_MAPS: Mapping[Provider, int] = {"cpu": 1, "cuda": 32}
"""Maps of one pass. On a CPU a single map uses the whole machine, and its result does not depend on other requests."""


class Planners(Protocol):
    """Ensemble that samples and scores plans."""

    count: int
    """Number of members, K."""
    samples: int
    """Number of plans per member, Q."""

    def __call__(self, maps: Float32) -> tuple[Float32, Float32]:
        """Return plans [N, K Q, T, 2], m in the agents' frames, and log-likelihoods [N, K, K Q], nats.

        Members are in order.

        Args:
            maps: feature maps in the released layout, [N, 17, y, x].
        """
        ...


class Members:
    """Graph of all members, with the random numbers for drawing plans.

    Calls are independent and thread-safe.

    Raises:
        ArtefactError: inputs or outputs of the graph differ from those of ``export``.
    """

    def __init__(self, graph: OnnxGraph, recipe: Recipe, *, pass_maps: int = 0) -> None:
        """Initialise the members.

        Args:
            graph: graph of all members.
            recipe: recipe with the grid and the noise seed.
            pass_maps: largest number of maps in one pass; 0: the default of the provider.
        """
        self.outputs: tuple[str, ...] = (PLANS, SCORES)
        self.count, self.samples = _counts(graph, recipe.grid)
        self.noise: Float32 = np.random.default_rng(recipe.noise_seed).standard_normal(
            (self.count, self.samples, STEPS, 2), np.float32
        )
        """Standard normal numbers, [K, Q, T, 2]."""
        self._graph, self._grid, self._pass_maps = graph, recipe.grid, pass_maps or PASS_MAPS[graph.device.provider]

    @property
    def pass_maps(self) -> int:
        """Largest number of maps in one pass over the graph."""
        return self._pass_maps

    def __call__(self, maps: Float32) -> tuple[Float32, Float32]:
        """See ``Planners``; N may be zero."""
        maps = np.ascontiguousarray(maps, np.float32)
        passes = [self._pass(maps[start : start + self._pass_maps]) for start in range(0, len(maps), self._pass_maps)]
        if not passes:
            plans = self.count * self.samples
            return np.empty((0, plans, STEPS, 2), np.float32), np.empty((0, self.count, plans), np.float32)
        return np.concatenate([plans for plans, _ in passes]), np.concatenate([scores for _, scores in passes])

    def _pass(self, maps: Float32) -> list[Float32]:
        return self._graph.run({MAPS: maps, NOISE: self.noise}, self.outputs)

    def run(self, inputs: Mapping[str, NDArray[Any]], outputs: tuple[str, ...]) -> list[Float32]:
        """Run golden maps (``models.executors.golden``): one value per block, [N, 17, blocks, blocks]."""
        arrays = dict(zip(self.outputs, self(enlarged(np.asarray(inputs[MAPS], np.float32), self._grid)), strict=True))
        return [arrays[name] for name in outputs]


def enlarged(blocks: Float32, grid: Grid) -> Float32:
    """Return maps [N, 17, y, x] of blocks of equal values, from one value per block."""
    place = np.arange(grid.size) * blocks.shape[-1] // grid.size
    return np.ascontiguousarray(blocks[:, :, place[:, None], place])


def golden(members: Members) -> dict[str, Float32]:
    """Return random blocks as maps, and the members' output for them, small enough to ship with every artefact."""
    draw = np.random.default_rng(0)
    shape = (_GOLDEN_MAPS, CHANNELS, GOLDEN_BLOCKS, GOLDEN_BLOCKS)
    largest = np.array(_GOLDEN_LARGEST)[:, None, None]
    blocks = ((draw.random(shape) < 0.3) * draw.random(shape) * largest).astype(np.float32)
    plans, scores = members.run({MAPS: blocks}, members.outputs)
    return {MAPS: blocks, PLANS: plans, SCORES: scores}


def members(artefact: Artefact, *, device: Device = CPU) -> Members:
    """Return the members of a verified artefact.

    Raises:
        ArtefactError: the graph is damaged or of another task, or the number of members differs from the manifest.
        ProviderUnavailable: CUDA was requested and is not available.
    """
    manifest = artefact.manifest
    executor = manifest.executor
    if manifest.joined or executor.kind != "onnx" or executor.layout == "separate":
        raise ArtefactError(
            f"{artefact.directory}: members of a motion artefact score each other in one onnx graph, the manifest has "
            f"{1 + len(manifest.joined)} executors, the first {executor.kind} {executor.layout}"
        )
    planners = opened(artefact.path(executor.file), recipes.read(artefact), device=device)
    masks = 1 if manifest.sample_seed is None else planners.samples
    if (planners.count, masks) != (manifest.members, manifest.samples):
        raise ArtefactError(
            f"{artefact.directory}: the graph has {planners.count} members of {masks} masks, the manifest says "
            f"{manifest.members} of {manifest.samples}"
        )
    return planners


def opened(path: Path, recipe: Recipe, *, device: Device = CPU) -> Members:
    """Return the members in a graph's file, warmed up.

    Raises:
        ArtefactError, ProviderUnavailable: see ``members``.
        DeviceFailed: the device failed in the first pass, or has no memory for the graph.
    """
    graph = OnnxGraph(path, device=device)
    try:
        planners = Members(graph, recipe)
        arrays = planners(np.zeros((1, *recipe.grid.shape), np.float32))
    except ArtefactError as error:
        raise ArtefactError(f"{path}: {error}") from error
    except DeviceFailed:
        raise
    except Exception as error:
        raise ArtefactError(f"{path}: the graph does not take maps of the recipe: {error}") from error
    plans = planners.count * planners.samples
    shapes = {PLANS: (1, plans, STEPS, 2), SCORES: (1, planners.count, plans)}
    for (name, shape), values in zip(shapes.items(), arrays, strict=True):
        if values.shape != shape or values.dtype != np.float32:
            raise ArtefactError(f"{path}: {name} are {values.dtype} {list(values.shape)}, not float32 {list(shape)}")
    return planners


def _counts(graph: OnnxGraph, grid: Grid) -> tuple[int, int]:
    """Return K and Q of a graph, after checking that its inputs and outputs are those of ``export``."""
    maps, noise = graph.inputs.get(MAPS, ()), graph.inputs.get(NOISE, ())
    if set(graph.inputs) != {MAPS, NOISE} or not {PLANS, SCORES} <= set(graph.outputs):
        raise ArtefactError(
            f"the graph makes {', '.join(graph.outputs)} of {', '.join(graph.inputs)}; {PLANS} and {SCORES} of {MAPS} "
            f"and {NOISE} are needed"
        )
    if maps[1:] != grid.shape:
        raise ArtefactError(f"the graph takes maps {list(maps)}, and the recipe draws {list(grid.shape)}")
    if len(noise) != 4 or noise[2:] != (STEPS, 2) or not all(isinstance(size, int) and size > 0 for size in noise):
        raise ArtefactError(f"the graph takes noise {list(noise)}; [K, Q, {STEPS}, 2] is needed")
    return noise[0], noise[1]
