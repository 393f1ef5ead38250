"""The paired sketch: as exact mode to 0.01 %, and the same whatever the order that things came in."""

import numpy as np
import pytest

from models.assessment.convention import OFFICIAL, PAPER
from models.assessment.figures import Rules
from models.estimation.edges import BINS, Edges
from models.estimation.exact import Exact
from models.estimation.figures import curves, live_figures
from models.estimation.sketch import Sketch
from models.estimation.weights import ESTIMATORS, Estimator
from models.estimation.window import BadWindow, Window
from tests.statistical.streams import Truth, audited
from tests.work import counted

FIGURES = ("r_auc", "f1_auc", "f1_at_95", "error", "answered_error", "mean_error", "system_error")


def filled(window: Window, edges: Edges | None = None, *, strict: bool = False) -> Sketch:
    sketch = Sketch(edges or Edges.of(window.uncertainty), 1.0, strict=strict)
    sketch.add_units(window.uncertainty, window.answered)
    there = window.labelled
    sketch.add_labels(window.uncertainty[there], window.answered[there], window.error[there], window.effective[there])
    return sketch


def negated(truth: Truth) -> Window:
    whole = truth.whole
    return Window(-np.exp(-whole.uncertainty), whole.answered, whole.propensity, whole.labelled, whole.error)


