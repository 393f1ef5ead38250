"""Frozen masks: repeated from their seeds, all different, of the right share."""

import numpy as np
import pytest

from models.tasks.motion.networks.masks import FrozenMasks, frozen_masks


def masks(seed: int = 3, samples: int = 10, dropout: float = 0.2) -> FrozenMasks:
    return frozen_masks(dropout, 400, 64, sample_seed=7, seed=seed, samples=samples)


def test_a_mask_depends_on_its_seeds_and_number_only() -> None:
    assert np.array_equal(masks(samples=10).pooled[:3], masks(samples=3).pooled)
    assert np.array_equal(masks(samples=10).hidden[:3], masks(samples=3).hidden)
    assert not np.array_equal(masks(seed=3).pooled, masks(seed=4).pooled)


def test_masks_keep_their_share_and_the_expectation() -> None:
    frozen = frozen_masks(0.2, 20_000, 20_000, sample_seed=0, seed=0, samples=2)
    for mask in (frozen.pooled, frozen.hidden):
        assert set(np.unique(mask)) == {0, np.float32(1 / 0.8)}
        assert (mask > 0).mean() == pytest.approx(0.8, abs=0.01)
        assert mask.mean() == pytest.approx(1, abs=0.02)


def test_something_is_kept_at_any_dropout() -> None:
    frozen = frozen_masks(0.999, 5, 3, sample_seed=0, seed=0, samples=1)
    assert frozen.pooled.any(axis=1).all()
    assert frozen.hidden.any(axis=1).all()


def test_masks_that_are_the_same_are_refused() -> None:
    with pytest.raises(ValueError, match="10 masks of 464 features at a dropout of 1e-09 are not all different"):
        masks(dropout=1e-9)
