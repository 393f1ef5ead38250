"""Members of a lesion ensemble, each with its own graph: a window in, logit differences out."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.artefact import Artefact, ArtefactError
from models.executors.device import CPU, Device
from models.executors.failures import DeviceFailed
from models.executors.onnx import OnnxGraph
from models.manifest import Executor
from models.tasks.lesion.artefact import recipe as recipes
from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.spec import LESIONS

Array = NDArray[np.float32]

GOLDEN_STEP = 8
"""Edge of the cubes of equal values in the golden window, voxels, and step between compared voxels."""
_INPUT, _SAMPLE, _OUTPUT = "window", "sample", "difference"


class Members:
    """Trained networks with frozen dropout masks; a member is a pair of network and mask.

    Calls are independent and thread-safe.
    """

    def __init__(self, graphs: Sequence[OnnxGraph], samples: int = 1, sampled: bool = False) -> None:
        """Initialise the members.

        Args:
            graphs: graph of each network.
            samples: masks of each graph; 1 for graphs without masks.
            sampled: True if the graphs take a sample's number.
        """
        self.outputs: tuple[str, ...] = (_OUTPUT,)
        self._graphs, self._samples, self._sampled = tuple(graphs), samples, sampled

    def __len__(self) -> int:
        return len(self._graphs) * self._samples

    def difference(self, member: int, window: Array) -> Array:
        """Return logit 1 - logit 0 of a member, [x, y, z], for a normalised window [C, x, y, z]."""
        logits: Array = self.differences(member, window[None])[0]
        return logits

    def differences(self, member: int, windows: Array) -> Array:
        """Return logit differences for a batch: windows [N, C, x, y, z] to [N, x, y, z]."""
        graph, sample = divmod(member, self._samples)
        inputs: dict[str, NDArray[Any]] = {_INPUT: np.ascontiguousarray(windows, np.float32)}
        if self._sampled:
            inputs[_SAMPLE] = np.asarray(sample, np.int64)
        logits: Array = self._graphs[graph].run(inputs, (_OUTPUT,))[0]
        return np.asarray(logits[:, 0])

    def run(self, inputs: Mapping[str, NDArray[Any]], outputs: tuple[str, ...]) -> list[Array]:
        """Run a golden window (``models.executors.golden``): [C, x, y, z] in cubes to [members, x, y, z] in steps."""
        window = enlarged(np.asarray(inputs[_INPUT], np.float32))
        step = slice(None, None, GOLDEN_STEP)
        differences = [self.difference(member, window)[step, step, step] for member in range(len(self))]
        return [np.stack(differences) for _ in outputs]


def enlarged(cubes: Array) -> Array:
    """Return a window [C, x, y, z] of cubes of equal values, from one value per cube."""
    for axis in (1, 2, 3):
        cubes = np.repeat(cubes, GOLDEN_STEP, axis=axis)
    return cubes


def golden(members: Members, recipe: Recipe) -> dict[str, Array]:
    """Return a window of random cubes and the members' output for it, small enough to ship with every artefact.

    Voxels outside a ball are zero, as outside a brain.
    """
    size = [edge // GOLDEN_STEP for edge in recipe.window]
    cubes = np.random.default_rng(0).standard_normal((len(recipe.channels), *size)).astype(np.float32)
    places = np.indices(size) - (np.array(size)[:, None, None, None] - 1) / 2
    cubes[:, (places**2).sum(axis=0) > (max(size) / 2) ** 2] = 0
    (output,) = members.run({_INPUT: cubes}, members.outputs)
    return {_INPUT: cubes, _OUTPUT: output}


def members(artefact: Artefact, *, device: Device = CPU, shared_arena: bool = True) -> Members:
    """Return the members of a verified artefact.

    Raises:
        ArtefactError: a graph is damaged or of another task, or the number of members differs from the manifest.
        ProviderUnavailable: CUDA was requested and is not available.
    """
    manifest = artefact.manifest
    loaded = opened(
        artefact.path,
        manifest.executors,
        recipes.read(artefact),
        samples=manifest.samples,
        sampled=manifest.sample_seed is not None,
        device=device,
        shared_arena=shared_arena,
    )
    if len(loaded) != manifest.members * manifest.samples:
        graphs = len(loaded) // manifest.samples
        raise ArtefactError(f"{artefact.directory}: {graphs} graphs, the manifest says {manifest.members} members")
    return loaded


def opened(
    path: Callable[[str], Path],
    executors: Sequence[Executor],
    recipe: Recipe,
    *,
    samples: int = 1,
    sampled: bool = False,
    device: Device = CPU,
    shared_arena: bool = True,
) -> Members:
    """Return all members of all executors.

    Args:
        path: returns the path of an executor's file.

    Raises:
        ArtefactError, ProviderUnavailable: see ``members``.
    """
    files = [name for executor in executors for name in executor.models.get(LESIONS.name, ())]
    if not files or any(executor.layout != "separate" for executor in executors):
        raise ArtefactError(f"lesion executors have the layout separate and graphs of the head {LESIONS.name!r}")
    loaded = Members(
        tuple(OnnxGraph(path(name), device=device, shared_arena=shared_arena) for name in files),
        samples,
        sampled,
    )
    nothing = np.zeros((1, len(recipe.channels), *recipe.window), np.float32)
    for member, name in zip(range(0, len(loaded), samples), files, strict=True):
        try:
            answer = loaded.differences(member, nothing)
        except DeviceFailed:
            raise
        except Exception as error:
            raise ArtefactError(f"{path(name)}: the graph does not take windows of the recipe: {error}") from error
        if answer.shape != (1, *recipe.window):
            raise ArtefactError(f"{path(name)}: the graph says {list(answer.shape)}, not [1, {recipe.window}]")
    return loaded
