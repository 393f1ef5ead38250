"""Sessions of ONNX Runtime that compute on one provider only."""

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import onnxruntime as ort

from models.artefact import ArtefactError
from models.executors import cuda_libraries
from models.executors.device import Device
from models.executors.failures import OUT_OF_MEMORY_KIND, DeviceFailed, NodesRefused, ProviderUnavailable, kind_of
from models.profile import Provider

PROVIDERS: dict[Provider, str] = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
_FALLBACK_REFUSED = "fallback to CPU EP has been explicitly disabled"
"""Part of ONNX Runtime's message if nodes would fall back to the CPU although that is disabled."""
_NAMED_NODES = 5
EXACT_OPERATORS = frozenset(
    (
        *("Shape", "Size", "Constant", "ConstantOfShape", "Range", "Identity"),
        *("Gather", "GatherElements", "GatherND", "Slice", "Split", "Concat", "Tile", "Expand"),
        *("Reshape", "Squeeze", "Unsqueeze", "Transpose", "Flatten", "Cast"),
        *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Not", "Where"),
        *("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Neg", "Abs"),
    )
)
"""Operators that ONNX Runtime deliberately keeps on the CPU, for sizes of tensors: moving, comparing, and single
operations that IEEE 754 rounds alike everywhere. They change no score."""


class Node(NamedTuple):
    """Node of a graph with its placement."""

    provider: str
    operator: str
    name: str


def opened(graph: bytes, name: str, device: Device, *, shared_arena: bool = False) -> ort.InferenceSession:
    """Return a session whose scores come from the device's provider alone.

    ONNX Runtime computes nodes on the CPU that a provider does not accept, at creation and, after an ``EPFail``, in
    ``run``. Both are switched off.

    Args:
        name: name of the graph, for messages.

    Raises:
        ArtefactError: the graph cannot be loaded.
        DeviceFailed: the device has no memory left for it.
        ProviderUnavailable: the provider is not available.
        NodesRefused: the provider does not accept all nodes that compute scores.
    """
    if device.provider == "cpu":
        return _created(graph, name, _options(device, shared_arena=shared_arena), device)
    cuda_libraries.load()
    try:
        return _created(graph, name, _options(device, {"session.disable_cpu_ep_fallback": "1"}), device)
    except ArtefactError as error:
        if _FALLBACK_REFUSED not in str(error):
            raise
    session = _created(graph, name, _options(device, {"session.record_ep_graph_assignment_info": "1"}), device)
    refuse_strays(placement(session), PROVIDERS[device.provider], name)
    return session


def placement(session: ort.InferenceSession) -> list[Node]:
    """Return the placement of each node; the session was created with ``session.record_ep_graph_assignment_info``."""
    parts = session.get_provider_graph_assignment_info()
    return [Node(part.ep_name, node.op_type, node.name) for part in parts for node in part.get_nodes()]


def refuse_strays(nodes: Iterable[Node], provider: str, name: str) -> None:
    """Check that all nodes that compute scores are on the provider.

    Raises:
        NodesRefused: a node that computes scores is on another provider.
    """
    strays = [node for node in nodes if node.provider != provider and node.operator not in EXACT_OPERATORS]
    if strays:
        named = ", ".join(f"{node.operator} {node.name!r}" for node in strays[:_NAMED_NODES])
        more = f" and {len(strays) - _NAMED_NODES} more" if len(strays) > _NAMED_NODES else ""
        raise NodesRefused(
            f"{name}: {provider} does not take {len(strays)} nodes, which would be computed on {strays[0].provider}: "
            f"{named}{more}; use a version of ONNX Runtime that has them, another precision, or DEMUR_PROVIDER=cpu"
        )


def cuda_options(device: Device) -> dict[str, str]:
    """Return the options of the CUDA provider, by ONNX Runtime's names."""
    options = {
        "device_id": str(device.index),
        "use_tf32": str(int(device.tf32)),
        "cudnn_conv_algo_search": device.convolution_search.upper(),
        "arena_extend_strategy": {"same": "kSameAsRequested", "double": "kNextPowerOfTwo"}[device.growth],
    }
    if device.memory_bytes:
        options["gpu_mem_limit"] = str(device.memory_bytes)
    return options


def _created(graph: bytes, name: str, options: ort.SessionOptions, device: Device) -> ort.InferenceSession:
    provider = PROVIDERS[device.provider]
    providers: list[Any] = [provider] if device.provider == "cpu" else [(provider, cuda_options(device))]
    try:
        session = ort.InferenceSession(graph, options, providers=providers, enable_fallback=0)
    except Exception as error:
        if device.provider != "cpu" and kind_of(error) == OUT_OF_MEMORY_KIND:  # the graph is not at fault
            raise DeviceFailed(OUT_OF_MEMORY_KIND) from error
        raise ArtefactError(f"{name}: ONNX Runtime cannot load the graph: {error}") from error
    session.disable_fallback()
    session._model_bytes = b""  # a copy of the graph for the fallback, beside the session's own
    if session.get_providers()[0] != provider:
        raise ProviderUnavailable(
            f"{name}: {provider} was asked for, the session has {', '.join(session.get_providers())}; check the driver "
            "and the device with nvidia-smi, or set DEMUR_PROVIDER=cpu"
        )
    return session


def _options(
    device: Device, entries: dict[str, str] | None = None, *, shared_arena: bool = False
) -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads = device.threads
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 4  # failures are raised; the log lines could contain inputs, such as indices
    if shared_arena:
        _make_shared_arena()
        options.add_session_config_entry("session.use_env_allocators", "1")
        options.enable_mem_pattern = False  # would reserve the whole plan of a session as one block
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.load_model_format", "ONNX")  # no other form was tested
    for key, value in (entries or {}).items():
        options.add_session_config_entry(key, value)
    return options


@cache
def _make_shared_arena() -> None:
    """Create the arena; ONNX Runtime keeps one for the whole process."""
    place = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    ort.create_and_register_allocator(place, None)
