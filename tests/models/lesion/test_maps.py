"""The quick maps are those of the float64 definition, wherever logits lie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from models.tasks.lesion.inference import maps
from models.uncertainty.voxels import voxel_uncertainty


def both(differences: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of a quick map and its definition."""
    probability = np.empty(differences.shape[1], np.float32)
    maps.fill_probability(differences, probability, np.float32(0))
    filled = maps.empty_maps(differences.shape[1], len(differences))
    maps.fill_uncertainty(differences, filled)
    true = voxel_uncertainty(differences.astype(np.float64))
    pairs = [(probability, true.probability), (filled.total, true.entropy)]
    for quick, slow in ((filled.data, true.expected_entropy), (filled.knowledge, true.mi), (filled.rmi, true.rmi)):
        assert (quick is None) == (slow is None)
        if quick is not None and slow is not None:
            pairs.append((quick, slow))
    return pairs


def agree(quick: np.ndarray, slow: np.ndarray) -> None:
    """Within roundings of float32, relative to 1 or to the largest value.

    About ten of half an eps for each of at most 5 members, and as much again for exp and log, which differ between
    instruction sets.
    """
    largest = max(1.0, float(np.abs(slow).max()))
    assert np.abs(quick - slow).max() < 50 * np.finfo(np.float32).eps * largest


@pytest.mark.parametrize("members", [1, 2, 5])
@pytest.mark.parametrize("scale", [0.1, 3, 30, 500])
def test_maps_are_those_of_the_definition(members: int, scale: float) -> None:
    rng = np.random.default_rng(0)
    voxels = 2 * maps.SLAB + 17
    shared = rng.standard_normal(voxels) * scale
    differences = (shared + rng.standard_normal((members, voxels)) * scale / 3).astype(np.float32)
    for quick, slow in both(differences):
        agree(quick, slow)
        assert (quick >= 0).all()


@given(hnp.arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 8)), elements=st.floats(-1e4, 1e4, width=32)))
def test_any_logits_have_maps(differences: np.ndarray) -> None:
    for quick, slow in both(differences):
        agree(quick, slow)


def test_candidates_are_where_any_member_reaches_the_threshold() -> None:
    differences = np.random.default_rng(0).standard_normal((3, maps.SLAB + 5)).astype(np.float32)
    out = np.empty(differences.shape[1], np.float32)
    marked = maps.fill_probability(differences, out, np.float32(0.7))
    assert np.array_equal(marked, (differences >= np.float32(0.7)).any(axis=0))
