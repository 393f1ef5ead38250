"""Sufficient statistics: one length a predictive, and knowledge that is absent, never zero."""

import numpy as np

from models.predictive import Categorical, Gaussian, Sequences, Trajectories, Volumes


def gaussian(n: int, ensemble: bool = True) -> Gaussian:
    base = np.arange(n, dtype=np.float32)
    return Gaussian(base, base + 1, base + 2 if ensemble else None, base + 3 if ensemble else None)


def test_the_length_is_the_number_of_units() -> None:
    assert len(gaussian(4)) == 4
    assert len(Categorical(np.full((5, 3), 1 / 3, np.float32))) == 5
    assert len(Sequences(np.zeros((2, 5), np.float32))) == 2
    assert len(Trajectories(np.zeros((3, 5, 25, 2)), np.full((3, 5), 0.2), np.zeros(3))) == 3
    assert len(Volumes([np.zeros((2, 2)), np.zeros((3, 1))], [np.zeros((2, 2), bool)] * 2, np.zeros(2))) == 2


def test_total_variance_of_a_single_model_is_its_own() -> None:
    assert gaussian(3, ensemble=False).tvar.tolist() == [1, 2, 3]
    assert gaussian(3).tvar.tolist() == [3, 5, 7]
