"""Sketches while labels are on their way."""

import numpy as np
import pytest

from models.estimation.edges import Edges
from models.estimation.figures import live_figures
from models.estimation.sketch import Sketch, observed
from models.estimation.window import BadWindow

N = 20_000


def drawn() -> tuple[Sketch, Sketch, np.ndarray]:
    """A sketch with propensities alone, one with what they are times G, and G by plane and bin."""
    source = np.random.default_rng(1)
    u = np.exp(source.normal(0, 0.8, N)).astype(np.float32)
    edges = Edges.of(u[:2000])
    answered = u < 2.0
    propensity = np.where(answered, 0.1, 1.0)
    g = 0.2 + 0.8 * source.random((2, len(edges)))
    bins = edges.bins(u)
    there = source.random(N) < propensity * g[(~answered).astype(int), bins]
    error = u * source.chisquare(1, N)
    plain, known = Sketch(edges, 4.0), Sketch(edges, 4.0)
    for sketch in (plain, known):
        sketch.add_units(u, answered)
    columns = (u[there], answered[there], error[there])
    e = propensity[there]
    plain.add_labels(*columns, e)
    known.add_labels(*columns, e * g[(~answered[there]).astype(int), bins[there]])
    return plain, known, g


def test_moments_are_those_of_labels_added_with_their_probability() -> None:
    plain, known, g = drawn()
    actual = observed(plain, g)
    assert (actual.units == known.units).all()
    assert (actual.labels == known.labels).all()
    assert actual.sampled == known.sampled
    for estimator in ("ht", "hajek", "aipw"):
        first, other = (live_figures(sketch.view(estimator)) for sketch in (actual, known))
        for name in ("r_auc", "f1_auc", "f1_at_95", "error", "mean_error"):
            assert getattr(first, name).estimate == pytest.approx(getattr(other, name).estimate, rel=1e-9)
            assert getattr(first, name).se == pytest.approx(getattr(other, name).se, rel=1e-6)


def test_certain_arrival_changes_nothing() -> None:
    plain, _, g = drawn()
    result = observed(plain, np.ones_like(g))
    assert result.sampled == plain.sampled
    np.testing.assert_allclose(result.sums, plain.sums, rtol=1e-9)
    np.testing.assert_allclose(result.sizes, plain.sizes, rtol=1e-12)


def test_bins_with_labels_need_a_probability() -> None:
    plain, _, g = drawn()
    with pytest.raises(BadWindow, match="probability of arrival"):
        observed(plain, np.zeros_like(g))
    with pytest.raises(BadWindow, match="shape"):
        observed(plain, g[0])
