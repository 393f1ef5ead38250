"""Graphs of members: what torch says, the same bytes, nothing of the machine; and their golden window."""

import functools
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from models import npz
from models.artefact import ArtefactError
from models.executors import golden
from models.manifest import Executor
from models.tasks.lesion.artefact.ensemble import Ensemble
from models.tasks.lesion.artefact.export import exported
from models.tasks.lesion.artefact.recipe import Channel, Recipe
from models.tasks.lesion.inference import members as members_of
from models.tasks.lesion.networks import architectures
from models.tasks.lesion.networks.settings import preset
from tests.models.graphs import traces_of_the_machine

WINDOW = (32, 32, 32)
CHANNELS: tuple[Channel, ...] = ("flair", "t1")
RECIPE = Recipe(channels=CHANNELS, window=WINDOW)


@functools.cache
def ensemble(family: str, seeds: tuple[int, ...]) -> tuple[Ensemble, list[torch.nn.Module]]:
    sizes = preset("tiny", family, 2).sizes
    trained = []
    for seed in seeds:
        torch.manual_seed(seed)
        trained.append(architectures.network(sizes, 32).eval())
    export = exported(
        family, trained, sizes, seeds=seeds, channels=CHANNELS, window=WINDOW, training={}, sample_seed=3, samples=2
    )
    return export, trained


def opened(export: Ensemble, folder: Path, recipe: Recipe = RECIPE) -> members_of.Members:
    for name, content in export.files.items():
        (folder / name).write_bytes(content)
    return members_of.opened(
        lambda name: folder / name,
        [export.executor],
        recipe,
        samples=export.samples,
        sampled=export.sample_seed is not None,
    )


def windows(seed: int = 0, count: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, 2, *WINDOW)).astype(np.float32)


@pytest.mark.parametrize(("family", "seeds"), [("unet", (0, 1)), pytest.param("unetr", (0,), marks=pytest.mark.slow)])
def test_graphs_say_what_torch_says(family: str, seeds: tuple[int, ...], tmp_path: Path) -> None:
    export, trained = ensemble(family, seeds)
    members = opened(export, tmp_path)
    assert len(members) == len(seeds)
    for number, network in enumerate(trained):
        with torch.no_grad():
            expected = architectures.folded(network)(torch.from_numpy(windows())).numpy()[:, 0]
        actual = members.differences(number, windows())
        assert np.abs(actual - expected).max() <= 1e-4 * np.abs(expected).max()
        assert np.abs(members.difference(number, windows()[1]) - expected[1]).max() <= 1e-4 * np.abs(expected).max()


@pytest.mark.long
def test_samples_are_members_that_differ_and_repeat(tmp_path: Path) -> None:
    export, trained = ensemble("unet_mcdp", (0,))
    members = opened(export, tmp_path)
    sizes = preset("tiny", "unet_mcdp", 2).sizes
    masks = architectures.channel_masks(sizes, sample_seed=3, seed=0, samples=2)
    served = architectures.Sampled(architectures.folded(trained[0]), masks)
    outputs = [members.differences(member, windows()) for member in range(len(members))]
    assert len(outputs) == 2
    for sample, output in enumerate(outputs):
        with torch.no_grad():
            expected = served(torch.from_numpy(windows()), torch.tensor(sample)).numpy()[:, 0]
        assert np.abs(output - expected).max() <= 1e-4 * np.abs(expected).max()
        assert np.array_equal(output, members.differences(sample, windows()))
    assert np.abs(outputs[0] - outputs[1]).max() > 0.01


def test_the_same_weights_give_the_same_bytes() -> None:
    assert ensemble("unet_mcdp", (0,))[0].graphs == ensemble.__wrapped__("unet_mcdp", (0,))[0].graphs


@pytest.mark.long
@pytest.mark.parametrize("family", ["unet", "unet_mcdp", pytest.param("unetr", marks=pytest.mark.slow)])
def test_nothing_of_the_machine_enters_a_graph(family: str) -> None:
    graph = ensemble(family, (0,))[0].graphs[0]
    assert traces_of_the_machine(graph) == []


def test_large_weights_take_two_bytes_each() -> None:
    sizes = preset("tiny", "unet", 2).sizes
    (graph,) = ensemble("unet", (0,))[0].graphs
    numbers = sum(parameter.numel() for parameter in architectures.network(sizes, 32).parameters())
    assert len(graph) < 2 * numbers + 8000
    kinds = {
        tensor.data_type for tensor in onnx.load_from_string(graph).graph.initializer if np.prod(tensor.dims) > 300
    }
    assert kinds == {onnx.TensorProto.FLOAT16}


def test_slopes_are_cheap_and_nothing_unused_is_stored() -> None:
    graph = onnx.load_from_string(ensemble("unet", (0,))[0].graphs[0]).graph
    assert "PRelu" not in {node.op_type for node in graph.node}
    used = {name for node in graph.node for name in node.input}
    assert {tensor.name for tensor in graph.initializer} <= used


@pytest.mark.long
@pytest.mark.parametrize("family", ["unet", pytest.param("unet_mcdp", marks=pytest.mark.slow)])
def test_the_golden_window_is_small_and_shows_another_network(family: str, tmp_path: Path) -> None:
    export, _ = ensemble(family, (0, 1))
    members = opened(export, tmp_path)
    path = tmp_path / "golden.npz"
    path.write_bytes(npz.encode(members_of.golden(members, RECIPE)))
    assert golden.replay(members, path, 1e-5) <= 1e-5
    assert path.stat().st_size < 20_000
    folder = tmp_path / "other"
    folder.mkdir()
    with pytest.raises(ArtefactError, match="does not compute what was calibrated"):
        golden.replay(opened(ensemble(family, (0, 2))[0], folder), path, 1e-3)


def test_graphs_that_do_not_fit_the_recipe_are_refused(tmp_path: Path) -> None:
    export, _ = ensemble("unetr", (0,))
    with pytest.raises(ArtefactError, match=r"member-0\.onnx: the graph does not take windows of the recipe"):
        opened(export, tmp_path, Recipe(channels=("flair",), window=WINDOW))
    with pytest.raises(ArtefactError, match="layout separate"):
        members_of.opened(lambda name: tmp_path / name, [Executor("onnx", "member-0.onnx")], RECIPE)


def test_a_graph_of_its_own_for_each_member_is_stated_in_one_place() -> None:
    with pytest.raises(ValueError, match="one graph under file, or with layout separate"):
        Executor("onnx", "graph.onnx", layout="separate")
    with pytest.raises(ValueError, match="one graph under file, or with layout separate"):
        Executor("onnx")
    with pytest.raises(ValueError, match="layout separate is of onnx executors"):
        Executor("catboost", layout="separate", models={"lesions": ("a",)})
