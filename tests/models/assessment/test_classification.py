"""Classification figures against scikit-learn, both readings of macro-F1, and what is refused."""

import math

import numpy as np
import pytest
from sklearn import metrics

from models.assessment import classification as cls
from models.assessment.convention import PAPER


def case(seed: int, rows: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels [N] and probabilities [N, C] that know something of them."""
    rng = np.random.default_rng(seed)
    labels = np.minimum(rng.geometric(0.4, rows) - 1, classes - 1)
    logits = rng.normal(size=(rows, classes)) + 1.5 * np.eye(classes)[labels]
    powers = np.exp(logits)
    return labels, powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("rows", "classes"), [(1, 1), (1, 3), (2, 9), (50, 2), (500, 9)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_figures_are_those_of_scikit_learn(seed: int, rows: int, classes: int) -> None:
    labels, probabilities = case(seed, rows, classes)
    predicted = probabilities.argmax(axis=1)
    assert cls.accuracy(labels, probabilities) == pytest.approx(metrics.accuracy_score(labels, predicted))
    macro = metrics.f1_score(labels, predicted, average="macro", zero_division=0)
    assert cls.macro_f1(labels, probabilities) == pytest.approx(macro, rel=1e-12)
    declared = metrics.f1_score(labels, predicted, average="macro", labels=range(classes), zero_division=0)
    assert cls.macro_f1(labels, probabilities, convention=PAPER) == pytest.approx(declared, rel=1e-12)
    if classes > 1:
        loss = metrics.log_loss(labels, probabilities, labels=range(classes))
        assert cls.nll(labels, probabilities).mean() == pytest.approx(loss, rel=1e-9)
    np.testing.assert_array_equal(cls.error_indicator(labels, probabilities), labels != predicted)
    np.testing.assert_allclose(
        cls.brier(labels, probabilities), np.square(probabilities - np.eye(classes)[labels]).sum(axis=1)
    )


def test_the_brier_score_of_two_classes_is_twice_that_of_one() -> None:
    labels, probabilities = case(5, 40, 2)
    binary_score = metrics.brier_score_loss(labels, probabilities[:, 1])
    assert cls.brier(labels, probabilities).mean() == pytest.approx(2 * binary_score)


def test_classes_and_probabilities_give_the_same_figures_and_the_first_of_equal_ones_decides() -> None:
    labels, probabilities = case(6, 30, 4)
    predicted = cls.predicted_classes(probabilities)
    assert cls.accuracy(labels, predicted) == cls.accuracy(labels, probabilities)
    assert cls.macro_f1(labels, predicted, 4, convention=PAPER) == cls.macro_f1(labels, probabilities, convention=PAPER)
    assert cls.predicted_classes(np.array([[0.2, 0.4, 0.4]], np.float32)).tolist() == [1]


def test_classes_that_never_occur_count_in_the_paper_reading_only() -> None:
    labels = np.array([0, 0, 1])
    assert cls.macro_f1(labels, labels) == 1
    assert cls.macro_f1(labels, labels, 9, convention=PAPER) == pytest.approx(2 / 9)
    assert cls.macro_f1(labels, np.array([0, 0, 3])) == pytest.approx(1 / 3), "predicted only: occurs, found never"


def test_the_majority_class_is_the_smallest_most_frequent_one() -> None:
    best = cls.majority(np.array([2, 2, 1, 1, 0]))
    assert (best.label, best.accuracy) == (1, pytest.approx(0.4))
    assert best.macro_f1 == pytest.approx(2 * 0.4 / 1.4 / 3)
    assert cls.majority(np.array([2, 2, 0]), 9, convention=PAPER).macro_f1 == pytest.approx(0.8 / 9)


def test_the_printed_macro_f1_are_not_two_readings_of_absent_classes() -> None:
    """Shifts 1.0, Table 9 in both files, %, of CatBoost, FT-Transformer and both (ensembles).

    Rows are dev in, shifted and full, then eval in, shifted and full. The readings differ by a number of ninths.
    """
    larger = np.array(
        [
            [51.0, 49.2, 51.4],
            [29.0, 35.5, 34.5],
            [45.6, 44.7, 46.4],
            [49.8, 46.3, 50.1],
            [28.8, 30.5, 30.4],
            [41.4, 39.6, 42.1],
        ]
    )
    smaller = np.array(
        [
            [42.3, 40.5, 42.4],
            [21.3, 21.6, 21.4],
            [37.2, 36.0, 37.3],
            [44.1, 38.2, 44.2],
            [22.2, 23.8, 22.3],
            [35.5, 32.1, 35.6],
        ]
    )
    least, most = (smaller - 0.05) / (larger + 0.05), (smaller + 0.05) / (larger - 0.05)  # what is printed is rounded
    ninths = np.arange(1, 10)[:, None, None] / 9
    assert ((ninths >= least) & (ninths <= most)).any(axis=0).sum() == 1
    majority = 2 * 0.379 / 1.379  # F1 of the class itself
    assert np.abs(majority / np.arange(1, 10) - 0.172).min() > 0.01


def test_an_impossible_label_costs_infinitely_much_and_a_sure_one_nothing() -> None:
    loss = cls.nll(np.array([0, 1]), np.array([[1.0, 0.0], [1.0, 0.0]], np.float32))
    assert loss.tolist() == [0.0, math.inf]
    assert not np.signbit(loss[0])


@pytest.mark.parametrize(
    ("labels", "prediction", "classes", "message"),
    [
        (np.array([0, 9]), np.full((2, 9), 1 / 9), None, r"labels\[1\] is 9, allowed is 0 to 8"),
        (np.array([0, -1]), np.array([0, 0]), None, r"labels\[1\] is -1"),
        (np.array([0, 0]), np.array([0, 3]), 3, r"prediction\[1\] is 3"),
        (np.array([0.0, 10.0]), np.array([0, 1]), None, "class codes"),
        (np.array([0]), np.array([[0.5, 0.4]]), None, r"probabilities\[0\] sums to 0.9"),
        (np.array([0]), np.array([[1.5, -0.5]]), None, "least value -0.5"),
        (np.array([0]), np.array([[np.nan, 1.0]]), None, "sums to nan"),
        (np.array([0]), np.array([[0.5, 0.5]]), 3, "classes is 3"),
        (np.array([0]), np.array([0, 1]), None, "N at least 1"),
        (np.zeros(0, int), np.zeros(0, int), None, "N at least 1"),
    ],
)
def test_a_wrong_class_is_refused_by_row_and_value(
    labels: np.ndarray, prediction: np.ndarray, classes: int | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        cls.accuracy(labels, prediction, classes)


def test_the_paper_reading_needs_the_number_of_classes() -> None:
    with pytest.raises(ValueError, match="classes is missing"):
        cls.macro_f1(np.array([0]), np.array([0]), convention=PAPER)
