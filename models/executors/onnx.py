"""ONNX Runtime as executor: one graph that holds all members and reduces them.

A row graph has one input ``rows`` float32 [N, F] and float32 [N] outputs ``mean``, ``mvar`` and, for
ensembles, ``varm``; ``member_mean`` and ``member_var`` [M, N] are computed by the same graph and
fetched only on request.
"""

from __future__ import annotations

import re
import sys
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from models.artefact import ArtefactError
from models.executors.device import CPU, Device
from models.profile import Provider

_PROVIDERS: dict[Provider, str] = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}

# The key of a TensorProto's external_data entry, as serialised; parsers take numbers with needless zeros, too.
_EXTERNAL_LOCATION = re.compile(rb"(?:\x0a|\x8a\x80*\x00)(?:\x08|\x88\x80*\x00)location")


@cache
def _make_shared_arena() -> None:
    """ONNX Runtime keeps one for the whole process."""
    place = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    ort.create_and_register_allocator(place, None)


@cache
def _load_cuda() -> None:
    """CUDA and cuDNN as NVIDIA's wheels bring them, if they are installed; else the system's loader has to find them.

    What is not found is said on standard error, and a session then tells what it got instead.
    """
    with redirect_stdout(sys.stderr):  # ONNX Runtime prints
        ort.preload_dlls()


class ProviderUnavailable(RuntimeError):
    """CUDA was asked for and the session runs on something else."""


class OnnxGraph:
    """A session of one graph; ``run`` is thread-safe, so one session serves all threads.

    Sessions that share an arena on the CPU hold what those that run at one time need, and not each its own largest
    activations; for ensembles of large graphs that run one after the other.

    Raises:
        ArtefactError: the file is no loadable graph, uses custom operators or weights outside the file.
        ProviderUnavailable: the provider that was asked for did not take the session.
    """

    def __init__(
        self,
        path: Path,
        device: Device = CPU,
        *,
        shared_arena: bool = False,
    ) -> None:
        provider = device.provider
        options = ort.SessionOptions()
        options.intra_op_num_threads = device.threads
        options.inter_op_num_threads = 1
        options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        options.log_severity_level = 4  # what fails is raised; its lines would tell of inputs, such as indices
        if provider == "cuda":
            _load_cuda()
        if shared_arena and provider == "cpu":
            _make_shared_arena()
            options.add_session_config_entry("session.use_env_allocators", "1")
            options.enable_mem_pattern = False  # would set the whole plan of a session aside as one block
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.load_model_format", "ONNX")  # no other form is looked at below
        wanted = [_PROVIDERS[provider]] if provider == "cpu" else [_PROVIDERS[provider], _PROVIDERS["cpu"]]
        graph = path.read_bytes()
        if _EXTERNAL_LOCATION.search(graph):
            raise ArtefactError(f"{path}: weights outside the graph file are refused")
        try:
            self._session = ort.InferenceSession(graph, options, providers=wanted)
        except Exception as error:
            raise ArtefactError(f"{path}: ONNX Runtime cannot load the graph: {error}") from error
        if self._session.get_providers()[0] != wanted[0]:
            raise ProviderUnavailable(
                f"{path.name}: {wanted[0]} was asked for, the session has {self._session.get_providers()}"
            )
        self.device = device
        self.inputs = {node.name: tuple(node.shape) for node in self._session.get_inputs()}
        """Name to shape; free dimensions are names."""
        self.outputs = tuple(node.name for node in self._session.get_outputs())

    def run(self, inputs: dict[str, NDArray[Any]], outputs: tuple[str, ...]) -> list[NDArray[np.float32]]:
        """The named outputs of one pass, in the order asked for."""
        return self._session.run(outputs, inputs)  # type: ignore[no-any-return]
