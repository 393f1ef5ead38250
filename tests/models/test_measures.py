"""Measures against numbers of the released code, their identities, and what is absent."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from models import uncertainty
from models.predictive import Categorical, Gaussian
from models.uncertainty import MeasureAbsent, UnknownMeasure, score

FIXTURES = Path(__file__).parents[1] / "fixtures"
REGRESSION = json.loads((FIXTURES / "regression_uncertainty.json").read_text())["cases"]
CLASSIFICATION = json.loads((FIXTURES / "classification_uncertainty.json").read_text())["cases"]


def categorical(members: np.ndarray) -> Categorical:
    """The statistics of members [M, N, C]."""
    p = members.mean(axis=0)
    entropies = -(members * np.log(members + 1e-10)).sum(axis=2)
    statistics = (p, entropies.mean(axis=0), np.log(members + 1e-10).mean(axis=0))
    return Categorical(*(value.astype(np.float32) for value in statistics))


@pytest.mark.parametrize("case", REGRESSION, ids=lambda case: case["name"])
def test_variances_are_those_of_the_released_code(case: dict) -> None:
    members = np.array(case["preds_mean_var"], np.float32)
    means, variances = members[..., 0], members[..., 1]
    found = Gaussian(means.mean(axis=0), variances.mean(axis=0), means.var(axis=0))
    for measure in ("tvar", "mvar", "varm"):
        np.testing.assert_allclose(score(found, measure), case["official"][measure], rtol=1e-4, atol=1e-5)


OFFICIAL_NAMES = {
    "entropy": "entropy_of_expected",
    "data_entropy": "expected_entropy",
    "mi": "mutual_information",
    "epkl": "epkl",
    "rmi": "reverse_mutual_information",
}


@pytest.mark.parametrize("case", CLASSIFICATION, ids=lambda case: case["name"])
def test_class_measures_are_those_of_the_released_code(case: dict) -> None:
    found = categorical(np.array(case["probs"]))
    official = {name.lower(): values for name, values in case["official"].items()}
    np.testing.assert_allclose(score(found, "confidence"), -np.array(official["confidence"]), atol=1e-6)
    for ours, theirs in OFFICIAL_NAMES.items():
        np.testing.assert_allclose(score(found, ours), official[theirs], rtol=1e-4, atol=2e-5, err_msg=ours)


members_of_classes = hnp.arrays(
    np.float64, st.tuples(st.integers(2, 5), st.integers(1, 4), st.integers(2, 6)), elements=st.floats(0.01, 1)
).map(lambda raw: raw / raw.sum(axis=2, keepdims=True))


@given(members_of_classes)
def test_total_is_data_plus_knowledge_and_knowledge_is_not_negative(members: np.ndarray) -> None:
    found = categorical(members)
    total, data, mi = (score(found, name) for name in ("entropy", "data_entropy", "mi"))
    np.testing.assert_allclose(total, data + mi, atol=1e-5)
    for measure in ("mi", "epkl", "rmi"):
        assert (score(found, measure) >= -1e-5).all(), measure
    np.testing.assert_allclose(score(found, "epkl"), mi + score(found, "rmi"), atol=1e-4)


@given(members_of_classes)
def test_members_that_agree_know(members: np.ndarray) -> None:
    same = categorical(np.repeat(members[:1], 3, axis=0))
    for measure in ("mi", "epkl", "rmi"):
        np.testing.assert_allclose(score(same, measure), 0, atol=1e-5)


def test_larger_means_less_certain() -> None:
    sure, unsure = np.array([[0.98, 0.01, 0.01]]), np.array([[0.34, 0.33, 0.33]])
    for measure in ("confidence", "entropy"):
        one, other = (score(Categorical(p.astype(np.float32)), measure)[0] for p in (sure, unsure))
        assert one < other


def test_scores_are_float32() -> None:
    found = Gaussian(*(np.ones(2, np.float64) for _ in range(3)))
    for measure in ("tvar", "mvar", "varm", "variance"):
        assert score(found, measure).dtype == np.float32


def test_a_single_model_has_no_knowledge() -> None:
    gaussian = Gaussian(np.ones(2, np.float32), np.full(2, 3, np.float32))
    assert score(gaussian, "variance").tolist() == [3, 3]
    for measure in ("tvar", "varm", "epkl"):
        with pytest.raises(MeasureAbsent, match=measure):
            score(gaussian, measure)
    single = Categorical(np.full((2, 2), 0.5, np.float32))
    for measure in ("mi", "epkl", "rmi", "data_entropy"):
        with pytest.raises(MeasureAbsent):
            score(single, measure)


def test_unknown_measures_are_named_with_those_that_exist() -> None:
    with pytest.raises(UnknownMeasure, match=r"'mi' is not a measure of Gaussian.*'tvar'"):
        score(Gaussian(np.ones(1, np.float32), np.ones(1, np.float32)), "mi")
    assert uncertainty.names(Categorical) == tuple(sorted(uncertainty.names(Categorical)))
    for kind in (Gaussian, Categorical):
        assert uncertainty.names(kind)
