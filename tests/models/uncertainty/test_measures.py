"""The table of measures: what it refuses and why, dtypes, and one orientation."""

import numpy as np
import pytest

from models import uncertainty
from models.predictive import Categorical, Gaussian, Predictive, Sequences, Trajectories, Volumes
from models.uncertainty import MeasureAbsent, NeedsLabel, UnknownMeasure, score
from models.uncertainty.sequences import SCORES

KINDS = (Gaussian, Categorical, Sequences, Trajectories, Volumes)


def ensembles(dtype: type = np.float64) -> dict[type, Predictive]:
    """One predictive of three units of each kind, with everything that an ensemble has."""
    ones, lists = np.ones(3, dtype), np.full((3, 2), 0.5, dtype)
    maps = [np.full((2, 2), 0.5, dtype)] * 3
    return {
        Gaussian: Gaussian(ones, ones, ones, ones),
        Categorical: Categorical(lists, ones, -lists, ones),
        Sequences: Sequences(-lists, dict.fromkeys(SCORES, lists)),
        Trajectories: Trajectories(np.zeros((3, 2, 4, 2), dtype), lists, ones, lists, 2 * lists, lists, lists),
        Volumes: Volumes(maps, [voxels > 0 for voxels in maps], ones, ones, ones, ones),
    }


def singles() -> dict[type, Predictive]:
    """The same of a single model."""
    ones, lists = np.ones(3), np.full((3, 2), 0.5)
    maps = [lists] * 3
    return {
        Gaussian: Gaussian(ones, ones),
        Categorical: Categorical(lists),
        Sequences: Sequences(-lists),
        Trajectories: Trajectories(np.zeros((3, 2, 4, 2)), lists, ones, lists, lists),
        Volumes: Volumes(maps, [voxels > 0 for voxels in maps], ones),
    }


OF_A_SINGLE_MODEL = {
    Gaussian: {"tvar", "mvar", "variance", "entropy"},
    Categorical: {"confidence", "entropy", "renyi_entropy"},
    Sequences: {"nll"},
    Trajectories: {"request_uncertainty", "ma", "lq", "uq", "wcm", "bcm", "total_spread"},
    Volumes: {"entropy"},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_one_a_unit_in_the_dtype_of_the_statistics(kind: type, dtype: type) -> None:
    prediction = ensembles(dtype)[kind]
    assert uncertainty.names(kind)
    for name in uncertainty.names(kind):
        values = score(prediction, name)
        assert values.dtype == dtype, name
        assert values.shape == (len(prediction),) == (3,), name


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_model_has_its_own_measures_and_no_knowledge(kind: type) -> None:
    prediction = singles()[kind]
    for name in uncertainty.names(kind):
        if name in OF_A_SINGLE_MODEL[kind]:
            assert np.isfinite(score(prediction, name)).all(), name
        else:
            with pytest.raises(MeasureAbsent, match=f"{name} needs an ensemble"):
                score(prediction, name)


def test_different_units_do_not_tie_in_float64() -> None:
    close = np.array([1, 1 + 1e-12])
    assert score(Gaussian(np.zeros(2), close), "variance")[0] < score(Gaussian(np.zeros(2), close), "variance")[1]


def test_a_single_model_has_its_own_variance_for_the_total() -> None:
    single = Gaussian(np.ones(2, np.float32), np.full(2, 3, np.float32))
    assert score(single, "tvar").tolist() == score(single, "variance").tolist() == [3, 3]


def test_total_is_data_plus_knowledge() -> None:
    prediction = Gaussian(np.zeros(2), np.array([1.0, 2.0]), np.array([0.5, 0.25]))
    assert (
        score(prediction, "tvar").tolist()
        == (score(prediction, "mvar") + score(prediction, "varm")).tolist()
        == [1.5, 2.25]
    )
    volumes = Volumes([], [], np.array([0.5]), np.array([0.25]), np.array([0.75]), np.array([0.1]))
    assert [score(volumes, name)[0] for name in ("entropy", "data_entropy", "mi", "epkl", "rmi")] == [
        *(0.5, 0.25, 0.25, 0.75, 0.5)
    ]


def test_larger_means_less_certain() -> None:
    sure, unsure = np.array([[0.98, 0.01, 0.01]]), np.array([[0.34, 0.33, 0.33]])
    for measure in ("confidence", "entropy", "renyi_entropy"):
        assert score(Categorical(sure), measure)[0] < score(Categorical(unsure), measure)[0]
    likely, unlikely = Sequences(np.array([[-0.1]])), Sequences(np.array([[-3.0]]))
    assert score(likely, "nll")[0] < score(unlikely, "nll")[0]
    plans = np.zeros((2, 1, 1, 2))
    first, other = score(Trajectories(plans, np.ones((2, 1)), np.array([9.0, -9.0])), "request_uncertainty")
    assert first < other


def test_a_request_has_the_mean_over_its_hypotheses_and_log_probabilities_negated() -> None:
    values = {name: np.array([[1.0, 3.0]]) for name in SCORES}
    prediction = Sequences(np.array([[-1.0, -2.0]]), values)
    assert score(prediction, "nll").tolist() == [1.5]
    assert score(prediction, "log_prob").tolist() == [-2]
    assert all(score(prediction, name).tolist() == [2] for name in SCORES if name != "log_prob")


def test_unknown_measures_are_named_with_those_that_exist() -> None:
    with pytest.raises(UnknownMeasure, match=r"'mi' is not a measure of Gaussian.*'tvar'"):
        score(Gaussian(np.ones(1, np.float32), np.ones(1, np.float32)), "mi")
    for kind in KINDS:
        assert uncertainty.names(kind) == tuple(sorted(uncertainty.names(kind)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_diagnostic_that_needs_the_label_is_no_measure(kind: type) -> None:
    assert "ll_fu" not in uncertainty.names(kind)
    with pytest.raises(NeedsLabel, match=r"'ll_fu'.*needs the label.*demur evaluate.*'tvar'"):
        score(ensembles()[kind], "ll_fu")
    assert issubclass(NeedsLabel, UnknownMeasure)
