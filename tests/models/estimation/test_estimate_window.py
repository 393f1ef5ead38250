"""Judging a window: no input crashes it, and the document always is JSON."""

import json
from typing import Any

import numpy as np
import pytest

from models.assessment.convention import OFFICIAL, PAPER
from models.assessment.figures import Rules
from models.estimation.estimate_window import EstimationOptions, document, estimate_window
from models.estimation.weights import ESTIMATORS
from models.estimation.window import Window
from tests.statistical.streams import audited, delayed


def odd(seed: int) -> tuple[Window, EstimationOptions]:
    """A small window with whatever may be in a log, and a way to judge it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 60))
    scores = np.array([0.0, 1.0, 2.0, np.nan, np.inf, -np.inf, 1e300, -5.0])
    labelled = rng.random(n) < rng.random()
    error = np.where(labelled, rng.normal(size=n) * 10.0 ** rng.integers(-3, 4), np.nan)
    more: dict[str, Any] = {}
    if rng.random() < 0.5:
        more["age"] = rng.choice([0.0, 1.0, 5.0, 100.0], n)
        more["delay"] = np.where(labelled, rng.exponential(size=n), np.nan)
    if rng.random() < 0.3:
        more["requested"] = labelled | (rng.random(n) < 0.2)
    for name, values in (
        ("expected", [np.nan, 1.0, np.inf]),
        ("human_error", [np.nan, 1.0]),
        ("second", [np.nan, 0.5]),
    ):
        if rng.random() < 0.3:
            more[name] = rng.choice(values, n)
    window = Window(
        uncertainty=rng.choice(scores, n) if rng.random() < 0.3 else np.round(rng.normal(size=n), 1),
        answered=rng.random(n) < rng.choice([0, 0.5, 1]),
        propensity=rng.choice([0.0, 0.01, 0.5, 1.0, np.nan, 2.0, -1.0], n, p=[0.05, 0.3, 0.2, 0.3, 0.05, 0.05, 0.05]),
        labelled=labelled,
        error=np.abs(error) if rng.random() < 0.5 else error,
        **more,
    )
    options = EstimationOptions(
        acceptable=[None, 0.5, -1.0][seed % 3],
        estimator=ESTIMATORS[seed // 3 % 3],
        mode="exact" if rng.random() < 0.5 else "sketch",
        rules=Rules(PAPER if rng.random() < 0.3 else OFFICIAL),
        variance="window" if rng.random() < 0.5 else "population",
        thresholds=(0.0, np.inf, 1.0),
    )
    return window, options


@pytest.mark.long
def test_whatever_is_in_a_log_is_judged() -> None:
    for seed in range(400):
        window, options = odd(seed)
        json.dumps(document(estimate_window(window, options), options), allow_nan=False)


@pytest.mark.parametrize("mode", ["exact", "sketch"])
def test_delays_are_corrected_in_both_modes(mode: Any) -> None:
    truth = delayed(0, 60_000)
    report = document(estimate_window(truth.window, options := EstimationOptions(acceptable=1.0, mode=mode)), options)
    assert report["delay"]["corrected"]
    assert report["n"] + report["delay"]["early"] == 60_000
    as_it_is = estimate_window(truth.window, EstimationOptions(estimator="ht", delays=False)).figures
    assert as_it_is is not None
    assert report["r_auc"]["estimate"] > 1.15 * as_it_is.r_auc.estimate


def test_reasons_stand_beside_the_figures_not_in_their_place() -> None:
    window = audited(0, 5000, 0.02).window
    estimate = estimate_window(window, EstimationOptions(), lost=2)
    assert [reason.word for reason in estimate.gates.reasons] == ["gap", "few_labels"]
    assert estimate.figures is not None
    assert estimate.gates.texts[0].startswith("gap: 2 units were decided but are not logged")
