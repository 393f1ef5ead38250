"""Replay sets of motion: maps as runs of equal cells, exact to the bit."""

import numpy as np
import pytest

from models import npz
from models.tasks.motion.artefact.replay_set import Maps, packed
from models.tasks.motion.inference.grid import Grid

GRID = Grid(16, 1.0)


def maps() -> list[np.ndarray]:
    draw = np.random.default_rng(0)
    sparse = np.where(draw.random(GRID.shape) < 0.05, draw.standard_normal(GRID.shape), 0).astype(np.float32)
    full = draw.standard_normal(GRID.shape).astype(np.float32)
    blocks = np.zeros(GRID.shape, np.float32)
    blocks[3, 2:9, 4:12] = 1 / 3
    blocks[-1, -1, -1] = -0.0
    last = np.zeros(GRID.shape, np.float32)
    last[-1, -1, -3:] = 5
    return [sparse, np.zeros(GRID.shape, np.float32), full, blocks, last]


def test_maps_come_back_to_the_bit() -> None:
    drawn = maps()
    restored = Maps(npz.decode(packed(drawn), 1 << 24), GRID)
    assert len(restored) == len(drawn)
    for part in (slice(0, 5), slice(1, 2), slice(3, 5)):
        rows = restored.rows(part)
        for row, expected in zip(rows, drawn[part], strict=True):
            assert np.array_equal(row.view(np.uint32), expected.reshape(-1).view(np.uint32))


def test_channels_that_lie_last_in_memory_are_no_other_map() -> None:
    drawn = maps()[0]
    turned = np.ascontiguousarray(drawn.transpose(1, 2, 0)).transpose(2, 0, 1)
    assert packed([drawn]) == packed([turned])


DAMAGED = {
    "runs beyond a map": ({"lengths": np.array([5000], np.uint32)}, "runs of map 0 go beyond its 4352 cells"),
    "a skip beyond a map": ({"skips": np.array([2**32 - 1], np.uint32)}, "go beyond"),
    "fewer values": ({"values": np.zeros(0, np.float32)}, r"float32 \[1\] is needed"),
    "more runs": ({"runs": np.array([2], np.uint32)}, r"uint32 \[2\] is needed"),
    "other numbers": ({"values": np.zeros(1)}, "float32"),
    "nothing of one kind": ({"skips": None}, "'skips' is missing"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_maps_are_refused(case: str) -> None:
    change, reason = DAMAGED[case]
    arrays = {
        "runs": np.array([1], np.uint32),
        "skips": np.array([3], np.uint32),
        "lengths": np.array([4], np.uint32),
        "values": np.ones(1, np.float32),
    }
    assert Maps(arrays, GRID).rows(slice(0, 1)).sum() == 4
    damaged = {name: array for name, array in (arrays | change).items() if array is not None}  # type: ignore[operator]
    with pytest.raises(npz.BadArrays, match=reason):
        Maps(damaged, GRID)


def test_another_grid_is_refused() -> None:
    with pytest.raises(npz.BadArrays, match="go beyond"):
        Maps(npz.decode(packed(maps()), 1 << 24), Grid(8, 1.0))
