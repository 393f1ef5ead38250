"""A device that is not there: ONNX Runtime's own session class over a CPU session that fails on command.

The double is the innermost object, which ONNX Runtime's Python class runs graphs with, so that its rules of fallback
are the real ones. What runs on another provider than CUDA says numbers that cannot be mistaken.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import onnxruntime as ort
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as errors

from models.executors import cuda_libraries

ELSEWHERE = 1e6
"""Added to all that another provider than CUDA computes."""
MEMORY = "Failed to allocate memory for requested buffer of size 8589934592"
FAULTS: tuple[Callable[[], Exception], ...] = (
    lambda: errors.EPFail("[ONNXRuntimeError] : 11 : EP_FAIL : CUDA failure 700: an illegal memory access"),
    lambda: errors.Fail("[ONNXRuntimeError] : 1 : FAIL : CUDNN failure 4000"),
    lambda: errors.RuntimeException(f"[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : {MEMORY}"),
)
KINDS = ("EPFail", "Fail", "OutOfMemory")


class Machine:
    """Sessions that were opened, and what the next passes fail with."""

    def __init__(self) -> None:
        self.fault: Callable[[], Exception | None] = lambda: None
        """Asked before each pass on CUDA."""
        self.refuses: Callable[[], Exception | None] = lambda: None
        """Asked before each session on CUDA."""
        self.factor = 1.0
        """Of what is computed on CUDA; other than 1, the device computes wrongly."""
        self.opened: list[tuple[list[Any], dict[str, str]]] = []
        """Providers as they were asked for, and entries of the session's options."""
        self.passes = {"cuda": 0, "elsewhere": 0}
        self.bound = 0
        """Passes on CUDA whose inputs were bound."""


def install(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Puts the machine in place of the real one for a test."""
    machine = Machine()

    class Session(ort.InferenceSession):
        def _create_inference_session(self, providers: Any, options: Any, disabled_optimizers: Any = None) -> None:
            names = [provider[0] if isinstance(provider, tuple) else provider for provider in providers]
            entries = _entries(self._sess_options)
            machine.opened.append((list(providers), entries))
            on_cuda = names[0] == "CUDAExecutionProvider"
            if on_cuda and (error := machine.refuses()) is not None:
                raise error
            self._sess_options = None  # of those that were given one refuses the CPU
            super()._create_inference_session(["CPUExecutionProvider"], None, disabled_optimizers)
            self._sess = Inner(self._sess, on_cuda)
            self._providers = names

        def io_binding(self) -> ort.IOBinding:  # ONNX Runtime's takes its own innermost object only
            return ort.IOBinding(SimpleNamespace(_sess=self._sess.inner, get_providers=self.get_providers))

        def run_with_iobinding(self, binding: ort.IOBinding, options: Any = None) -> None:
            self._sess.run_with_iobinding(binding._iobinding, options)

    class Inner:
        def __init__(self, inner: Any, on_cuda: bool) -> None:
            self.inner, self._on_cuda = inner, on_cuda

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

        def run(self, outputs: Any, inputs: Any, options: Any) -> Any:
            if not self._on_cuda:
                machine.passes["elsewhere"] += 1
                return [array + ELSEWHERE for array in self.inner.run(outputs, inputs, options)]
            machine.passes["cuda"] += 1
            if (error := machine.fault()) is not None:
                raise error
            arrays = self.inner.run(outputs, inputs, options)
            return arrays if machine.factor == 1 else [array * machine.factor for array in arrays]

        def run_with_iobinding(self, binding: Any, options: Any) -> None:
            assert self._on_cuda, "only passes on CUDA are bound"
            assert machine.factor == 1, "outputs of bound passes are not changed"
            machine.passes["cuda"] += 1
            machine.bound += 1
            if (error := machine.fault()) is not None:
                text = str(error)
                raise RuntimeError(f"Error in execution: {text.rpartition(' : ')[2]}")  # the binding drops the class
            self.inner.run_with_iobinding(binding, options)

    monkeypatch.setattr(ort, "InferenceSession", Session)
    monkeypatch.setattr(cuda_libraries, "load", lambda: None)
    monkeypatch.setattr(cuda_libraries, "runtime", _runtime)
    return machine


def _runtime() -> Any:
    """CUDA's runtime library, which locks no memory."""
    return SimpleNamespace(cudaHostRegister=Refusing(), cudaHostUnregister=Refusing())


class Refusing:
    """A function of a library that fails."""

    argtypes: Any = None
    restype: Any = None

    def __call__(self, *given: Any) -> int:
        return 1


def _entries(options: ort.SessionOptions | None) -> dict[str, str]:
    entries = {}
    for name in ("session.disable_cpu_ep_fallback", "session.record_ep_graph_assignment_info"):
        try:
            entries[name] = "" if options is None else options.get_session_config_entry(name)
        except RuntimeError:
            continue
    return entries
