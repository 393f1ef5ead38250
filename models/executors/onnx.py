"""Executors on ONNX Runtime: one graph that holds all members and reduces them, and its rows in quanta.

A row graph has one input ``rows`` float32 [N, F] and float32 [N] outputs ``mean``, ``mvar`` and, for ensembles,
``varm``; ``member_mean`` and ``member_var`` [M, N] are computed by the same graph and fetched only on request.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as errors

from models.artefact import ArtefactError
from models.executors import cuda_libraries, sessions, transfers
from models.executors.device import CPU, Device
from models.executors.failures import DeviceFailed, ProviderUnavailable, kind_of
from models.executors.pace import Pace

__all__ = ["OnnxGraph", "ProviderUnavailable", "RowGraph", "releasing_memory"]

# The key of a TensorProto's external_data entry, as serialised; parsers take numbers with needless zeros, too.
_EXTERNAL_LOCATION = re.compile(rb"(?:\x0a|\x8a\x80*\x00)(?:\x08|\x88\x80*\x00)location")
_DEVICE_ERRORS: tuple[type[Exception], ...] = (
    errors.EPFail,
    errors.Fail,
    errors.RuntimeException,
    errors.EngineError,
    errors.DeviceReset,
    MemoryError,
)
"""Errors of a pass on a device other than the CPU if the device fails, not the input."""
_BOUND_ERRORS = (*_DEVICE_ERRORS, RuntimeError)
"""Errors of a pass with bound inputs, whose failures have no class of their own."""
_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
}
"""Types of inputs by ONNX Runtime's names."""
QUANTUM_ROWS = 1024
"""Most rows of a quantum on a CPU."""
_RELEASING: ContextVar[bool] = ContextVar("releasing", default=False)


@contextmanager
def releasing_memory() -> Iterator[None]:
    """Return the memory of activations to the system after each pass that this thread begins in the block, on a CPU.

    A session otherwise keeps what its largest pass took, half of the memory of a small service. The next pass takes it
    again, which costs a few milliseconds for each ten megabytes.
    """
    token = _RELEASING.set(True)
    try:
        yield
    finally:
        _RELEASING.reset(token)


