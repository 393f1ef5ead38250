"""Gates: each thing that makes figures wrong has its word, and nothing else does."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from models.estimation.estimate_window import EstimationOptions, estimate_window
from models.estimation.exact import Exact
from models.estimation.gates import gates
from models.estimation.nonresponse import Completion
from models.estimation.window import Window
from tests.statistical.streams import audited


def words(window: Window, **also: int) -> set[str]:
    return {reason.word for reason in estimate_window(window, EstimationOptions(), **also).gates.reasons}


def changed(window: Window, where: np.ndarray, value: float) -> Window:
    return replace(window, propensity=np.where(where, value, window.propensity))


GOOD = audited(0, 50_000, 0.03).window
FIRST = np.arange(50_000) == int(np.flatnonzero(GOOD.answered & ~GOOD.labelled)[0])
BROKEN: dict[str, tuple[Callable[[], Window], set[str]]] = {
    "a missing propensity": (lambda: changed(GOOD, FIRST, np.nan), {"positivity"}),
    "a propensity above 1": (lambda: changed(GOOD, FIRST, 1.5), {"positivity"}),
    "no chance of a label": (lambda: changed(GOOD, ~GOOD.labelled & (GOOD.uncertainty < 0.1), 0.0), {"positivity"}),
    "propensities that were doubled": (lambda: changed(GOOD, GOOD.answered, 0.06), {"mismatch"}),
    "propensities that were halved": (lambda: changed(GOOD, GOOD.answered, 0.015), {"mismatch"}),
    "propensities wrong for a part": (
        lambda: changed(GOOD, GOOD.answered & (GOOD.uncertainty < 0.5), 0.06),
        {"mismatch"},
    ),
    "no audits": (lambda: replace(GOOD, labelled=~GOOD.answered), {"no_labels", "mismatch"}),
    "no reviews": (lambda: replace(GOOD, labelled=GOOD.labelled & GOOD.answered), {"no_labels", "incomplete"}),
    "few audits": (lambda: audited(1, 5000, 0.02).window, {"few_labels"}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_has_its_word(name: str) -> None:
    window, expected = BROKEN[name]
    actual = words(window())
    assert expected <= actual
    assert actual <= expected | {"positivity", "heavy_label"}


def test_a_good_window_is_valid() -> None:
    verdict = estimate_window(GOOD, EstimationOptions()).gates
    assert verdict.valid, verdict.texts
    weights = Exact(GOOD).coefficients[GOOD.labelled & GOOD.answered]
    assert verdict.ess == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_a_label_of_a_unit_without_a_chance_is_a_mismatch() -> None:
    there = np.arange(len(GOOD)) == int(np.flatnonzero(GOOD.answered & GOOD.labelled)[0])
    assert "mismatch" in words(changed(GOOD, there, 0.0))


def test_one_label_that_outweighs_the_others_is_named() -> None:
    there = np.arange(len(GOOD)) == int(np.flatnonzero(GOOD.answered & GOOD.labelled)[0])
    verdict = estimate_window(changed(GOOD, there, 1e-5), EstimationOptions()).gates
    assert "heavy_label" in {reason.word for reason in verdict.reasons}
    assert verdict.heaviest > 0.05


def test_a_census_needs_no_sample() -> None:
    whole = audited(2, 10, 0.5).whole
    verdict = estimate_window(whole, EstimationOptions()).gates
    assert verdict.valid, "ten units, all labelled: nothing was left to chance"
    assert verdict.ess > 5


def test_lost_units_and_empty_windows_are_said() -> None:
    assert words(GOOD, lost=3) == {"gap"}
    empty = GOOD.take(np.zeros(len(GOOD), bool))
    assert words(empty) == {"no_units"}
    young = gates(empty, np.empty(0), young=5)
    assert [reason.word for reason in young.reasons] == ["young"]


def test_valid_windows_are_seldom_called_invalid() -> None:
    verdicts = [estimate_window(audited(seed, 20_000, 0.05).window, EstimationOptions()).gates for seed in range(60)]
    assert sum(not verdict.valid for verdict in verdicts) == 0, [
        verdict.texts for verdict in verdicts if not verdict.valid
    ]


@pytest.mark.parametrize(("labels", "found"), [(107, set()), (80, {"mismatch"})])
def test_fewer_audits_in_one_stratum_than_promised_may_be_chance(labels: int, found: set[str]) -> None:
    """150 were promised: 107 come by chance in one stratum of four thousand, and there are twenty a window."""
    stratum = Completion(True, 0.4, 0.5, 150, labels / 150, labels**0.5 / 150, known=False)
    reasons = gates(GOOD, Exact(GOOD, 1.0).coefficients, (stratum,)).reasons
    assert {reason.word for reason in reasons} == found
