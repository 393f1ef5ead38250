"""Windows, weights and sums are those of the library with which the released results were made."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from models.tasks.lesion.inference.windows import NotFinite, Shape, Stitch, Windows, importance, starts

CASES: list[tuple[Shape, Shape, float]] = [
    ((40, 33, 50), (16, 16, 16), 0.25),
    ((10, 33, 50), (16, 16, 16), 0.25),
    ((10, 11, 12), (16, 14, 12), 0.25),
    ((48, 49, 47), (16, 16, 16), 0.25),
    ((21, 22, 23), (16, 12, 8), 0.5),
    ((20, 24, 16), (16, 16, 16), 0.0),
]


WEIGHT_ROUNDINGS = 22
"""Roundings of one weight: exp of three arguments of two roundings each, whose sizes add up to at most 7 (a weight
below 1e-3 is replaced), so 14; three values of exp, each within 1 ulp, so 6; and two products."""


def tolerance(windows: Windows, largest: float) -> float:
    """Return how far two correct float32 means of equal values can be apart.

    A mean is a sum of weighted values over a sum of weights. With k windows over a voxel, either sum has k - 1
    additions, the first also a product for each value, and then comes the division: 2 k roundings, and in both sums
    those of the weights. Each is at most half an eps, relative to the largest value, and there are two such means.
    """
    covered = np.zeros(windows.padded, int)
    for part in windows.slices:
        covered[part] += 1
    return float(np.finfo(np.float32).eps) * (2 * int(covered.max()) + 2 * WEIGHT_ROUNDINGS) * largest


@pytest.mark.parametrize(("shape", "window", "overlap"), CASES)
def test_stitched_windows_are_those_of_monai(shape: Shape, window: Shape, overlap: float) -> None:
    """The network adds integers, which is exact in any order: what differs between machines is the stitching alone."""
    import torch
    from monai.inferers import sliding_window_inference

    rng = np.random.default_rng(0)
    image = rng.integers(-8, 9, (2, *shape)).astype(np.float32)
    kernel = torch.from_numpy(rng.integers(-2, 3, (1, 2, 3, 3, 3)).astype(np.float32))

    def network(batch: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.conv3d(batch, kernel, padding=1)

    expected = sliding_window_inference(
        torch.from_numpy(image[None]), window, 4, network, overlap=overlap, mode="gaussian"
    )
    windows = Windows(shape, window, overlap)
    stitch = Stitch(windows, 1)
    largest = 0.0
    for number in rng.permutation(len(windows)).tolist():
        values = network(torch.from_numpy(windows.cut(image, number)[None]))[0, 0].numpy()
        largest = max(largest, float(np.abs(values).max()))
        stitch.add(0, number, values)
    stitch.finish(0)
    assert largest > 50
    assert np.abs(stitch.means()[0] - expected[0, 0].numpy()).max() <= tolerance(windows, largest)


def test_importance_is_that_of_monai() -> None:
    from monai.data.utils import compute_importance_map

    for window in ((96, 96, 96), (16, 12, 9)):
        assert np.allclose(importance(window), compute_importance_map(window, "gaussian").numpy(), rtol=1e-5)


def test_positions_cover_an_axis_and_end_with_it() -> None:
    assert starts(182, 96, 0.25) == (0, 72, 86)
    assert starts(144, 96, 0.25) == (0, 48)
    assert starts(168, 96, 0.25) == (0, 72)
    assert starts(96, 96, 0.25) == (0,)
    assert len(Windows((144, 168, 144), (96, 96, 96), 0.25)) == 8


def test_sums_do_not_depend_on_the_order_or_on_threads() -> None:
    windows = Windows((40, 41, 42), (16, 16, 16), 0.5)
    rng = np.random.default_rng(1)
    values = rng.standard_normal((2, len(windows), 16, 16, 16)).astype(np.float32)
    results = []
    for order in (np.arange(len(windows)), rng.permutation(len(windows)), np.arange(len(windows))[::-1]):
        stitch = Stitch(windows, 2)

        def add(number: int, stitch: Stitch = stitch) -> None:
            for member in (1, 0):
                stitch.add(member, number, values[member, number])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(add, order.tolist()))
        for member in (0, 1):
            stitch.finish(member)
        results.append(stitch.means())
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_a_network_that_fails_is_no_segmentation() -> None:
    windows = Windows((20, 16, 16), (16, 16, 16), 0.25)
    stitch = Stitch(windows, 1)
    broken = np.zeros((16, 16, 16), np.float32)
    broken[3, 4, 5] = np.nan
    with pytest.raises(ValueError, match="answered"):
        stitch.add(0, 0, broken[:-1])
    stitch.add(0, 1, broken)  # early: waits for window 0
    with pytest.raises(NotFinite, match="member 0 of the ensemble answers NaN or infinity to window 1"):
        stitch.add(0, 0, np.zeros_like(broken))
    with pytest.raises(ValueError, match="0 has 1 of 2 windows"):
        stitch.finish(0)
