"""Members as they are served: repeatable, golden maps, and what does not fit is refused in words."""

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from models import npz
from models.artefact import Artefact, ArtefactError, write
from models.executors import golden
from models.executors.graph import Graph
from models.manifest import Executor, Manifest, Source
from models.tasks.motion.artefact import recipe as recipes
from models.tasks.motion.artefact.export import export
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.inference import members as members_of
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.inference.members import Members, enlarged
from models.tasks.motion.networks.masks import frozen_masks
from models.tasks.motion.networks.settings import Sizes
from tests.models.motion.toys import maps, untrained

SIZES = Sizes("bc", "small", (4, 4, 8, 8), hidden=8, grid=64, unit=10.0)
RECIPE = Recipe(size=64, noise_seed=3)


def graph(folder: Path, seeds: tuple[int, ...] = (0, 1), sizes: Sizes = SIZES) -> Path:
    path = folder / "members.onnx"
    networks = [untrained(sizes, seed) for seed in seeds]
    masks = [
        frozen_masks(sizes.dropout, network.width, sizes.hidden, sample_seed=1, seed=seed, samples=4)
        for seed, network in zip(seeds, networks, strict=True)
        if sizes.dropout
    ]
    path.write_bytes(export(networks, masks, samples=4))
    return path


def artefact(folder: Path, sizes: Sizes = SIZES, **changes: object) -> Artefact:
    content = graph(folder, sizes=sizes).read_bytes()
    manifest = Manifest(
        task="motion",
        family="bc",
        members=2,
        schema_hash="",
        executor=Executor("onnx", "members.onnx", layout="split"),
        heads={},
        golden="members.onnx",
        sources=(Source("training", "", "", "", 0),),
        seeds=(0, 1),
        training={},
        quality={},
        versions={},
        files={},
    )
    manifest = msgspec.structs.replace(manifest, **changes)
    return write(folder / "artefact", manifest, {"members.onnx": content, recipes.RECIPE: recipes.encode(RECIPE)})


def test_members_answer_in_the_agreed_shapes_and_repeat(tmp_path: Path) -> None:
    ensemble = members_of.members(artefact(tmp_path))
    assert (ensemble.count, ensemble.samples) == (2, 4)
    plans, scores = ensemble(maps(3).numpy())
    assert plans.shape == (3, 8, 25, 2)
    assert scores.shape == (3, 2, 8)
    again = ensemble(maps(3).numpy())
    assert np.array_equal(plans, again[0])
    assert np.array_equal(scores, again[1])
    empty = ensemble(np.empty((0, 17, 64, 64), np.float32))
    assert [array.shape for array in empty] == [(0, 8, 25, 2), (0, 2, 8)]


def test_on_a_cpu_an_answer_does_not_depend_on_its_company(tmp_path: Path) -> None:
    ensemble = members_of.opened(graph(tmp_path), RECIPE)
    requests = maps(5).numpy()
    together = ensemble(requests)
    for number in (0, 3):
        alone = ensemble(requests[number : number + 1])
        assert np.array_equal(alone[0][0], together[0][number])
        assert np.array_equal(alone[1][0], together[1][number])


def test_maps_may_pass_in_groups(tmp_path: Path) -> None:
    path, requests = graph(tmp_path), maps(5).numpy()
    whole = members_of.opened(path, RECIPE)(requests)
    several = Members(members_of.OnnxGraph(path), RECIPE, pass_maps=2)(requests)
    for actual, expected in zip(several, whole, strict=True):
        assert np.allclose(actual, expected, rtol=1e-4, atol=1e-4)


def test_random_numbers_come_of_the_recipes_seed(tmp_path: Path) -> None:
    path = graph(tmp_path)
    first = members_of.opened(path, RECIPE)
    expected = np.random.default_rng(3).standard_normal((2, 4, 25, 2), np.float32)
    assert np.array_equal(first.noise, expected)
    other = members_of.opened(path, msgspec.structs.replace(RECIPE, noise_seed=4))
    assert not np.allclose(first(maps(1).numpy())[0], other(maps(1).numpy())[0])


