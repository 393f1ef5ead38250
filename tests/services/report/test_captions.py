"""Sentences of the report and names of files."""

import math
from dataclasses import replace

import numpy as np
import pytest

from models.assessment.convention import OFFICIAL, PAPER
from models.assessment.figures import Rules
from models.evaluation.compare import Interval
from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import ErrorColumn, UnitErrors
from services.report import captions, naming
from services.report.comparison_section import reading
from services.report.curves import retention_curves


def said(errors: list[float], uncertainty: list[float], unit: str = "kW") -> str:
    column = ErrorColumn(np.array(errors), unit, None)
    judged = UnitErrors("generic", "f.csv", {"absolute_error": column}, {"u": np.array(uncertainty)})
    return captions.result(evaluate(judged), retention_curves(judged)["full"])


def test_the_result_is_a_sentence_with_the_mean_error_of_what_is_answered() -> None:
    errors = [*[1.0] * 95, *[21.0] * 5]
    assert said(errors, errors) == (
        "Answering the most certain 95\u202f% of 100 units cuts the mean absolute error from 2.000 to 1.000\u202fkW; "
        "ranking closes 100\u202f% of the gap between random and perfect."
    )


def test_a_harmful_ranking_is_called_so() -> None:
    errors = [*[1.0] * 95, *[21.0] * 5]
    sentence = said(errors, [-error for error in errors])
    assert "raises the mean absolute error" in sentence
    assert "worse than random (PRR −1.0000)" in sentence


def test_constant_errors_leave_nothing_to_rank() -> None:
    assert said([2.0] * 50, list(range(50))).endswith("leaves the mean absolute error at 2.000\u202fkW; all errors are equal, so there is nothing to rank.")  # fmt: skip # noqa: E501


def test_few_units_cannot_defer_one_in_twenty() -> None:
    assert said([2.0], [1.0]) == "The mean absolute error of 1 unit is 2.000\u202fkW: too few to defer one in twenty."


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["a/x.npz"], ["x.npz"]),
        (["a/x.npz", "b/y.npz"], ["x.npz", "y.npz"]),
        (["a/x.npz", "b/x.npz"], ["a/x.npz", "b/x.npz"]),
        (["x", "x"], ["x", "x (2)"]),
        (
            ["p" * 30 + digit + "q" * 20 + ".npz" for digit in "12"],
            ["…1" + "q" * 20 + ".npz", "…2" + "q" * 20 + ".npz"],
        ),
        (["bad\udcff\n.npz"], ["bad?\ufffd.npz"]),
    ],
)
def test_files_have_short_and_different_names(sources: list[str], expected: list[str]) -> None:
    assert naming.labels(sources) == expected


def test_long_names_keep_both_ends() -> None:
    (label,) = naming.labels(["the-beginning-" + "x" * 80 + "-the-end.npz"])
    assert len(label) <= naming.LONGEST_LABEL
    assert label.startswith("the-beginning")
    assert label.endswith("the-end.npz")


@pytest.mark.parametrize(
    ("figure", "low", "high", "says"),
    [
        ("error", -2, -1, "better"),
        ("error", 1, 2, "worse"),
        ("prr", 1, 2, "better"),
        ("prr", -2, -1, "worse"),
        ("prr", -1, 1, "not told apart"),
        ("prr", 0, 1, "not told apart"),
        ("f1_at_95", float("nan"), float("nan"), "not told apart"),
    ],
)
def test_an_interval_that_leaves_zero_out_says_which_is_better(figure: str, low: float, high: float, says: str) -> None:
    assert reading(figure, Interval((low + high) / 2, low, high)) == says


@pytest.mark.parametrize(
    ("figure", "says"),
    [
        ("cv", "better"),
        ("ndsc", "better"),
        ("voxel_r_aac", "worse"),
        ("minade", "worse"),
        ("ndsc_sd", "higher"),
        ("mwse", "higher"),
        ("r_auc_random", "higher"),
        ("sharpness", "higher"),
    ],
)
def test_what_a_rise_says_follows_the_table_of_figures(figure: str, says: str) -> None:
    assert reading(figure, Interval(2, 1, 3)) == says


def test_an_infinite_error_is_not_called_equal_to_the_others() -> None:
    sentence = said([*[1.0] * 99, math.inf], list(range(100)))
    assert "an error is infinite" in sentence
    assert "equal" not in sentence


def test_conventions_speak_of_the_figures_that_are_there() -> None:
    rules = Rules(PAPER, released_area="trapezoid", released_groups_ties=False)
    text = " ".join(captions.conventions(rules, ["macro_f1", "rmse"]))
    assert "Macro-F1 is the mean over all declared classes" in text
    assert "nDSC" not in text
    official = " ".join(captions.conventions(replace(rules, convention=OFFICIAL), ["ndsc", "lesion_f1"]))
    assert "nDSC is the harmonic mean" in official
    assert "at least one half" in official
    assert "units of equal uncertainty keep the order of the file" in official