@pytest.mark.parametrize("rules", [Rules(), Rules(PAPER), Rules(OFFICIAL, released_area="trapezoid")])
@pytest.mark.parametrize("negative", [False, True])
def test_with_all_labels_it_is_within_a_hundredth_of_a_per_cent(rules: Rules, negative: bool) -> None:
    for seed in range(3):
        truth = audited(seed, 100_000, 0.01)
        window = negated(truth) if negative else truth.whole
        figures = live_figures(filled(window, strict=rules.convention.strict_limit).view("ht", rules))
        known = live_figures(Exact(window, 1.0, rules).view("ht"))
        for name in FIGURES:
            assert getattr(figures, name).estimate == pytest.approx(getattr(known, name).estimate, rel=1e-4), name
        assert figures.r_auc_optimal == pytest.approx(known.r_auc_optimal, rel=2e-3)
        assert figures.f1_auc_optimal == pytest.approx(known.f1_auc_optimal, rel=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_with_some_labels_figures_and_intervals_are_those_of_exact_mode(estimator: Estimator) -> None:
    """HT differs by where a bin ends; Hájek and AIPW also learn from bins, which single points of a curve show most."""
    most = 0.3 if estimator == "ht" else 0.45
    truth = audited(3, 200_000, 0.02)
    view, exact = filled(truth.window).view(estimator), Exact(truth.window, 1.0).view(estimator)
    figures, known = live_figures(view), live_figures(exact)
    for name in FIGURES:
        ours, theirs = getattr(figures, name), getattr(known, name)
        assert abs(ours.estimate - theirs.estimate) < 0.2 * theirs.se, name
        assert ours.se == pytest.approx(theirs.se, rel=0.03), name
        assert ours.high - ours.low == pytest.approx(theirs.high - theirs.low, rel=0.04), name
    for band, other in zip(curves(view), curves(exact), strict=True):
        assert band is not None
        assert other is not None
        difference = np.abs(band.estimate - other.estimate)
        assert np.all(difference <= most * other.se + 2e-4)
        assert np.median(difference[1:] / other.se[1:]) <= 0.1
        assert np.allclose(band.se[5:], other.se[5:], rtol=0.06)


def test_few_values_are_exact() -> None:
    whole = audited(4, 50_000, 0.02).whole
    window = Window(np.round(whole.uncertainty, 1), whole.answered, whole.propensity, whole.labelled, whole.error)
    figures, known = (live_figures(view) for view in (filled(window).view(), Exact(window, 1.0).view()))
    assert figures.r_auc.estimate == pytest.approx(known.r_auc.estimate, rel=1e-12)
    shared = live_figures(Exact(window, 1.0, Rules(PAPER)).view())
    of_paper = live_figures(filled(window, strict=True).view("ht", Rules(PAPER)))
    assert of_paper.f1_auc.estimate == pytest.approx(shared.f1_auc.estimate, rel=1e-12)
    assert of_paper.f1_at_95.estimate == pytest.approx(shared.f1_at_95.estimate, rel=1e-12)


def test_64_shards_in_any_order_are_one_stream() -> None:
    window = audited(5, 100_000, 0.05).window
    whole = filled(window)
    rng = np.random.default_rng(5)
    shard = rng.integers(0, 64, len(window))
    merged = Sketch(whole.edges, 1.0)
    for number in rng.permutation(64):
        merged.merge(filled(window.take(shard == number), whole.edges))
    np.testing.assert_array_equal(merged.units, whole.units)
    np.testing.assert_array_equal(merged.labels, whole.labels)
    assert merged.sampled == whole.sampled
    np.testing.assert_allclose(merged.sums, whole.sums, rtol=1e-9)
    figures, known = live_figures(merged.view()), live_figures(whole.view())
    for name in FIGURES:
        assert getattr(figures, name).estimate == pytest.approx(getattr(known, name).estimate, rel=1e-9)


def test_a_correction_takes_the_old_label_away() -> None:
    window = audited(6, 20_000, 0.1).window
    there = np.flatnonzero(window.labelled)
    wrong = np.where(np.arange(len(window)) % 3 == 0, 1000.0, window.error)
    sketch = filled(Window(window.uncertainty, window.answered, window.propensity, window.labelled, wrong))
    bad = there[there % 3 == 0]
    where = window.uncertainty[bad], window.answered[bad]
    sketch.remove_labels(*where, wrong[bad], window.propensity[bad])
    sketch.add_labels(*where, window.error[bad], window.propensity[bad])
    known = filled(window)
    np.testing.assert_array_equal(sketch.labels, known.labels)
    assert live_figures(sketch.view()).r_auc.estimate == pytest.approx(
        live_figures(known.view()).r_auc.estimate, rel=1e-9
    )


def test_human_errors_enter_the_system_error_only() -> None:
    window = audited(7, 10_000, 0.1).window
    human = np.where(window.answered, np.nan, 0.25)
    sketch = Sketch(Edges.of(window.uncertainty))
    sketch.add_units(window.uncertainty, window.answered)
    there = window.labelled
    sketch.add_labels(
        window.uncertainty[there], window.answered[there], window.error[there], window.effective[there], human[there]
    )
    figures = live_figures(sketch.view("ht"))
    assert figures.system_error.estimate == pytest.approx(figures.error.estimate + 0.25 * (~window.answered).mean())


def test_bytes_are_the_sketch() -> None:
    sketch = filled(audited(8, 10_000, 0.1).window)
    again = Sketch.from_bytes(sketch.to_bytes())
    assert live_figures(again.view()) == live_figures(sketch.view())
    assert again.edges.identity == sketch.edges.identity
    for data in (b"", b"something", sketch.to_bytes()[:-1], sketch.to_bytes() + b"0"):
        with pytest.raises(BadWindow, match="no sketch"):
            Sketch.from_bytes(data)


def test_sketches_that_do_not_fit_are_not_added() -> None:
    window = audited(9, 1000, 0.5).window
    sketch = filled(window)
    with pytest.raises(BadWindow, match="edges"):
        sketch.merge(Sketch(Edges.of(window.uncertainty + 1), 1.0))
    with pytest.raises(BadWindow, match="limits 1.0 and 2.0"):
        sketch.merge(Sketch(sketch.edges, 2.0))
    with pytest.raises(BadWindow, match="strict"):
        sketch.view("ht", Rules(PAPER))
    with pytest.raises(BadWindow, match="no units"):
        Sketch(sketch.edges).view()


@pytest.mark.parametrize(
    ("error", "probability"), [(np.nan, 1.0), (np.inf, 1.0), (1.0, 0.0), (1.0, np.nan), (1.0, 2.0)]
)
def test_a_label_that_cannot_be_weighted_is_refused_and_leaves_nothing(error: float, probability: float) -> None:
    sketch = filled(audited(10, 1000, 0.5).window)
    before = sketch.to_bytes()
    with pytest.raises(BadWindow):
        sketch.add_labels(np.ones(1), np.ones(1, bool), np.array([error]), np.array([probability]))
    assert sketch.to_bytes() == before


def test_edges_part_at_thresholds_and_hold_everything() -> None:
    edges = Edges.of(np.array([3.0, 1.0, 2.0, np.nan], np.float32))
    place = {float(value): number for number, value in enumerate(edges.values)}
    bins = edges.bins(np.array([1.0, 1.5, 2.0, 3.0, -1e30, 1e30, np.inf, -np.inf, np.nan]))
    assert bins[0] == place[1.0]
    assert bins[1] == bins[2] == place[2.0]
    assert bins[3] == place[3.0]
    assert bins[4] == bins[7] == 0
    assert bins[5] == bins[6] == len(edges) - 2
    assert bins[8] == len(edges) - 1
    counts = np.bincount(bins, minlength=len(edges)).astype(float)
    np.testing.assert_array_equal(edges.below(np.array([1.0, 2.0, 3.0, np.inf]), counts), [3, 5, 6, 8])


def test_edges_are_at_most_512_bins_of_any_measure() -> None:
    rng = np.random.default_rng(11)
    samples = (rng.lognormal(0, 3, 10**5), -rng.random(10**5), np.zeros(5), rng.normal(0, 1e30, 10**4), np.array([7.0]))
    for sample in samples:
        assert 3 < len(Edges.of(sample)) <= BINS
    assert Edges.of(samples[0]).identity != Edges.of(samples[1]).identity
    with pytest.raises(BadWindow, match="no finite"):
        Edges.of(np.array([np.nan]))
    with pytest.raises(BadWindow, match="ascending"):
        Edges(np.array([1, 1], np.float32))


def test_a_shifted_stream_still_has_bins() -> None:
    """Uncertainty three times that of the sample: most lies in the upper part, and the figures are still near."""
    truth = audited(12, 100_000, 0.01)
    edges = Edges.of(truth.window.uncertainty)
    whole = truth.whole
    window = Window(whole.uncertainty * 3, whole.answered, whole.propensity, whole.labelled, whole.error)
    figures, known = (live_figures(view) for view in (filled(window, edges).view(), Exact(window, 1.0).view()))
    assert figures.r_auc.estimate == pytest.approx(known.r_auc.estimate, rel=2e-3)
    assert figures.f1_at_95.estimate == pytest.approx(known.f1_at_95.estimate, rel=2e-3)


def test_adding_and_asking_are_work_on_arrays() -> None:
    """60 ns a unit and 1 ms a view on a free core; a loop over units or bins would take many times that."""
    window = audited(13, 500_000, 0.01).window
    uncertainty = window.uncertainty.astype(np.float32)
    sketch = filled(window)
    with counted() as work:
        sketch.add_units(uncertainty, window.answered)
    assert work.lines < 500
    with counted() as work:
        live_figures(sketch.view())
    assert work.lines < 5_000
