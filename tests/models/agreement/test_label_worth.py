"""Worth of a label against the width of the estimate with and without it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from models.agreement.label_worth import label_worth
from models.estimation.exact import Exact
from models.estimation.figures import live_figures
from models.estimation.window import Window


def served(rng: np.random.Generator, n: int = 4000, labelled_share: float = 0.3, rates: tuple = (0.1,)) -> Window:
    """Window of a stream whose audits are drawn at rates that depend on the uncertainty, with some labels missing."""
    uncertainty = rng.lognormal(0.0, 0.5, n)
    answered = uncertainty <= np.quantile(uncertainty, 0.9)
    rate = np.asarray(rates)[(rng.random(n) * len(rates)).astype(int)]
    propensity = np.where(answered, rate, 1.0)
    requested = rng.random(n) < propensity
    labelled = requested & (rng.random(n) < labelled_share)
    return Window(uncertainty, answered, propensity, labelled, rng.gamma(2.0, uncertainty), requested=requested)


@pytest.mark.parametrize("figure", ["answered_error", "mean_error", "r_auc"])
def test_worth_is_what_a_label_narrows(figure: str) -> None:
    """Half width of the estimate itself, before and after a tenth more labels; the mean over forty draws of them."""
    rng = np.random.default_rng(0)
    window = served(rng, n=40_000)
    worth = label_worth(window, figure)  # type: ignore[arg-type]
    plane = window.answered
    waiting = np.flatnonzero(worth.narrowing * plane > 0)
    assert len(set(worth.narrowing[waiting].tolist())) == 1
    requested = window.known_requests[1]

    def half_width(labelled: np.ndarray) -> float:
        shares = [labelled[side].sum() / requested[side].sum() for side in (~plane, plane)]
        observed = replace(window, labelled=labelled, observation=np.where(plane, shares[1], shares[0]))
        return 1.959964 * getattr(live_figures(Exact(observed).view("hajek")), figure).se

    now, drawn, later = half_width(window.labelled), 100, []
    for _ in range(40):
        labelled = window.labelled.copy()
        labelled[rng.choice(waiting, drawn, replace=False)] = True
        later.append(now - half_width(labelled))
    assert worth.half_width == pytest.approx(now, rel=0.1)
    assert drawn * worth.narrowing[waiting[0]] == pytest.approx(np.mean(later), rel=0.25)


def test_a_label_of_few_is_worth_more() -> None:
    rng = np.random.default_rng(1)
    many, few = (served(rng, labelled_share=share) for share in (0.8, 0.1))
    assert label_worth(few, "answered_error").narrowing.max() > 10 * label_worth(many, "answered_error").narrowing.max()


def test_worth_does_not_follow_the_score() -> None:
    window = served(np.random.default_rng(2), rates=(0.05, 0.2))
    worth = label_worth(window, "answered_error")
    for propensity in (0.05, 0.2):
        own = worth.narrowing[(window.propensity == propensity) & (worth.narrowing > 0)]
        assert len(own) > 20
        assert np.ptp(own) == 0
    rare, frequent = (worth.narrowing[window.propensity == propensity].max() for propensity in (0.05, 0.2))
    assert rare > 2 * frequent


def test_deferred_units_do_not_count_in_the_answered_error() -> None:
    window = served(np.random.default_rng(3))
    assert not label_worth(window, "answered_error").narrowing[~window.answered].any()
    assert label_worth(window, "mean_error").narrowing[~window.answered].any()
    assert not label_worth(window, "system_error").narrowing[~window.answered].any()
    human = np.where(window.answered, np.nan, np.random.default_rng(4).exponential(size=len(window)))
    assert label_worth(replace(window, human_error=human), "system_error").narrowing[~window.answered].any()


def test_the_first_label_is_worth_the_estimate() -> None:
    window = served(np.random.default_rng(5), labelled_share=0.0)
    worth = label_worth(window, "answered_error")
    assert worth.half_width == math.inf
    assert worth.narrowing.max() == math.inf


def test_the_last_label_of_all_leaves_no_width() -> None:
    window = served(np.random.default_rng(6), rates=(1.0,), labelled_share=1.0)
    assert label_worth(window, "mean_error").half_width == 0
    labelled = window.labelled.copy()
    labelled[np.flatnonzero(window.answered)[0]] = False
    worth = label_worth(replace(window, labelled=labelled), "answered_error")
    assert worth.narrowing.max() == pytest.approx(worth.half_width)


def test_arguments_out_of_range_are_named() -> None:
    window = served(np.random.default_rng(7), n=10)
    with pytest.raises(ValueError, match="figure = 'f1_auc': must be one of"):
        label_worth(window, "f1_auc")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"waiting has the shape \[3\]"):
        label_worth(window, "error", waiting=np.ones(3, bool))
