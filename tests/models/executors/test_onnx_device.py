"""Graphs on CUDA: what a session is asked for, what is refused, and that nothing is computed elsewhere."""

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as errors

from models import artefact, replay
from models.artefact import ArtefactError
from models.executors import cuda_libraries, sessions
from models.executors.device import CPU, Device
from models.executors.failures import DeviceFailed, ProviderUnavailable, kind_of
from models.executors.onnx import OnnxGraph
from models.executors.sessions import Node, cuda_options, refuse_strays
from models.executors.transfers import LEAST_BYTES
from services.app.reference import folder
from services.tasks import DEFAULT_MODELS
from tests.models.executors.device_sessions import ELSEWHERE, FAULTS, KINDS, Machine, install
from tests.services.app.test_assembly import MODEL

GRAPH = folder(MODEL) / "ensemble.onnx"
CUDA = Device(provider="cuda")
ROWS = np.random.default_rng(3).random((5, 10), np.float32)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return install(monkeypatch)


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    (mean,) = OnnxGraph(GRAPH).run({"rows": ROWS}, ("mean",))
    return mean


def test_the_cpu_is_left_out_and_its_place_as_fallback_is_refused(machine: Machine) -> None:
    graph = OnnxGraph(GRAPH, Device(provider="cuda", index=2, memory_bytes=1 << 30))
    ((providers, entries),) = machine.opened
    assert [name for name, _ in providers] == ["CUDAExecutionProvider"]
    assert providers[0][1] == {
        "device_id": "2",
        "use_tf32": "0",
        "cudnn_conv_algo_search": "HEURISTIC",
        "arena_extend_strategy": "kSameAsRequested",
        "gpu_mem_limit": str(1 << 30),
    }
    assert entries["session.disable_cpu_ep_fallback"] == "1"
    assert graph._session is not None
    assert graph._session._enable_fallback is False


def test_options_are_those_of_the_device() -> None:
    device = Device(provider="cuda", tf32=True, convolution_search="exhaustive", growth="double")
    options = cuda_options(device)
    assert (options["use_tf32"], options["cudnn_conv_algo_search"]) == ("1", "EXHAUSTIVE")
    assert options["arena_extend_strategy"] == "kNextPowerOfTwo"
    assert "gpu_mem_limit" not in options


def test_fallback_is_off_on_the_cpu_too() -> None:
    graph = OnnxGraph(GRAPH)
    assert graph._session is not None
    assert graph._session._enable_fallback is False


@pytest.mark.parametrize(("fault", "kind"), list(zip(FAULTS, KINDS, strict=True)))
def test_a_failed_pass_is_a_failure_of_the_device(
    machine: Machine, expected: np.ndarray, fault: object, kind: str
) -> None:
    graph = OnnxGraph(GRAPH, CUDA)
    machine.fault = fault  # type: ignore[assignment]
    with pytest.raises(DeviceFailed, match=f"the device failed: {kind}") as caught:
        graph.run({"rows": ROWS}, ("mean",))
    assert caught.value.kind == kind
    assert "illegal" not in str(caught.value), "no text of the runtime's, which may tell of inputs"
    machine.fault = lambda: None
    (mean,) = graph.run({"rows": ROWS}, ("mean",))
    np.testing.assert_array_equal(mean, expected)
    assert len(machine.opened) == 2, "the session that failed was given up"
    assert machine.passes["elsewhere"] == 0


