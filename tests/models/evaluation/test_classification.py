"""Files of class probabilities: figures against scikit-learn, measures of ensembles and singles, refusals."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics

from models.assessment.convention import PAPER
from models.evaluation import classification
from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import BadFile, ErrorOptions
from models.tasks.weather.data import predictions as weather


def arrays(members: int = 3, units: int = 60, classes: int = 9) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(classes), (members, units))
    return {"members": probabilities, "target": rng.integers(0, classes - 1, units)}


def saved(tmp_path: Path, fields: dict[str, np.ndarray]) -> Path:
    path = tmp_path / "c.npz"
    np.savez(path, **fields)
    return path


def test_figures_are_those_of_scikit_learn(tmp_path: Path) -> None:
    fields = arrays()
    document = evaluate(classification.read(saved(tmp_path, fields), ErrorOptions())).document()
    mean = fields["members"].mean(0)
    predicted = mean.argmax(1)
    assert document["accuracy"] == pytest.approx(metrics.accuracy_score(fields["target"], predicted))
    assert document["macro_f1"] == pytest.approx(metrics.f1_score(fields["target"], predicted, average="macro"))
    assert document["nll"] == pytest.approx(metrics.log_loss(fields["target"], mean, labels=range(9)))
    assert document["error"] == pytest.approx(1 - document["accuracy"])
    assert document["majority_accuracy"] == pytest.approx(np.bincount(fields["target"]).max() / 60)
    assert document["measure"] == "confidence"


def test_absent_classes_count_in_the_text_of_the_papers(tmp_path: Path) -> None:
    fields = arrays(members=1)
    fields["members"][..., 8] = 0  # neither predicted nor among the labels
    fields["members"] /= fields["members"].sum(2, keepdims=True)
    path = saved(tmp_path, fields)
    official = evaluate(classification.read(path, ErrorOptions())).document()["macro_f1"]
    paper = evaluate(classification.read(path, ErrorOptions(PAPER))).document()["macro_f1"]
    assert paper == pytest.approx(official * 8 / 9)


def test_a_correct_prediction_is_the_acceptable_one(tmp_path: Path) -> None:
    path = saved(tmp_path, arrays())
    for convention in (ErrorOptions(), ErrorOptions(PAPER)):
        judged = classification.read(path, convention)
        figures = evaluate(judged).full.headline
        accepted = 1 - judged.error.values.mean()
        whole = 2 * accepted / (1 + accepted)  # precision and recall with everything retained
        assert figures.f1_at_95 == pytest.approx(whole, abs=0.1)


@pytest.mark.parametrize(
    "rounded", [lambda p: np.round(p, 3), lambda p: p.astype(np.float16)], ids=["3 digits", "half"]
)
def test_rounded_probabilities_are_judged(tmp_path: Path, rounded: Callable[[np.ndarray], np.ndarray]) -> None:
    fields = arrays()
    path = saved(tmp_path, {**fields, "members": rounded(fields["members"])})
    document = evaluate(classification.read(path, ErrorOptions())).document()
    assert document["brier"] == pytest.approx(
        evaluate(classification.read(saved(tmp_path, fields), ErrorOptions())).full.own["brier"], rel=1e-2
    )


def test_nine_classes_are_precipitation_and_two_columns_temperature(tmp_path: Path) -> None:
    path = saved(tmp_path, arrays())
    assert weather.read(path, ErrorOptions()).error_name == "error_rate"
    path = saved(tmp_path, arrays(classes=4))
    with pytest.raises(BadFile, match=r"members has the shape \[3, 60, 4\]; \[M, N, 2\].* or .*\[M, N, 9\]"):
        weather.read(path, ErrorOptions())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"target": np.full(60, 9)}, r"target\[0\] is 9; classes are whole numbers 0 to 8"),
        ({"target": np.full(60, 0.5)}, r"target\[0\] is 0.5"),
        ({"members": np.full((3, 60, 9), 0.2)}, r"members\[0, 0\] sums to 1.8 over the classes"),
        ({"members": np.full((3, 60, 9), -0.1)}, r"members\[0, 0, 0\] is -0.1; a probability"),
        ({"members": np.full((3, 60, 9), np.nan)}, r"members\[0, 0, 0\] is nan"),
        ({"target": np.zeros(5, int)}, r"target has the shape \[5\]"),
    ],
)
def test_bad_files_are_refused_by_name_and_field(tmp_path: Path, change: dict, words: str) -> None:
    with pytest.raises(BadFile, match=f"c.npz: {words}"):
        classification.read(saved(tmp_path, {**arrays(), **change}), ErrorOptions())


def test_rows_rounded_far_give_no_likelihood_above_one(tmp_path: Path) -> None:
    path = saved(tmp_path, {"members": np.array([[[1.004, 0.0, 0.0]]]), "target": np.zeros(1, int)})
    own = evaluate(classification.read(path, ErrorOptions())).full.own
    assert (own["nll"], own["brier"]) == (0, 0)
