"""Golden inputs: recorded outputs that are compared again at startup, so that a wrong runtime never serves."""

import math
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.artefact import ArtefactError
from models.executors.failures import DeviceFailed


class Replayed(Protocol):
    """Graph or wrapper with named inputs and outputs."""

    outputs: tuple[str, ...]

    def run(self, inputs: dict[str, NDArray[Any]], outputs: tuple[str, ...]) -> list[NDArray[np.float32]]: ...


class Probe:
    """Golden inputs that are replayed at startup, and after a failure until the device computes as before.

    Under a calibrated numeric profile, outputs are compared with the recorded ones. Under another one the allowed
    difference is unknown: the first replay sets it, and later ones may differ by twice as much.
    """

    def __init__(self, graph: Replayed, path: Path, tolerance: float, least: float) -> None:
        """Create the probe.

        Args:
            tolerance: see ``replay``; infinite if it is not known.
            least: smallest tolerance of later replays.
        """
        self._graph, self._path, self._tolerance, self._least = graph, path, tolerance, least

    def __call__(self) -> None:
        """Replay once.

        Raises:
            ArtefactError: see ``replay``.
        """
        worst = replay(self._graph, self._path, self._tolerance)
        if math.isinf(self._tolerance):
            self._tolerance = max(2 * worst, self._least)


def replay(graph: Replayed, path: Path, tolerance: float) -> float:
    """Run the recorded inputs and compare every recorded output.

    The .npz holds arrays named like the graph's inputs and outputs.

    Returns:
        The largest difference, relative to the recorded value plus the median magnitude of its output: so
        neither extreme inputs nor values near zero hide a difference elsewhere.

    Raises:
        DeviceFailed: the device failed.
        ArtefactError: an output differs by more than ``tolerance``, or nothing was recorded.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as recorded:
            arrays = {name: recorded[name] for name in recorded.files}
    except Exception as error:  # garbled archives and headers fail in a dozen ways
        raise ArtefactError(f"{path}: no readable arrays: {error}") from error
    outputs = tuple(name for name in arrays if name in graph.outputs)
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):  # numpy returns members that are not arrays as bytes
            raise ArtefactError(f"{path}: {name!r} is no array")
        if not array.size or array.dtype.kind not in "fiub":
            raise ArtefactError(f"{path}: {name!r} holds no numbers, but {array.dtype} {list(array.shape)}")
    if not outputs:
        raise ArtefactError(f"{path}: holds no outputs of the graph ({', '.join(graph.outputs)})")
    inputs = {name: array for name, array in arrays.items() if name not in outputs}
    worst = 0.0
    try:
        answers = graph.run(inputs, outputs)
    except DeviceFailed:
        raise
    except Exception as error:
        raise ArtefactError(f"{path}: the graph does not take the recorded inputs: {error}") from error
    for name, value in zip(outputs, answers, strict=True):
        if value.shape != arrays[name].shape:
            raise ArtefactError(f"{path}: output {name!r} is {value.shape}, {arrays[name].shape} was recorded")
        size = np.abs(arrays[name]).astype(np.float64)
        scale = size + (np.median(size) or 1.0)
        difference = float((np.abs(value.astype(np.float64) - arrays[name]) / scale).max())
        if not difference <= tolerance:
            raise ArtefactError(
                f"{path}: output {name!r} differs by {difference:.2e} of its scale from what was recorded, "
                f"{tolerance:.0e} is allowed: this runtime does not compute what was calibrated"
            )
        worst = max(worst, difference)
    return worst
