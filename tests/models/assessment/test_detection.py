"""Telling shifted units: numbers of the released code and of scikit-learn."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics

from models.assessment import detection

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "ood_roc.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["seed"]))
def test_figures_are_those_of_the_released_code(case: dict) -> None:
    uncertainty = np.array([*case["in_scores"], *case["out_scores"]])
    shifted = np.arange(len(uncertainty)) >= len(case["in_scores"])
    assert detection.roc_auc(shifted, uncertainty) == pytest.approx(case["official_roc_auc"], rel=1e-9)
    assert detection.aupr(shifted, uncertainty) == pytest.approx(case["official_aupr"], rel=1e-9)


@pytest.mark.parametrize("decimals", [0, 1, 8])
@pytest.mark.parametrize("block", [7, 1 << 20])
def test_figures_are_those_of_scikit_learn(decimals: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "_BLOCK", block)  # a block's end may fall inside a group of ties
    rng = np.random.default_rng(decimals)
    shifted = rng.random(500) < 0.3
    uncertainty = np.round(rng.normal(size=500) + 0.7 * shifted, decimals)
    precision, recall, _ = metrics.precision_recall_curve(shifted, uncertainty)
    assert detection.roc_auc(shifted, uncertainty) == pytest.approx(metrics.roc_auc_score(shifted, uncertainty))
    assert detection.aupr(shifted, uncertainty) == pytest.approx(metrics.auc(recall, precision))


def test_one_domain_alone_has_nothing_to_tell_apart() -> None:
    for flags in (np.zeros(3, bool), np.ones(3, bool)):
        assert math.isnan(detection.roc_auc(flags, np.arange(3.0)))
        assert math.isnan(detection.aupr(flags, np.arange(3.0)))


def test_a_unit_without_a_score_is_the_most_uncertain() -> None:
    shifted = np.array([True, False, False])
    assert detection.roc_auc(shifted, np.array([np.nan, 1.0, np.inf])) == 1.0


def test_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        detection.roc_auc(np.zeros(2, bool), np.zeros(3))
