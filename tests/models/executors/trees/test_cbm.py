"""Reading trees out of .cbm files: what is there, and refusals of what is damaged or of another kind."""

import json
from pathlib import Path

import numpy as np
import pytest

from models.executors.trees.cbm import UnreadableTrees, read_trees
from models.executors.trees.tables import NoTables, pack
from tests.models.executors.trees.training import rows, train, trained


@pytest.mark.parametrize("loss", ["RMSEWithUncertainty", "MultiClass"])
def test_trees_are_those_of_the_librarys_json(tmp_path: Path, loss: str) -> None:
    model = trained(tmp_path, loss, nan_mode="Max")
    trees = read_trees(model.path)
    model.native.save_model(str(tmp_path / "model.json"), format="json")
    exported = json.loads((tmp_path / "model.json").read_text())
    assert len(trees.depths) == len(exported["oblivious_trees"])
    splits = [split for tree in exported["oblivious_trees"] for split in tree["splits"]]
    leaves = [value for tree in exported["oblivious_trees"] for value in tree["leaf_values"]]
    assert list(trees.features[trees.splits]) == [split["float_feature_index"] for split in splits]
    np.testing.assert_array_equal(trees.borders[trees.splits], np.float32([split["border"] for split in splits]))
    np.testing.assert_allclose(trees.leaves, leaves, rtol=1e-12)
    scale, bias = exported["scale_and_bias"]
    assert trees.scale == scale
    np.testing.assert_allclose(trees.bias, bias, rtol=1e-12)
    assert trees.above.all()


def test_packed_leaves_keep_to_their_bound(tmp_path: Path) -> None:
    trees = read_trees(trained(tmp_path, "RMSEWithUncertainty", depth=6).path)
    packed = pack(trees)
    original = trees.leaves.reshape(len(trees.depths), -1, 2)
    restored = packed.leaves.reshape(original.shape) * packed.scales.astype(np.float64)[:, None]
    worst = np.abs(restored - original).max(axis=1)
    assert (worst <= 2.0**-31 * np.abs(original).max(axis=1)).all()
    assert (worst.sum(axis=0) <= packed.error).all()


def test_damage_anywhere_is_refused_or_harmless(tmp_path: Path) -> None:
    """No byte makes the reader fail otherwise, nor return splits or leaves that are not there."""
    path = trained(tmp_path, "RMSEWithUncertainty", iterations=4).path
    whole = path.read_bytes()
    draw = np.random.default_rng(0)
    refused = 0
    for _ in range(1500):
        content = bytearray(whole)
        for place in draw.integers(0, len(whole), 3):
            content[place] = draw.integers(0, 256)
        path.write_bytes(content[: draw.integers(8, len(whole) + 1)] if draw.random() < 0.2 else content)
        try:
            trees = read_trees(path)
        except UnreadableTrees:
            refused += 1
            continue
        assert len(trees.splits) == trees.depths.sum()
        assert (trees.splits < len(trees.borders)).all()
        assert len(trees.leaves) == trees.dimension * (1 << trees.depths).sum()
    assert refused > 100


def test_leaves_that_are_no_numbers_are_not_packed(tmp_path: Path) -> None:
    trees = read_trees(trained(tmp_path, "RMSEWithUncertainty").path)
    object.__setattr__(trees, "leaves", np.full_like(trees.leaves, np.nan))
    with pytest.raises(NoTables, match="not finite"):
        pack(trees)


def test_more_borders_than_ranks_are_not_packed(tmp_path: Path) -> None:
    features = rows(3000, missing=0.0)
    features[:, 1:] = 0
    model = train("RMSEWithUncertainty", features, border_count=1000, iterations=300, depth=6)
    model.save_model(str(tmp_path / "many.cbm"))
    with pytest.raises(NoTables, match="more than 255 borders"):
        pack(read_trees(tmp_path / "many.cbm"))


@pytest.mark.parametrize(
    ("content", "why"), [("CBM1 is not enough", "ends after"), ("other", "does not begin with CBM1")]
)
def test_other_files_are_refused(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "text.cbm").write_text(content)
    with pytest.raises(UnreadableTrees, match=why):
        read_trees(tmp_path / "text.cbm")
