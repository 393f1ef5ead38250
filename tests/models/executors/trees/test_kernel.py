"""Sums of random tables: the same bits row by row and in blocks, equal to plain arithmetic."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from models.compiled import build
from models.executors.trees import kernel
from models.executors.trees.kernel import RANKS, Binarisation, Piece, Summation

IN_REGISTERS = 128
"""Columns up to which some processors find the leaves of several trees at once."""


@pytest.fixture(scope="module", autouse=True)
def compiled_kernel() -> None:
    """A checkout without a compiler cannot test the kernel; an installed one has it."""
    if kernel.load() is None:
        build(Path(kernel.__file__).parent)


def binarisation(columns: int, draw: np.random.Generator) -> Binarisation:
    steps = draw.integers(1, 9, columns).astype(np.uint8)
    borders = np.full((columns, RANKS), np.inf, np.float32)
    for column, count in enumerate(2 ** steps.astype(int) - 1):
        borders[column, :count] = np.sort(draw.normal(size=count))
    above = draw.integers(0, 2, columns).astype(np.uint8)
    return Binarisation(np.arange(columns, dtype=np.int32), above, steps, borders)


def piece(depths: NDArray[np.uint8], dimension: int, known: Binarisation, draw: np.random.Generator) -> Piece:
    splits = int(depths.sum())
    columns = draw.integers(0, len(known.steps), splits)
    ranks = draw.integers(0, 2 ** known.steps[columns].astype(np.int64) - 1)
    leaves = draw.integers(-(2**31), 2**31, int((2 ** depths.astype(np.int64)).sum()) * dimension)
    scales = draw.uniform(1e-9, 1e-6, len(depths) * dimension)
    return Piece(
        dimension,
        depths,
        (columns * RANKS + ranks).astype(np.uint16),
        scales.astype(np.float32),
        leaves.astype(np.int32),
    )


def plain(known: Binarisation, one: Piece, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Sums in the order of the trees, [n, D]."""
    values = np.where(np.isnan(rows) & (known.above == 1), np.float32(np.inf), rows)
    sums = np.zeros((len(rows), one.dimension))
    splits, leaves = 0, 0
    for tree, depth in enumerate(one.depths.astype(int)):
        number = np.zeros(len(rows), np.int64)
        for level, split in enumerate(one.splits[splits : splits + depth].astype(int)):
            column, rank = divmod(split, RANKS)
            number |= (values[:, column] > known.borders[column, rank]).astype(np.int64) << level
        table = one.leaves[leaves : leaves + (one.dimension << depth)].reshape(-1, one.dimension)
        sums += table[number] * one.scales.reshape(-1, one.dimension)[tree].astype(np.float64)
        splits, leaves = splits + depth, leaves + (one.dimension << depth)
    return sums


@pytest.mark.parametrize("columns", [1, 65, IN_REGISTERS, IN_REGISTERS + 1, 256])
@pytest.mark.parametrize("depth", [0, 1, 6, 7, 8, 9, 12, None])
def test_a_row_has_the_same_bits_alone_and_among_others(columns: int, depth: int | None) -> None:
    draw = np.random.default_rng(columns)
    known = binarisation(columns, draw)
    pieces = []
    for dimension, trees in ((2, 1), (2, 8), (9, 63), (1, 64), (3, 65), (2, 256), (2, 301)):
        depths = draw.integers(0, 11, trees) if depth is None else np.full(trees, depth)
        pieces.append(piece(depths.astype(np.uint8), dimension, known, draw))
    library = kernel.load()
    assert library is not None
    sums = Summation(library, known, pieces)
    rows = draw.normal(size=(70, columns)).astype(np.float32)
    rows[draw.random(rows.shape) < 0.1] = np.nan
    rows[draw.random(rows.shape) < 0.02] = np.inf
    rows[draw.random(rows.shape) < 0.02] = -np.inf
    rows[3] = known.borders[:, 0]  # on a border is not above it
    expected = [plain(known, one, rows) for one in pieces]
    for few in (0, len(rows) + 1, None):
        for one, other in zip(sums(rows, few), expected, strict=True):
            np.testing.assert_array_equal(one, other)
    for index in (0, 3, 69):
        for one, other in zip(sums(rows[index : index + 1]), expected, strict=True):
            np.testing.assert_array_equal(one[0], other[index])
