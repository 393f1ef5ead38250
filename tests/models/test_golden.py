"""ONNX graphs and their golden inputs: a wrong runtime, weights elsewhere or a broken file never serve."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from models import npz
from models.artefact import ArtefactError
from models.executors.device import Device
from models.executors.golden import Probe, replay
from models.executors.onnx import OnnxGraph, ProviderUnavailable, RowGraph

ROWS = np.array([[1, 2], [3, 4], [5, 6]], np.float32)


def model(weights: TensorProto | None = None, operator: str = "ReduceSum", domain: str = "") -> bytes:
    """mean = sum of a row times 2, mvar = half of it."""
    scale = weights or numpy_helper.from_array(np.array([2.0], np.float32), "scale")
    nodes = [
        helper.make_node(operator, ["rows", "axis"], ["total"], keepdims=0, domain=domain),
        helper.make_node("Mul", ["total", "scale"], ["mean"]),
        helper.make_node("Div", ["total", "scale"], ["mvar"]),
    ]
    graph = helper.make_graph(
        nodes,
        "toy",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", 2])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in ("mean", "mvar")],
        [scale, numpy_helper.from_array(np.array([1]), "axis")],
    )
    opsets = [helper.make_opsetid("", 18)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    made = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return made.SerializeToString()


@pytest.fixture
def graph(tmp_path: Path) -> OnnxGraph:
    (tmp_path / "graph.onnx").write_bytes(model())
    return OnnxGraph(tmp_path / "graph.onnx")


Recorded = Callable[..., Path]


@pytest.fixture
def record(tmp_path: Path) -> Recorded:
    def write(**arrays: np.ndarray) -> Path:
        (tmp_path / "golden.npz").write_bytes(npz.encode(arrays))
        return tmp_path / "golden.npz"

    return write


def test_a_graph_runs_and_names_its_outputs(graph: OnnxGraph) -> None:
    assert graph.outputs == ("mean", "mvar")
    (mean,) = graph.run({"rows": ROWS}, ("mean",))
    assert mean.tolist() == [6, 14, 22]


def test_a_replay_tells_the_largest_difference(graph: OnnxGraph, record: Recorded) -> None:
    assert replay(graph, record(rows=ROWS, mean=np.array([6, 14, 22], np.float32)), 0) == 0
    slightly_off = record(rows=ROWS, mean=np.array([6, 14, 22.022], np.float32))
    assert replay(graph, slightly_off, 1e-2) == pytest.approx(0.022 / (22.022 + 14), rel=1e-3)
    with pytest.raises(ArtefactError, match=r"'mean' differs by 6.11e-04 of its scale.*1e-04 is allowed"):
        replay(graph, slightly_off, 1e-4)


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"rows": ROWS}, "holds no outputs"),
        ({"mean": np.zeros(3, np.float32)}, "does not take the recorded inputs"),
        ({"rows": ROWS.astype(np.float64), "mean": np.zeros(3, np.float32)}, "does not take the recorded inputs"),
        ({"rows": ROWS, "mean": np.zeros(2, np.float32)}, r"is \(3,\), \(2,\) was recorded"),
        ({"rows": ROWS, "mean": np.zeros(1, np.float32)}, r"is \(3,\), \(1,\) was recorded"),
        ({"rows": ROWS, "mean": np.array([6, np.nan, 22], np.float32)}, "differs by nan"),
        ({"rows": ROWS * np.float32(np.nan), "mean": np.array([6, 14, 22], np.float32)}, "differs by nan"),
        ({"rows": ROWS, "mean": np.zeros(3, np.float32)}, "differs by"),
    ],
)
def test_a_replay_that_does_not_fit_is_refused(
    graph: OnnxGraph, record: Recorded, arrays: dict[str, np.ndarray], reason: str
) -> None:
    with pytest.raises(ArtefactError, match=reason):
        replay(graph, record(**arrays), 1e-3)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip", b"garbage"])
def test_golden_inputs_that_are_no_arrays_are_refused(graph: OnnxGraph, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "golden.npz"
    path.write_bytes(content)
    with pytest.raises(ArtefactError, match="no readable arrays"):
        replay(graph, path, 1e-3)
    with pytest.raises(ArtefactError, match="no readable arrays"):
        replay(graph, tmp_path / "missing.npz", 1e-3)


def test_nothing_is_unpickled(graph: OnnxGraph, tmp_path: Path) -> None:
    np.savez(tmp_path / "golden.npz", rows=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ArtefactError, match="no readable arrays"):
        replay(graph, tmp_path / "golden.npz", 1e-3)


@pytest.mark.parametrize("written", [b"\x0a\x08", b"\x0a\x88\x00", b"\x8a\x80\x00\x88\x80\x80\x00"])
def test_weights_outside_the_file_are_refused(tmp_path: Path, written: bytes) -> None:
    """Parsers take numbers with needless zeros."""
    (tmp_path / "weights.bin").write_bytes(np.array([2.0], "<f4").tobytes())
    weights = TensorProto(name="scale", data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    weights.external_data.add(key="location", value="weights.bin")
    (tmp_path / "graph.onnx").write_bytes(model(weights).replace(b"\x0a\x08location", written + b"location"))
    with pytest.raises(ArtefactError, match="weights outside the graph file are refused"):
        OnnxGraph(tmp_path / "graph.onnx")


@pytest.mark.parametrize("content", [b"", b"not a graph", model()[:-40], model(operator="Evil", domain="com.example")])
def test_broken_graphs_and_custom_operators_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "graph.onnx").write_bytes(content)
    with pytest.raises(ArtefactError, match=r"graph.onnx: ONNX Runtime cannot load the graph"):
        OnnxGraph(tmp_path / "graph.onnx")


def test_cuda_that_is_not_there_is_not_replaced_in_silence(graph: OnnxGraph, tmp_path: Path) -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has an NVIDIA device")
    with pytest.raises((ProviderUnavailable, ArtefactError, UserWarning)):
        OnnxGraph(tmp_path / "graph.onnx", Device(provider="cuda"))


def test_a_row_graph_measures_itself(graph: OnnxGraph) -> None:
    rows = RowGraph(graph, ("mvar", "mean"), quantum_rows=16)
    mvar, mean = rows(ROWS)
    assert (mvar.tolist(), mean.tolist()) == ([1.5, 3.5, 5.5], [6, 14, 22])
    rows.measure(ROWS, repeats=2)
    assert 0 < rows.seconds(1) < rows.seconds(1000)


class Drifting:
    """Gives its first answer, and from then on others."""

    outputs = ("mean",)

    def __init__(self) -> None:
        self.factor = 1.0

    def run(self, inputs: dict[str, np.ndarray], outputs: tuple[str, ...]) -> list[np.ndarray]:
        return [np.float32(self.factor) * inputs["rows"].sum(axis=1)]


def test_without_a_known_tolerance_the_first_answer_sets_it(tmp_path: Path) -> None:
    path = tmp_path / "golden.npz"
    path.write_bytes(npz.encode({"rows": ROWS, "mean": ROWS.sum(axis=1) * 1.02}))
    device = Drifting()
    probe = Probe(device, path, float("inf"), 1e-4)
    probe()
    device.factor = 0.99
    probe()
    device.factor = 0.9
    with pytest.raises(ArtefactError, match="differs"):
        probe()
    with pytest.raises(ArtefactError, match="differs"):
        Probe(Drifting(), path, 1e-4, 1e-4)()
