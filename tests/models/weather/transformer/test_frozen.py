"""Frozen masks differ by sample, repeat by seed and belong to their member."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from models.tasks.weather.transformer import frozen
from models.tasks.weather.transformer.ensemble import TrainedEnsemble
from models.tasks.weather.transformer.settings import SMALL, Sizes

Untrained = Callable[..., TrainedEnsemble]


def test_masks_are_per_token_and_number_and_keep_the_stated_share(untrained: Untrained) -> None:
    masks = frozen.masks(untrained(SMALL, 2, samples=10))
    assert {name: array.shape for name, array in masks.items()} == {
        "hidden.0": (2, 10, 124, SMALL.hidden),
        "hidden.1": (2, 10, 1, SMALL.hidden),
    }
    assert masks["hidden.0"].mean() == pytest.approx(1 - SMALL.hidden_dropout, abs=0.005)


def test_residual_dropout_has_masks_of_its_own(untrained: Untrained) -> None:
    sizes = Sizes(width=8, heads=1, blocks=2, attention_dropout=0.0, hidden_dropout=0.0, residual_dropout=0.5)
    masks = frozen.masks(untrained(sizes, 1, samples=2, features=3))
    assert {name: array.shape for name, array in masks.items()} == {
        "attended.0": (1, 2, 4, 8),
        "fed.0": (1, 2, 4, 8),
        "attended.1": (1, 2, 1, 8),
        "fed.1": (1, 2, 1, 8),
    }
    assert not np.array_equal(masks["attended.0"], masks["fed.0"])


def test_samples_members_and_seeds_differ_and_repeat(untrained: Untrained) -> None:
    ensemble = untrained(SMALL, 2, samples=3)
    masks = frozen.masks(ensemble)["hidden.0"]
    flat = masks.reshape(6, -1)
    assert len(np.unique(flat, axis=0)) == 6
    np.testing.assert_array_equal(masks, frozen.masks(ensemble)["hidden.0"])
    assert not np.array_equal(masks, frozen.masks(replace(ensemble, sample_seed=1))["hidden.0"])


def test_a_member_keeps_its_masks_alone(untrained: Untrained) -> None:
    ensemble = untrained(SMALL, 3, samples=4)
    alone, together = frozen.masks(ensemble.select(slice(1, 2))), frozen.masks(ensemble)
    for name, array in alone.items():
        np.testing.assert_array_equal(array, together[name][1:2])


def test_what_is_not_sampled_has_no_masks(untrained: Untrained) -> None:
    ensemble = untrained(SMALL, 2, samples=4)
    assert frozen.masks(ensemble.plain()) == {}
    assert ensemble.plain().sampled(4).size == 8
    with pytest.raises(ValueError, match="nothing to sample"):
        replace(ensemble.plain(), samples=2)
