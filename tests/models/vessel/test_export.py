"""One graph for all members says what the members say one by one."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray

from models.executors.graph import Graph
from models.executors.onnx import OnnxGraph
from models.tasks.vessel.artefact.ensemble import FAMILIES, TrainedEnsemble
from models.tasks.vessel.artefact.export import export
from models.tasks.vessel.data.table import NAMES
from models.tasks.vessel.inference import scoring
from models.tasks.vessel.networks import families, frozen
from tests.rounding import tolerance

ROUNDINGS = 20
"""Of a mean. Sums of 10, 50 and 20 terms lead to it, and as many weights are rounded: the root of 160 is 13."""
OF_VARIANCES = tolerance(2 * 7, ROUNDINGS)
"""Relative. What softplus makes a standard deviation of is below 7, and the square counts twice."""


def of_means(means: NDArray[Any]) -> float:
    """Return the most by which float32 means may differ, kW."""
    return tolerance(means, ROUNDINGS)


def assert_near(actual: NDArray[Any], variance: NDArray[Any], away: float) -> None:
    """Check variances of members' means [N]; their error follows from that of the means, most of which cancel."""
    assert (np.abs(actual - variance) <= 2 * np.sqrt(variance) * away + away**2 + OF_VARIANCES * variance).all()


def opened(ensemble: TrainedEnsemble, folder: Path) -> OnnxGraph:
    path = folder / "ensemble.onnx"
    path.write_bytes(export(ensemble))
    return OnnxGraph(path)


def networks_one_by_one(ensemble: TrainedEnsemble) -> Iterator[families.Dense]:
    """Each member and sample as a torch network of its own, float64, in the graph's order."""
    family = "symbolic" if ensemble.family == "symbolic" else "dnn"
    plain = {name: array[:, None] for name, array in ensemble.weights.items() if not name.endswith("_rho")}
    if ensemble.family == "variational":
        plain = frozen.weight_samples(ensemble)
    elif ensemble.family == "mc_dropout":
        first, second = frozen.masks(ensemble)
        plain |= {"w2": plain["w2"] * first[..., None], "w3": plain["w3"] * second[..., None]}
    for member, seed in enumerate(ensemble.seeds):
        for sample in range(ensemble.samples):
            network = families.build(family, (seed,), ensemble.scaling, NAMES)
            families.restore(
                network,
                {name: array[member, sample if array.shape[1] > 1 else 0][None] for name, array in plain.items()},
            )
            yield network.eval().double()


@pytest.mark.parametrize("family", FAMILIES)
def test_fused_is_separate(family, trained, data, tmp_path) -> None:
    ensemble = trained(family, 3)
    rows = data["eval_out"].features[:300]
    scaled = torch.from_numpy((rows - ensemble.scaling.mean) / ensemble.scaling.std)[None]
    with torch.no_grad():
        outputs = [[part[0].numpy() for part in network(scaled)] for network in networks_one_by_one(ensemble)]
    mean, std = np.moveaxis(np.array(outputs), 1, 0)
    mean = mean * ensemble.scaling.power_std + ensemble.scaling.power_mean
    variance = np.square(std * ensemble.scaling.power_std)
    graph = opened(ensemble, tmp_path)
    fused_mean, fused_variance = scoring.predict_members(graph, rows)
    assert fused_mean.shape == (ensemble.size, 300)
    np.testing.assert_allclose(fused_mean, mean, rtol=0, atol=of_means(mean))
    np.testing.assert_allclose(fused_variance, variance, rtol=OF_VARIANCES)
    whole = scoring.predict(graph, rows)
    np.testing.assert_allclose(whole.mean, mean.mean(axis=0), rtol=0, atol=of_means(mean))
    np.testing.assert_allclose(whole.mvar, variance.mean(axis=0), rtol=OF_VARIANCES)
    assert_near(whole.varm, mean.var(axis=0), of_means(mean))
    assert (whole.varm >= 0).all()


@pytest.mark.parametrize("family", ["dnn", "symbolic"])
def test_a_single_model_has_no_knowledge_uncertainty(family, trained, data, tmp_path) -> None:
    single = trained(family, 3).select(slice(1, 2))
    graph = opened(single, tmp_path)
    assert "varm" not in graph.outputs
    alone = scoring.predict(graph, data["dev_in"].features)
    assert alone.varm is None
    members, _ = scoring.predict_members(opened(trained(family, 3), tmp_path), data["dev_in"].features)
    np.testing.assert_allclose(alone.mean, members[1], rtol=0, atol=of_means(members))


@pytest.mark.parametrize("family", FAMILIES)
def test_same_weights_give_the_same_bytes(family, trained) -> None:
    ensemble = trained(family, 3)
    content = export(ensemble)
    assert content == export(replace(ensemble))
    weights = ensemble.weights | {"b3": ensemble.weights["b3"] + 1}
    assert content != export(replace(ensemble, weights=weights))


def test_a_graph_holds_only_standard_operators_and_its_own_weights(trained) -> None:
    model = onnx.load_from_string(export(trained("variational", 3)))
    assert {entry.domain for entry in model.opset_import} == {""}
    assert not any(tensor.external_data for tensor in model.graph.initializer)
    assert "Softplus" not in {node.op_type for node in model.graph.node}, "scalar and slow in ONNX Runtime"


def test_masked_members_share_their_weights(trained) -> None:
    ten_fold = len(export(trained("mc_dropout", 3)))
    assert ten_fold < 2 * len(export(replace(trained("mc_dropout", 3), samples=1)))


def test_rows_do_not_depend_on_their_neighbours(trained, data, tmp_path) -> None:
    graph, rows = opened(trained("dnn", 3), tmp_path), data["dev_in"].features[:50]
    whole = scoring.predict(graph, rows)
    pieces = scoring.predict(graph, rows, chunk=7)
    np.testing.assert_allclose(whole.mean, pieces.mean, rtol=0, atol=of_means(whole.mean))
    assert_near(pieces.varm, whole.varm, of_means(whole.mean))


def test_softplus_is_exact_enough_everywhere(tmp_path) -> None:
    graph = Graph("softplus")
    graph.output("y", graph.softplus(graph.input("x", ("N",))), ("N",))
    (tmp_path / "g.onnx").write_bytes(graph.serialise())
    x = np.concatenate([np.linspace(-80, 80, 4001), [-1e4, 1e4]]).astype(np.float32)
    (y,) = OnnxGraph(tmp_path / "g.onnx").run({"x": x}, ("y",))
    np.testing.assert_allclose(y, np.logaddexp(0, x.astype(np.float64)), rtol=1e-6, atol=5e-7)


def test_running_a_graph_leaves_the_callers_arithmetic_alone(trained, data, tmp_path) -> None:
    scoring.predict(opened(trained("dnn", 3), tmp_path), data["dev_in"].features[:10])
    smallest = np.finfo(np.float64).tiny
    assert smallest / 4 > 0, "subnormal numbers are flushed to zero on this thread"
