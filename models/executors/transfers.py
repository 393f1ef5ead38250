"""Passes whose inputs and outputs go through page-locked host memory, which CUDA copies without staging."""

import ctypes
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

Buffer = NDArray[np.uint8]
LEAST_BYTES = 1 << 18
"""Least size of a pass's inputs for page-locked memory: for streams, maps and volumes, not a few rows."""
_SMALLEST = 1 << 16
_KEPT = 4
"""Number of free buffers of a size that are kept."""
_SHAPES = 256
"""Number of input shapes whose outputs' shapes are kept."""


class PageLocked:
    """Buffers of page-locked memory by size, a power of two; several threads may use it at once."""

    def __init__(self, lock: Callable[[int, int], bool], unlock: Callable[[int], None]) -> None:
        """
        Args:
            lock: function that locks memory at an address, with a number of bytes; False if it cannot, then the memory
                is used unlocked.
            unlock: function that unlocks it.
        """
        self._lock, self._unlock = lock, unlock
        self._free: defaultdict[int, list[Buffer]] = defaultdict(list)
        self._locked: set[int] = set()
        self._guard = threading.Lock()

    def take(self, nbytes: int) -> Buffer:
        """Return a buffer of at least ``nbytes`` bytes, to be given back after use."""
        size = max(_SMALLEST, 1 << (nbytes - 1).bit_length())
        with self._guard:
            if free := self._free[size]:
                return free.pop()
        buffer: Buffer = np.empty(size, np.uint8)
        if self._lock(buffer.ctypes.data, size):
            with self._guard:
                self._locked.add(buffer.ctypes.data)
        return buffer

    def give_back(self, buffer: Buffer) -> None:
        """Keep a buffer for the next pass, or unlock it if enough buffers of its size are free."""
        address = buffer.ctypes.data
        with self._guard:
            if len(self._free[buffer.nbytes]) < _KEPT:
                self._free[buffer.nbytes].append(buffer)
                return
            locked = address in self._locked
            self._locked.discard(address)
        if locked:
            self._unlock(address)


class Transfers:
    """Runner of session passes with inputs and outputs bound to page-locked memory."""

    def __init__(self, memory: PageLocked) -> None:
        self._memory = memory
        self._shapes: dict[Any, list[tuple[tuple[int, ...], np.dtype[Any]]]] = {}

    def run(
        self, session: ort.InferenceSession, inputs: Mapping[str, NDArray[Any]], outputs: tuple[str, ...]
    ) -> list[NDArray[Any]]:
        """Return the named outputs of one pass, as ``session.run`` returns them."""
        key = (outputs, *((name, array.shape, array.dtype.str) for name, array in inputs.items()))
        known = self._shapes.get(key)
        taken: list[Buffer] = []
        binding = session.io_binding()
        try:
            for name, array in inputs.items():
                view = self._view(taken, array.shape, array.dtype)
                np.copyto(view, array)
                binding.bind_cpu_input(name, view)
            if known is None:
                for name in outputs:
                    binding.bind_output(name)
                session.run_with_iobinding(binding)
                arrays = binding.copy_outputs_to_cpu()
                if len(self._shapes) >= _SHAPES:
                    self._shapes.clear()
                self._shapes[key] = [(array.shape, array.dtype) for array in arrays]
                return arrays  # type: ignore[no-any-return]
            views = [self._view(taken, shape, dtype) for shape, dtype in known]
            for name, view in zip(outputs, views, strict=True):
                binding.bind_output(name, "cpu", 0, view.dtype.type, view.shape, view.ctypes.data)
            session.run_with_iobinding(binding)
            binding.synchronize_outputs()
            return [view.copy() for view in views]
        finally:
            del binding
            for buffer in taken:
                self._memory.give_back(buffer)

    def _view(self, taken: list[Buffer], shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array of this shape in a buffer, which is noted as taken."""
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        taken.append(self._memory.take(max(nbytes, 1)))
        return taken[-1][:nbytes].view(dtype).reshape(shape)


def of_cuda(runtime: ctypes.CDLL) -> Transfers:
    """Return transfers with memory that CUDA's runtime library locks."""
    register, unregister = runtime.cudaHostRegister, runtime.cudaHostUnregister
    register.argtypes, register.restype = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint), ctypes.c_int
    unregister.argtypes, unregister.restype = (ctypes.c_void_p,), ctypes.c_int
    return Transfers(PageLocked(lambda address, size: register(address, size, 0) == 0, unregister))