@pytest.mark.parametrize(
    ("fault", "kind"), list(zip(FAULTS, ("RuntimeError", "RuntimeError", "OutOfMemory"), strict=True))
)
def test_a_failed_pass_with_bound_inputs_is_a_failure_of_the_device(
    machine: Machine, expected: np.ndarray, fault: object, kind: str
) -> None:
    """ONNX Runtime's binding tells of no class of the error."""
    graph = OnnxGraph(GRAPH, CUDA)
    rows = np.resize(ROWS, (LEAST_BYTES // 40 + 1, 10))
    machine.fault = fault  # type: ignore[assignment]
    with pytest.raises(DeviceFailed, match=f"the device failed: {kind}$"):
        graph.run({"rows": rows}, ("mean",))
    machine.fault = lambda: None
    for _ in range(2):  # with outputs of unknown shape, then of known
        (mean,) = graph.run({"rows": rows}, ("mean",))
        np.testing.assert_allclose(mean, np.resize(expected, len(rows)), rtol=1e-5)  # products of other sizes
    assert (machine.bound, machine.passes["elsewhere"]) == (3, 0)
    assert len(machine.opened) == 2, "the session that failed was given up"


def test_bound_inputs_that_do_not_fit_are_not_the_devices_failure(machine: Machine) -> None:
    graph = OnnxGraph(GRAPH, CUDA)
    rows = np.resize(ROWS, (LEAST_BYTES, 10))
    for wrong in (rows[:, :3], rows[0], rows.astype(np.float64)):
        with pytest.raises(errors.InvalidArgument, match="input 'rows' is"):
            graph.run({"rows": np.resize(wrong, (LEAST_BYTES, *wrong.shape[1:]))}, ("mean",))
    with pytest.raises(errors.InvalidArgument, match="input 'rows' is missing"):
        graph.run({"other": rows}, ("mean",))
    assert (machine.bound, len(machine.opened)) == (0, 1)


def test_without_these_switches_onnx_runtime_would_answer_from_the_cpu(machine: Machine, expected: np.ndarray) -> None:
    """What is guarded against: the same double under ONNX Runtime's defaults gives another provider's numbers."""
    session = ort.InferenceSession(GRAPH.read_bytes(), providers=["CUDAExecutionProvider"])
    machine.fault = FAULTS[0]
    (mean,) = session.run(("mean",), {"rows": ROWS})
    np.testing.assert_allclose(mean, expected + ELSEWHERE, rtol=1e-6)
    assert machine.passes["elsewhere"] == 1


def test_a_session_that_cannot_be_opened_again_is_a_failure_of_the_device(machine: Machine) -> None:
    graph = OnnxGraph(GRAPH, CUDA)
    machine.fault = FAULTS[1]
    with pytest.raises(DeviceFailed):
        graph.run({"rows": ROWS}, ("mean",))
    machine.fault, machine.refuses = (lambda: None), FAULTS[2]
    for _ in range(2):
        with pytest.raises(DeviceFailed):
            graph.run({"rows": ROWS}, ("mean",))
    machine.refuses = lambda: None
    assert graph.run({"rows": ROWS}, ("mean",))[0].shape == (5,)


def test_a_device_without_memory_for_a_graph_failed_and_the_artefact_is_not_at_fault(machine: Machine) -> None:
    machine.refuses = FAULTS[2]
    with pytest.raises(DeviceFailed) as caught:
        OnnxGraph(GRAPH, CUDA)
    assert caught.value.kind == "OutOfMemory"
    machine.refuses = FAULTS[1]
    with pytest.raises(ArtefactError, match="ONNX Runtime cannot load the graph"):
        OnnxGraph(GRAPH, CUDA)


@pytest.mark.parametrize("task", ["vessel", "motion", "lesion", "translation"])
def test_a_device_that_fails_in_the_first_pass_of_an_artefact_is_not_the_artefacts_fault(
    machine: Machine, task: str
) -> None:
    """So that a replay is tried again later, and nobody builds an artefact anew."""
    shipped = artefact.read(folder(DEFAULT_MODELS[task]), task)
    machine.fault = FAULTS[2]
    with pytest.raises(DeviceFailed) as caught:
        replay.replayer(shipped, CUDA)(0, 1, 1)
    assert caught.value.kind == "OutOfMemory"


def test_what_an_input_did_is_not_the_devices_failure(machine: Machine) -> None:
    graph = OnnxGraph(GRAPH, CUDA)
    with pytest.raises(errors.InvalidArgument):
        graph.run({"rows": ROWS[:, :3]}, ("mean",))
    assert len(machine.opened) == 1


def test_a_machine_without_cuda_says_what_is_missing_and_what_brings_it() -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has an NVIDIA device")
    with pytest.raises(ProviderUnavailable, match=r"libcuda\.so\.1 cannot be loaded.*demur\[cuda\].*driver"):
        OnnxGraph(GRAPH, CUDA)


def test_cuda_that_takes_no_session_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX Runtime's own: its CUDA provider cannot be made here, and it says so only on standard error."""
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has an NVIDIA device")
    monkeypatch.setattr(cuda_libraries, "load", lambda: None)
    with pytest.raises(ProviderUnavailable, match=r"CUDAExecutionProvider was asked for, the session has CPU"):
        OnnxGraph(GRAPH, CUDA)


def test_a_graph_that_is_none_is_the_artefacts_fault_on_cuda_too(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "graph.onnx").write_bytes(b"not a graph")
    with pytest.raises(ArtefactError, match="ONNX Runtime cannot load the graph"):
        OnnxGraph(tmp_path / "graph.onnx", CUDA)


def test_where_nodes_were_placed_can_be_read() -> None:
    """By the real runtime, of a session on the CPU."""
    recording = {"session.record_ep_graph_assignment_info": "1"}
    options = sessions._options(CPU, recording)
    session = sessions._created(GRAPH.read_bytes(), "graph", options, CPU)
    nodes = sessions.placement(session)
    assert len(nodes) > 5
    assert {node.provider for node in nodes} == {"CPUExecutionProvider"}
    with pytest.raises(ProviderUnavailable, match=r"graph: CUDAExecutionProvider does not take \d+ nodes.*MatMul"):
        refuse_strays(nodes, "CUDAExecutionProvider", "graph")


def test_nodes_that_compute_sizes_may_stay_on_the_cpu() -> None:
    cuda, cpu = "CUDAExecutionProvider", "CPUExecutionProvider"
    allowed = [Node(cuda, "Conv", "c"), Node(cpu, "Shape", "s"), Node(cpu, "Gather", "g"), Node(cpu, "Mul", "m")]
    refuse_strays(allowed, cuda, "graph")
    with pytest.raises(ProviderUnavailable, match=r"does not take 7 nodes.*Exp 'e0', .* and 2 more; use a version"):
        refuse_strays([*allowed, *(Node(cpu, "Exp", f"e{n}") for n in range(7))], cuda, "graph")


def test_a_refusal_of_nodes_on_the_cpu_leads_to_reading_where_they_are(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals = iter([errors.Fail(f"graph nodes, but {sessions._FALLBACK_REFUSED} by the user."), None])
    machine.refuses = lambda: next(refusals)
    monkeypatch.setattr(sessions, "placement", lambda session: [Node("CPUExecutionProvider", "MatMul", "layer1")])
    with pytest.raises(ProviderUnavailable, match="MatMul 'layer1'"):
        OnnxGraph(GRAPH, CUDA)
    assert [list(entries) for _, entries in machine.opened] == [
        ["session.disable_cpu_ep_fallback"],
        ["session.record_ep_graph_assignment_info"],
    ]


def test_kinds_of_failures() -> None:
    assert [kind_of(fault()) for fault in FAULTS] == list(KINDS)
    assert kind_of(MemoryError()) == "OutOfMemory"
