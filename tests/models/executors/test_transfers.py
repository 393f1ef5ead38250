"""Passes through page-locked memory: the same numbers, reused buffers, failures that leave nothing behind.

Sessions are the real ones of the CPU, whose bindings are the same; what locks memory is a double.
"""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

from models.executors import transfers
from models.executors.transfers import PageLocked, Transfers
from tests.models.executors.test_onnx_device import GRAPH

OUTPUTS = ("mean", "varm", "member_mean")


class Memory:
    """Locks and unlocks, and remembers what is locked."""

    def __init__(self, works: bool = True) -> None:
        self.works, self.locked, self.locks = works, {}, 0

    def lock(self, address: int, size: int) -> bool:
        self.locks += 1
        if self.works:
            self.locked[address] = size
        return self.works

    def unlock(self, address: int) -> None:
        del self.locked[address]


@pytest.fixture(scope="module")
def session() -> ort.InferenceSession:
    return ort.InferenceSession(GRAPH.read_bytes(), providers=["CPUExecutionProvider"])


def rows(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((count, 10), np.float32)


@pytest.mark.parametrize("works", [True, False])
def test_numbers_are_those_of_a_plain_run(session: ort.InferenceSession, works: bool) -> None:
    """Also where memory cannot be locked; first with outputs of unknown shapes, then into buffers."""
    memory = Memory(works)
    moved = Transfers(PageLocked(memory.lock, memory.unlock))
    kept = []
    for seed, count in enumerate((64, 64, 7, 64, 7, 1)):
        inputs = {"rows": rows(count, seed)}
        actual, expected = moved.run(session, inputs, OUTPUTS), session.run(OUTPUTS, inputs)
        for array, other in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(array, other)
        kept.append((actual, expected))
    for actual, expected in kept:
        np.testing.assert_array_equal(actual[0], expected[0])  # no later pass writes into what was given away
    assert memory.locks == 4, "one input and three outputs, whose buffers later passes reuse"


def test_threads_have_buffers_of_their_own(session: ort.InferenceSession) -> None:
    memory = Memory()
    moved = Transfers(PageLocked(memory.lock, memory.unlock))

    def right(seed: int) -> bool:
        inputs = {"rows": rows(64, seed)}
        return np.array_equal(moved.run(session, inputs, ("mean",))[0], session.run(("mean",), inputs)[0])

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(right, range(200)))
    assert len(memory.locked) <= 12


def test_inputs_that_lie_apart_in_memory_are_taken(session: ort.InferenceSession) -> None:
    values = np.asfortranarray(rows(64))
    (result,) = Transfers(PageLocked(Memory().lock, Memory().unlock)).run(session, {"rows": values}, ("mean",))
    np.testing.assert_array_equal(result, session.run(("mean",), {"rows": np.ascontiguousarray(values)})[0])


def test_a_pass_that_fails_gives_its_buffers_back(session: ort.InferenceSession) -> None:
    memory = Memory()
    moved = Transfers(PageLocked(memory.lock, memory.unlock))
    for _ in range(5):
        with pytest.raises(Exception, match="invalid dimensions"):
            moved.run(session, {"rows": rows(8)[:, :3]}, ("mean",))
    assert memory.locks == 1


def test_surplus_buffers_are_unlocked() -> None:
    memory = Memory()
    pool = PageLocked(memory.lock, memory.unlock)
    taken = [pool.take(100_000) for _ in range(7)]
    assert set(memory.locked.values()) == {1 << 17}
    for buffer in taken:
        pool.give_back(buffer)
    assert len(memory.locked) == 4


def test_cuda_is_asked_by_its_own_names() -> None:
    calls: list[Any] = []
    library = SimpleNamespace(
        cudaHostRegister=Named(calls, "register", 0), cudaHostUnregister=Named(calls, "unregister", 0)
    )
    moved = transfers.of_cuda(library)  # type: ignore[arg-type]
    buffer = moved._memory.take(10)
    assert calls == [("register", buffer.ctypes.data, 1 << 16, 0)]
    assert library.cudaHostRegister.argtypes == (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint)


class Named:
    """A function of a library that remembers its calls."""

    def __init__(self, calls: list[Any], name: str, result: int) -> None:
        self._calls, self._name, self._result = calls, name, result
        self.argtypes: Any = None
        self.restype: Any = None

    def __call__(self, *given: Any) -> int:
        self._calls.append((self._name, *given))
        return self._result