def test_golden_maps_are_small_and_show_another_network(tmp_path: Path) -> None:
    members = members_of.opened(graph(tmp_path), RECIPE)
    path = tmp_path / "golden.npz"
    path.write_bytes(npz.encode(members_of.golden(members)))
    assert path.stat().st_size < 50_000
    assert golden.replay(members, path, 1e-6) <= 1e-6
    with pytest.raises(ArtefactError, match="does not compute what was calibrated"):
        golden.replay(members_of.opened(graph(tmp_path, (0, 2)), RECIPE), path, members_of.GOLDEN_TOLERANCE)


def test_blocks_are_enlarged_to_any_grid() -> None:
    blocks = np.random.default_rng(0).random((2, 17, 16, 16), np.float32)
    for size in (64, 100):
        drawn = enlarged(blocks, Grid(size))
        assert drawn.shape == (2, 17, size, size)
        assert np.array_equal(drawn[:, :, [0, -1]][:, :, :, [0, -1]], blocks[:, :, [0, -1]][:, :, :, [0, -1]])
        assert set(np.unique(drawn)) == set(np.unique(blocks))


def test_members_of_a_dropout_ensemble_have_the_manifests_masks(tmp_path: Path) -> None:
    dropped = replace(SIZES, dropout=0.3)
    ensemble = members_of.members(artefact(tmp_path, dropped, samples=4, sample_seed=1))
    assert (ensemble.count, ensemble.samples) == (2, 4)
    with pytest.raises(ArtefactError, match="2 members of 4 masks, the manifest says 2 of 3"):
        members_of.members(artefact(tmp_path, dropped, samples=3, sample_seed=1))


def test_other_members_than_the_manifest_says_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="2 members of 1 masks, the manifest says 5 of 1"):
        members_of.members(artefact(tmp_path, members=5))


def test_executors_that_cannot_score_each_other_are_refused(tmp_path: Path) -> None:
    separate = Executor("onnx", layout="separate", models={"trajectories": ("members.onnx",)})
    with pytest.raises(ArtefactError, match="score each other in one onnx graph.* 1 executors.* onnx separate"):
        members_of.members(artefact(tmp_path, executor=separate))
    joined = (Executor("onnx", "members.onnx"),)
    with pytest.raises(ArtefactError, match="has 2 executors"):
        members_of.members(artefact(tmp_path, joined=joined))


def test_maps_of_another_grid_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"takes maps \['N', 17, 64, 64\], and the recipe draws \[17, 128, 128\]"):
        members_of.opened(graph(tmp_path), Recipe())


def foreign(folder: Path, *, noise: tuple[int, ...] = (2, 4, 25, 2), plans: int = 8) -> Path:
    """A graph that has the right names, and not always the right shapes."""
    made = Graph("foreign")
    seen = made.op("ReduceMean", made.input("maps", ("N", 17, 64, 64)), np.array([1, 2, 3]), keepdims=0)
    drawn = made.op("ReduceMean", made.input("noise", noise), keepdims=0)
    apart = made.op("Reshape", seen + drawn, np.array([-1, 1, 1, 1]))
    made.output("plans", made.op("Expand", apart, np.array([1, plans, 25, 2])), ("N", plans, 25, 2))
    scores = made.op("Squeeze", made.op("Expand", apart, np.array([1, 2, 8, 1])), np.array([3]))
    made.output("scores", scores, ("N", 2, 8))
    path = folder / "foreign.onnx"
    path.write_bytes(made.serialise())
    return path


def test_foreign_graphs_are_refused(tmp_path: Path) -> None:
    assert members_of.opened(foreign(tmp_path), RECIPE).count == 2
    with pytest.raises(ArtefactError, match=r"foreign.onnx: the graph takes noise \[2, 4, 24, 2\]; \[K, Q, 25, 2\]"):
        members_of.opened(foreign(tmp_path, noise=(2, 4, 24, 2)), RECIPE)
    with pytest.raises(ArtefactError, match=r"plans are float32 \[1, 9, 25, 2\], not float32 \[1, 8, 25, 2\]"):
        members_of.opened(foreign(tmp_path, plans=9), RECIPE)
    rows = Graph("rows")
    rows.output("mean", rows.input("rows", ("N", 3)), ("N", 3))
    path = tmp_path / "rows.onnx"
    path.write_bytes(rows.serialise())
    with pytest.raises(ArtefactError, match="the graph makes mean of rows; plans and scores of maps and noise"):
        members_of.opened(path, RECIPE)
    path.write_bytes(b"no graph")
    with pytest.raises(ArtefactError, match="cannot load the graph"):
        members_of.opened(path, RECIPE)
