"""One graph for all members and masks says what the torch networks say one by one."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from models.executors.graph_members import GraphMembers
from models.executors.onnx import OnnxGraph
from models.tasks.weather.transformer import frozen, network
from models.tasks.weather.transformer.ensemble import TrainedEnsemble
from models.tasks.weather.transformer.export import export
from models.tasks.weather.transformer.scaling import LIMIT
from models.tasks.weather.transformer.settings import PAPER, SMALL, Sizes
from tests.models.weather.transformer.conftest import some_rows

Untrained = Callable[..., TrainedEnsemble]
TINY = Sizes(width=12, heads=3, blocks=2, attention_dropout=0.1, hidden_dropout=0.3)


def served(ensemble: TrainedEnsemble, folder: Path) -> GraphMembers:
    path = folder / "ensemble.onnx"
    path.write_bytes(export(ensemble))
    return GraphMembers(OnnxGraph(path), ensemble.heads)


def one_by_one(ensemble: TrainedEnsemble, rows: np.ndarray) -> dict[str, np.ndarray]:
    """What torch says in float64, members before samples."""
    masks, predictions = frozen.masks(ensemble), {name: [] for name in ensemble.heads}
    classes = ensemble.outputs("precipitation") if "precipitation" in ensemble.heads else 0
    for member in range(ensemble.members):
        model = network.Network(
            ensemble.sizes, ensemble.scaling, temperature="temperature" in ensemble.heads, classes=classes
        )
        network.restore(model, {name: array[member] for name, array in ensemble.weights.items()})
        model.eval().double()
        for sample in range(ensemble.samples):
            own = {name: torch.from_numpy(array[member, sample]) for name, array in masks.items()}
            with torch.no_grad():
                outputs = model(torch.from_numpy(rows).double(), own)
            if "temperature" in outputs:
                mean, std = network.gaussian(outputs["temperature"])
                scale = ensemble.scaling.temperature_std
                pair = (mean * scale + ensemble.scaling.temperature_mean, (std * scale) ** 2)
                predictions["temperature"].append(torch.stack(pair, dim=-1).numpy())
            if "precipitation" in outputs:
                predictions["precipitation"].append(outputs["precipitation"].softmax(dim=-1).numpy())
    return {name: np.stack(parts) for name, parts in predictions.items()}


def assert_same(fused, separate: dict[str, np.ndarray]) -> None:
    assert set(fused) == set(separate)
    for name, array in separate.items():
        assert fused[name].dtype == np.float32
        assert fused[name].shape == array.shape
        scale = 1.0 if name == "precipitation" else np.abs(array).mean()
        np.testing.assert_allclose(fused[name], array, rtol=1e-5, atol=1e-5 * scale)


@pytest.mark.parametrize(("members", "samples"), [(1, 1), (3, 1), (1, 4), (2, 3)])
def test_fused_is_separate(untrained: Untrained, tmp_path, members, samples) -> None:
    ensemble = untrained(SMALL, members, samples=samples)
    rows = some_rows(37, 123, seed=1)
    assert_same(served(ensemble, tmp_path)(rows), one_by_one(ensemble, rows))


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_any_number_of_blocks_and_any_dropout_is_exported(untrained: Untrained, tmp_path, blocks) -> None:
    sizes = replace(TINY, blocks=blocks, residual_dropout=0.2)
    ensemble = untrained(sizes, 2, samples=3, features=9)
    rows = some_rows(10, 9, seed=1)
    assert_same(served(ensemble, tmp_path)(rows), one_by_one(ensemble, rows))


@pytest.mark.parametrize(
    ("features", "classes", "celsius", "heads"),
    [
        (2, 2, True, ("temperature", "precipitation")),
        (60, 0, True, ("temperature",)),
        (5, 4, False, ("precipitation",)),
    ],
)
def test_any_schema_and_either_head_is_exported(untrained, tmp_path, features, classes, celsius, heads) -> None:
    ensemble = untrained(TINY, 2, features=features, classes=classes, celsius=celsius)
    assert ensemble.heads == heads
    rows = some_rows(6, features, seed=1)
    assert_same(served(ensemble, tmp_path)(rows), one_by_one(ensemble, rows))


def test_the_size_of_the_paper_is_exported(untrained: Untrained, tmp_path) -> None:
    ensemble = untrained(PAPER)
    rows = some_rows(3, 123, seed=1)
    assert_same(served(ensemble, tmp_path)(rows), one_by_one(ensemble, rows))


def test_the_same_weights_give_the_same_bytes(untrained: Untrained) -> None:
    ensemble = untrained(TINY, 2, samples=3, features=9)
    assert export(ensemble) == export(untrained(TINY, 2, samples=3, features=9))
    assert export(ensemble) != export(replace(ensemble, sample_seed=1))


def test_ten_small_members_fit_the_repository(untrained: Untrained) -> None:
    assert len(export(untrained(SMALL, 10))) < 1.5e6
    assert len(export(untrained(SMALL, 1, samples=10))) < 0.2e6


def test_a_sentinel_is_nan_and_neither_is_a_value(untrained: Untrained, tmp_path) -> None:
    ensemble = untrained(TINY, 2, features=4)
    run = served(ensemble, tmp_path)
    rows = np.repeat(ensemble.scaling.mean[None], 4, axis=0)
    rows[0, 1], rows[1, 1], rows[2, 1] = np.nan, -9999.0, -9998.0
    mean = run(rows)["temperature"][..., 0]
    np.testing.assert_array_equal(mean[:, 0], mean[:, 1])
    assert (mean[:, 0] != mean[:, 2]).all(), "near a sentinel is a value"
    assert (mean[:, 0] != mean[:, 3]).all(), "missing is not the mean"
    rows[0, 0] = rows[1, 0] = -9999.0
    rows[1, 0] = np.nan
    mean = run(rows)["temperature"][..., 0]
    assert (mean[:, 0] != mean[:, 1]).all(), "the sentinel of one feature is a value of another"


def test_no_row_makes_an_answer_that_is_not_finite(untrained: Untrained, tmp_path) -> None:
    ensemble = untrained(SMALL, 2)
    never_varied = ensemble.scaling.inverse.copy()
    never_varied[5] = 0
    ensemble = replace(ensemble, scaling=replace(ensemble.scaling, inverse=never_varied))
    largest = np.finfo(np.float32).max
    values = (np.nan, np.inf, -np.inf, largest, -largest, 1e-45, 0.0)
    rows = np.repeat(np.array(values, np.float32)[:, None], 123, axis=1)
    outputs = served(ensemble, tmp_path)(rows)
    assert all(np.isfinite(array).all() for array in outputs.values())
    assert (outputs["temperature"][..., 1] > 0).all()
    np.testing.assert_allclose(outputs["precipitation"].sum(axis=-1), 1, rtol=1e-5)
    at_limit = ensemble.scaling.mean + np.float32(1.01 * LIMIT) / np.where(never_varied > 0, never_varied, 1)
    np.testing.assert_allclose(
        outputs["temperature"][:, 3], served(ensemble, tmp_path)(at_limit[None])["temperature"][:, 0], rtol=1e-4
    )
    np.testing.assert_array_equal(outputs["temperature"][:, 1], outputs["temperature"][:, 3])


def test_a_row_is_answered_the_same_alone_and_in_company(untrained: Untrained, tmp_path) -> None:
    run = served(untrained(SMALL, 2), tmp_path)
    rows = some_rows(21, 123, seed=1)
    together = run(rows)
    for name in run.heads:
        alone = np.concatenate([run(rows[i : i + 1])[name] for i in range(21)], axis=1)
        np.testing.assert_allclose(alone, together[name], rtol=1e-4, atol=1e-5)
