"""Differences between files: equal to those of the figures, with intervals that hold what they say."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from models.assessment.convention import OFFICIAL, PAPER
from models.assessment.figures import Rules
from models.evaluation import compare as module
from models.evaluation.compare import FIGURES, compare
from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import BadFile, ErrorColumn, UnitErrors


def judged(
    name: str, rng: np.random.Generator, errors: np.ndarray, noise: float, rules: Rules | None = None, digits: int = 9
) -> UnitErrors:
    shifted = errors > np.median(errors)
    uncertainty = np.round(errors + noise * rng.random(len(errors)), digits)
    column = ErrorColumn(errors, "1", 0.5)
    return UnitErrors("t", name, {"e": column}, {"u": uncertainty}, shifted=shifted, rules=rules or Rules())


@pytest.mark.parametrize("digits", [9, 1])
@pytest.mark.parametrize("rules", [Rules(), Rules(OFFICIAL, "trapezoid", released_groups_ties=False), Rules(PAPER)])
def test_differences_are_those_of_the_figures(rules: Rules, digits: int) -> None:
    rng = np.random.default_rng(0)
    errors = rng.random(300)
    files = [judged("a", rng, errors, 0.2, rules, digits), judged("b", rng, errors, 2.0, rules, digits)]
    differences = compare(files).differences["b"]
    first, other = (asdict(evaluate(file).full.headline) for file in files)
    assert set(differences) == set(FIGURES)
    for name, interval in differences.items():
        assert interval.difference == pytest.approx(other[name] - first[name], rel=1e-9, abs=1e-12), name
        assert interval.low <= interval.difference <= interval.high, name
    assert differences["r_auc"].low > 0, "the worse ranking is told apart"
    assert differences["prr"].high < 0


@pytest.mark.parametrize("rules", [Rules(), Rules(OFFICIAL, "trapezoid", released_groups_ties=False), Rules(PAPER)])
def test_a_resample_has_the_figures_of_its_units_written_out(rules: Rules) -> None:
    """Multiplicities over ranks made once, against the plain figures of the units drawn, ties and all."""
    rng = np.random.default_rng(1)
    file = judged("a", rng, rng.random(80), 1.0, rules, digits=1)
    drawn = np.sort(rng.integers(0, 80, 80))  # copies stand where their unit stood
    fast = module._Prepared.of(file).figures(np.bincount(drawn, minlength=80))
    column = replace(file.error, values=file.error.values[drawn])
    assert file.shifted is not None
    written_out = replace(
        file, errors={"e": column}, measures={"u": file.uncertainty[drawn]}, shifted=file.shifted[drawn]
    )
    slow = asdict(evaluate(written_out).full.headline)
    for name, value in fast.items():
        assert value == pytest.approx(slow[name], rel=1e-9), name


@pytest.mark.slow
def test_intervals_cover_the_truth_about_as_often_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two measures that are equally good: the difference of their R-AUC is zero in truth."""
    monkeypatch.setattr(module, "MOST_DRAWS", 200 * 150)
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(100):
        errors = rng.random(150)
        interval = compare([judged("a", rng, errors, 1.0), judged("b", rng, errors, 1.0)]).differences["b"]["r_auc"]
        covered += interval.low <= 0 <= interval.high
    assert 88 <= covered <= 100


def test_the_same_files_give_the_same_intervals() -> None:
    rng = np.random.default_rng(3)
    errors = rng.random(60)
    files = [judged("a", rng, errors, 0.1), judged("b", rng, errors, 1.0)]
    assert compare(files) == compare(files)


@pytest.mark.filterwarnings("error")
def test_figures_that_do_not_exist_are_left_out() -> None:
    rng = np.random.default_rng(5)
    files = [judged("a", rng, np.ones(4), 1.0), judged("b", rng, np.ones(4), 1.0)]
    assert set(compare(files).differences["b"]) == {"error", "r_auc", "augrc"}


def test_files_about_other_units_are_refused() -> None:
    rng = np.random.default_rng(4)
    first = judged("a", rng, rng.random(60), 0.1)
    with pytest.raises(BadFile, match="a has 60 units, b has 50"):
        compare([first, judged("b", rng, rng.random(50), 0.1)])
    labelled = replace(first, labels="x"), replace(first, source="b", labels="y")
    with pytest.raises(BadFile, match="a and b hold different labels"):
        compare(labelled)
    with pytest.raises(BadFile, match="disagree on which units are shifted"):
        compare([first, replace(first, source="b", shifted=~first.shifted)])  # type: ignore[operator]
