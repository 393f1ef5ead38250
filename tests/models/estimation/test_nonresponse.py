"""Requests without a label: counted where they are, and stood for by a second draw."""

from dataclasses import replace

import numpy as np
import pytest

from models.estimation.estimate_window import EstimationOptions, estimate_window
from models.estimation.exact import Exact
from models.estimation.figures import live_figures
from models.estimation.nonresponse import completion, pooled, second_phase
from models.estimation.window import BadWindow
from tests.statistical.streams import audited


def test_completion_is_counted_by_uncertainty() -> None:
    window = audited(0, 20_000, 0.1).window
    hard = ~window.answered & (window.uncertainty > np.quantile(window.uncertainty[~window.answered], 0.9))
    parts = completion(replace(window, labelled=window.labelled & ~hard))
    assert len(parts) == 10, "whether an audit was drawn is not known, so only the deferred are counted"
    assert [part.share for part in parts] == pytest.approx([1.0] * 9 + [0.0], abs=0.01)
    whole = pooled(parts)
    assert whole is not None
    assert whole.share == pytest.approx(0.9, abs=0.001)
    assert whole.short()
    assert not parts[0].short()


def test_logged_audits_that_were_not_done_are_seen() -> None:
    complete = audited(1, 50_000, 0.1).window
    window = replace(
        complete,
        requested=complete.labelled,
        labelled=complete.labelled & (~complete.answered | (np.arange(50_000) % 4 > 0)),
    )
    gates = estimate_window(window, EstimationOptions()).gates
    assert [reason.word for reason in gates.reasons] == ["incomplete"]
    assert "answered" in gates.reasons[0].text


@pytest.mark.long
def test_a_second_draw_stands_for_those_who_did_not_answer() -> None:
    """The worst third of the deferred is skipped; a fifth of it is brought in by all means."""
    estimates, truths, covered = [], [], []
    for seed in range(30):
        sample = audited(seed, 50_000, 0.05)
        window, rng = sample.window, np.random.default_rng(seed)
        skipped = ~window.answered & (sample.errors > np.quantile(sample.errors[~window.answered], 2 / 3))
        drawn = skipped & (rng.random(50_000) < 0.2)
        labelled = window.labelled & (~skipped | drawn)
        halfway = replace(window, labelled=labelled)
        judged = estimate_window(second_phase(halfway, skipped, np.full(50_000, 0.2)), EstimationOptions())
        assert judged.gates.valid, judged.gates.texts
        assert judged.figures is not None
        truth = live_figures(Exact(sample.whole).view("ht")).mean_error.estimate
        figure = judged.figures.mean_error
        estimates.append(figure.estimate / truth - 1)
        covered.append(figure.low <= truth <= figure.high)
        truths.append(live_figures(Exact(halfway).view("ht")).mean_error.estimate / truth - 1)
    assert abs(np.mean(estimates)) < max(0.01, 3 * np.std(estimates) / np.sqrt(30))
    assert np.mean(covered) > 0.8
    assert np.mean(truths) < -0.15, "without it the figure is silently wrong; the gate says so"


def test_a_second_draw_needs_its_probability() -> None:
    window = audited(2, 100, 0.5).window
    with pytest.raises(BadWindow, match="second propensity of the skipped unit 3 is 0;"):
        second_phase(window, np.arange(100) == 3, np.zeros(100))
    with pytest.raises(BadWindow, match="shape"):
        second_phase(window, np.zeros(99, bool), np.zeros(100))
