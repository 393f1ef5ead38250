"""Sufficient statistics: slices, joins, and knowledge that is absent, never zero."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.predictive import Categorical, Gaussian, concatenate


def gaussian(n: int, ensemble: bool = True) -> Gaussian:
    base = np.arange(n, dtype=np.float32)
    return Gaussian(base, base + 1, base + 2 if ensemble else None, base + 3 if ensemble else None)


def categorical(n: int) -> Categorical:
    return Categorical(np.full((n, 3), 1 / 3, np.float32), np.ones(n, np.float32), np.zeros((n, 3), np.float32))


@given(st.integers(1, 12), st.data())
def test_parts_join_to_the_whole(n: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, n))
    for whole in (gaussian(n), gaussian(n, ensemble=False), categorical(n)):
        joined = concatenate([whole.take(slice(0, cut)), whole.take(slice(cut, n))])
        assert len(joined) == n
        for name, array in vars(whole).items():
            if array is None:
                assert getattr(joined, name) is None
            else:
                np.testing.assert_array_equal(getattr(joined, name), array)


def test_taking_does_not_copy_and_one_part_is_itself() -> None:
    whole = gaussian(5)
    assert np.shares_memory(whole.take(slice(1, 3)).mean, whole.mean)
    assert concatenate([whole]) is whole


def test_total_variance_of_a_single_model_is_its_own() -> None:
    assert gaussian(3, ensemble=False).tvar.tolist() == [1, 2, 3]
    assert gaussian(3).tvar.tolist() == [3, 5, 7]


def test_an_ensemble_and_a_single_model_do_not_join() -> None:
    with pytest.raises(ValueError, match="varm exists in some parts only"):
        concatenate([gaussian(2), gaussian(2, ensemble=False)])
    with pytest.raises(ValueError, match="nothing to concatenate"):
        concatenate([])
