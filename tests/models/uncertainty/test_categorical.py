"""Members over classes: numbers of the released code, identities, and likelihoods of labels."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from models.uncertainty import categorical, score

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "classification_uncertainty.json").read_text())["cases"]
FUNCTIONS = {
    "entropy_of_expected": categorical.entropy_of_expected,
    "expected_entropy": categorical.expected_entropy,
    "mutual_information": categorical.mutual_information,
    "epkl": categorical.epkl,
    "reverse_mutual_information": categorical.reverse_mutual_information,
}
NAMES = {"entropy": "entropy_of_expected", "data_entropy": "expected_entropy", "mi": "mutual_information"} | {
    "epkl": "epkl",
    "rmi": "reverse_mutual_information",
}
EXACT = {"rtol": 1e-9, "atol": 1e-12}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"seed {case['seed']}")
def test_measures_are_those_of_the_released_code(case: dict) -> None:
    members = np.array(case["probs"])
    for name, function in FUNCTIONS.items():
        np.testing.assert_allclose(function(members), case["official_weather"][name], **EXACT, err_msg=name)
    np.testing.assert_allclose(categorical.confidence(members), case["official_mswml_confidence"], **EXACT)
    np.testing.assert_allclose(-categorical.confidence(members), case["official_weather"]["confidence"], **EXACT)
    expected = categorical.renyi_entropy_of_expected(members)
    np.testing.assert_allclose(expected, case["renyi_entropy_of_expected_alpha08"], **EXACT)
    entropies = categorical.renyi_expected_entropy(members)
    np.testing.assert_allclose(entropies, case["renyi_expected_entropy_alpha08"], **EXACT)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"seed {case['seed']}")
def test_the_predictive_scores_as_the_released_code(case: dict) -> None:
    prediction = categorical.predictive(np.array(case["probs"]))
    np.testing.assert_allclose(score(prediction, "confidence"), case["official_mswml_confidence"], **EXACT)
    np.testing.assert_allclose(score(prediction, "entropy"), case["official_weather"]["entropy_of_expected"], **EXACT)
    np.testing.assert_allclose(score(prediction, "renyi_entropy"), case["renyi_entropy_of_expected_alpha08"], **EXACT)
    if len(case["probs"]) > 1:
        for ours, theirs in NAMES.items():
            np.testing.assert_allclose(score(prediction, ours), case["official_weather"][theirs], **EXACT, err_msg=ours)
        renyi = score(prediction, "renyi_data_entropy")
        np.testing.assert_allclose(renyi, case["renyi_expected_entropy_alpha08"], **EXACT)


ensembles = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 6)), elements=st.floats(0, 1)
).map(lambda raw: (raw + 1e-6) / (raw + 1e-6).sum(axis=2, keepdims=True))


@given(ensembles)
def test_total_is_data_plus_knowledge_which_is_not_negative(members: np.ndarray) -> None:
    mi = categorical.mutual_information(members)
    total, data = categorical.entropy_of_expected(members), categorical.expected_entropy(members)
    np.testing.assert_allclose(total, data + mi, atol=1e-12)
    for measure in (mi, categorical.epkl(members), categorical.reverse_mutual_information(members)):
        assert (measure >= -1e-9).all()


@given(ensembles)
def test_the_order_of_members_does_not_matter(members: np.ndarray) -> None:
    for name, function in FUNCTIONS.items():
        np.testing.assert_allclose(function(members), function(members[::-1]), atol=1e-12, err_msg=name)


@given(ensembles)
def test_entropies_lie_between_none_and_that_of_equal_classes(members: np.ndarray) -> None:
    limit = math.log(members.shape[2])
    for entropy in (categorical.entropy, categorical.renyi_entropy):
        values = entropy(members)
        assert (values >= -1e-9).all()
        assert (values <= limit + 1e-9).all()


def test_a_certain_member_has_no_entropy_and_disagreement_is_bounded_by_the_epsilon() -> None:
    members = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    assert categorical.expected_entropy(members)[0] == pytest.approx(0, abs=1e-9)
    assert categorical.mutual_information(members)[0] == pytest.approx(math.log(2))
    assert categorical.epkl(members)[0] == pytest.approx(-0.5 * math.log(1e-10))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (np.array([[[2.0, -1.0]]]), "logits"),
        (np.array([[[2.0, 1.0]]]), "sum to 1, got 3"),
        (np.full((2, 2), 0.5), "classes"),
        (np.zeros((0, 2, 2)), "empty"),
    ],
)
def test_what_is_no_distribution_is_refused(members: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        categorical.predictive(members)


def test_no_units_have_statistics() -> None:
    assert len(categorical.predictive(np.zeros((2, 0, 3)))) == 0


@pytest.mark.parametrize("order", [1, 0, -2, math.nan])
def test_an_order_without_a_renyi_entropy_is_refused(order: float) -> None:
    with pytest.raises(ValueError, match="order"):
        categorical.renyi_entropy(np.array([0.5, 0.5]), order)