class OnnxGraph:
    """Session of one graph; ``run`` is thread-safe, so one session serves all threads.

    Sessions that share an arena on the CPU hold the memory of those that run at one time, not the largest activations
    of each; useful for ensembles of large graphs that run in sequence.

    Raises:
        ArtefactError: the file is not a loadable graph, uses custom operators or weights outside the file.
        ProviderUnavailable: the requested provider did not accept the session, or not all of its nodes.
    """

    def __init__(
        self,
        path: Path,
        device: Device = CPU,
        *,
        shared_arena: bool = False,
    ) -> None:
        content = path.read_bytes()
        if _EXTERNAL_LOCATION.search(content):
            raise ArtefactError(f"{path}: weights outside the graph file are refused")
        self._name = str(path)
        self._shared_arena = shared_arena
        self._opening = Lock()
        self.device = device
        self._content = content if device.provider != "cpu" else b""
        """Graph, for another session after a failure of the device; on the CPU there is none."""
        self._session: ort.InferenceSession | None = self._opened(content)
        self._transfers = transfers.of_cuda(cuda_libraries.runtime()) if device.provider == "cuda" else None
        self.inputs = {node.name: tuple(node.shape) for node in self._session.get_inputs()}
        """Name to shape; free dimensions are names."""
        self.outputs = tuple(node.name for node in self._session.get_outputs())

    def run(self, inputs: dict[str, NDArray[Any]], outputs: tuple[str, ...]) -> list[NDArray[np.float32]]:
        """Return the named outputs of one pass, in the requested order.

        A failed session is closed, and the next pass opens another one on the same provider.

        Raises:
            DeviceFailed: the device failed, not the input; never on the CPU.
        """
        session = self._current()
        moved = self._transfers
        if moved is not None and sum(array.nbytes for array in inputs.values()) < transfers.LEAST_BYTES:
            moved = None
        failures = _DEVICE_ERRORS
        if moved is not None:
            _refuse_misfits(session, inputs)  # failures after this point are failures of the device
            failures = _BOUND_ERRORS
        try:
            if moved is None:
                return session.run(outputs, inputs, _run_options(self.device))  # type: ignore[no-any-return]
            return moved.run(session, inputs, outputs)
        except failures as error:
            if self.device.provider == "cpu":
                raise
            self._give_up(session)
            raise DeviceFailed(kind_of(error)) from error

    def require(self, outputs: tuple[str, ...]) -> None:
        """Check that the graph has outputs of these names.

        Raises:
            ArtefactError: one is missing.
        """
        missing = [name for name in outputs if name not in self.outputs]
        if missing:
            raise ArtefactError(f"the graph has no output {missing[0]!r}, it has {', '.join(self.outputs)}")

    def run_in_passes(
        self, rows: NDArray[np.float32], outputs: tuple[str, ...], most_rows: int, *, axis: int
    ) -> list[NDArray[np.float32]]:
        """Return the named outputs for the input ``rows`` [n, F], in passes of about equal size; n may be zero.

        Args:
            most_rows: most rows of one pass.
            axis: axis of the rows in the outputs.

        Raises:
            DeviceFailed: see ``run``.
        """
        passes = -(-len(rows) // most_rows)
        if passes <= 1:
            return self.run({"rows": rows}, outputs)
        parts = [self.run({"rows": part}, outputs) for part in np.array_split(rows, passes)]
        return [np.concatenate(column, axis=axis) for column in zip(*parts, strict=True)]

    def _current(self) -> ort.InferenceSession:
        session = self._session
        if session is not None:
            return session
        with self._opening:
            if self._session is None:
                try:
                    self._session = self._opened(self._content)
                except DeviceFailed:
                    raise
                except Exception as error:
                    raise DeviceFailed(kind_of(error)) from error
            return self._session

    def _give_up(self, session: ort.InferenceSession) -> None:
        with self._opening:
            if self._session is session:
                self._session = None

    def _opened(self, content: bytes) -> ort.InferenceSession:
        shared = self._shared_arena and self.device.provider == "cpu"
        return sessions.opened(content, self._name, self.device, shared_arena=shared)


def _run_options(device: Device) -> ort.RunOptions | None:
    if device.provider != "cpu" or not _RELEASING.get():
        return None
    options = ort.RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    return options


class RowGraph:
    """Some outputs of a row graph, with a model of a quantum's duration."""

    def __init__(
        self, graph: OnnxGraph, outputs: tuple[str, ...], *, pass_rows: int = 1024, quantum_rows: int = QUANTUM_ROWS
    ) -> None:
        """
        Args:
            pass_rows: most rows of one pass over the graph. Longer passes are slower per row once the members'
                activations exceed the core's cache.
            quantum_rows: most rows of one quantum, which is as many passes as it needs. Interactive work may have to
                wait for its duration.

        Raises:
            ArtefactError: the graph has no output of that name.
        """
        graph.require(outputs)
        self.outputs = outputs
        self.quantum_rows = quantum_rows
        self._pass_rows = pass_rows
        self._graph = graph
        self._pace = Pace()

    def __call__(self, rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
        return tuple(self._graph.run_in_passes(rows, self.outputs, self._pass_rows, axis=-1))

    def seconds(self, rows: int) -> float:
        """Return the expected duration for a number of rows, from ``measure``."""
        return self._pace.seconds(rows)

    def measure(self, rows: NDArray[np.float32], repeats: int = 7) -> None:
        """Warm the graph up with rows [n, F], and fit the model of its duration."""
        self._pace.measure(self, rows, 1024, repeats)


def _refuse_misfits(session: ort.InferenceSession, inputs: dict[str, NDArray[Any]]) -> None:
    """Check types and shapes of inputs.

    Raises:
        InvalidArgument: an input has another type or shape than the graph's, as ``session.run`` reports it.
    """
    for node in session.get_inputs():
        array, dtype = inputs.get(node.name), _TYPES.get(node.type)
        if array is None:
            raise errors.InvalidArgument(f"input {node.name!r} is missing")
        if dtype is not None and array.dtype != dtype:
            raise errors.InvalidArgument(f"input {node.name!r} is {array.dtype}, the graph takes {node.type}")
        fits = array.ndim == len(node.shape) and all(
            not isinstance(size, int) or size == length for size, length in zip(node.shape, array.shape, strict=True)
        )
        if not fits:
            raise errors.InvalidArgument(f"input {node.name!r} is {array.shape}, the graph takes {node.shape}")
