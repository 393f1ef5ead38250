"""p-values are exact whatever the ties, wealth does not depend on how the stream is cut, and changes are found."""

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from models.drift import martingale
from models.drift.bins import Bins
from models.drift.martingale import BLOCK, Exchangeability, Watched
from models.drift.wealth import alarmed

EDGES = tuple(np.exp(0.8 * stats.norm.ppf(np.linspace(0.01, 0.99, 99))).tolist())
TEST = Exchangeability(Bins(EDGES), key=7)


def scores(rng: np.random.Generator, units: int) -> np.ndarray:
    return np.exp(rng.normal(0, 0.8, units)).astype(np.float32)


def p_values(bins: np.ndarray, of: int, theta: np.ndarray) -> np.ndarray:
    return martingale._ranked(np.zeros(of, np.int64), bins.astype(np.uint8), theta)[0]


def test_p_values_are_those_of_mapie() -> None:
    """Its definition, one unit after another, with the same tie-breaking numbers."""
    online = pytest.importorskip("mapie.exchangeability_testing").OnlineMartingaleTest
    rng = np.random.default_rng(1)
    bins, theta = rng.integers(0, 9, 700), rng.random(700)
    judge = online.__new__(online)
    expected = []
    for unit in range(1, 700):
        judge.rng = type("Fixed", (), {"uniform": lambda self, unit=unit: theta[unit]})()
        expected.append(judge.compute_p_value(float(bins[unit]), bins[:unit].astype(float)))
    assert p_values(bins, 9, theta)[1:] == pytest.approx(expected, abs=1e-15)


def test_p_values_and_their_complements_add_up() -> None:
    rng = np.random.default_rng(2)
    before = rng.integers(0, 50, 6)
    p, rest = martingale._ranked(before, rng.integers(0, 6, 900).astype(np.uint8), rng.random(900))
    assert p + rest == pytest.approx(np.ones(900), abs=1e-15)
    assert p.min() > 0
    assert rest.min() > 0


@pytest.mark.parametrize("law", ["continuous", "three values", "constant", "mostly one"])
def test_p_values_are_uniform_and_independent_under_any_ties(law: str) -> None:
    rng = np.random.default_rng(3)
    shares = {"three values": [0.2, 0.5, 0.3], "constant": [0, 1, 0], "mostly one": [0.98, 0.01, 0.01]}.get(law)
    bins = rng.integers(0, 100, 20_000) if shares is None else rng.choice(3, 20_000, p=shares)
    p = p_values(bins, 101, rng.random(20_000))
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(p[1:], p[:-1])[0, 1]) < 4 / math.sqrt(20_000)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 400), max_size=8), st.integers(0, 2**31))
def test_the_cut_of_a_stream_changes_no_bit(cuts: list[int], seed: int) -> None:
    stream = scores(np.random.default_rng(seed), 400)
    whole, path = TEST.path(TEST.start(), stream)
    watched, paths = TEST.start(), []
    for part in np.split(stream, sorted(cuts)):
        watched, some = TEST.path(watched, part)
        paths.append(some)
    assert watched == whole
    assert np.array_equal(np.concatenate(paths), path)
    assert watched.units == 400
    assert len(path) == 400 // BLOCK


def test_long_streams_in_odd_pieces_change_no_bit() -> None:
    stream = scores(np.random.default_rng(5), 100_000)
    watched = TEST.start()
    for first in range(0, len(stream), 9973):
        watched = TEST.update(watched, stream[first : first + 9973])
    assert watched == TEST.update(TEST.start(), stream)


def test_the_state_passes_through_json_and_goes_on_as_it_was() -> None:
    stream = scores(np.random.default_rng(6), 3000)
    for at in (0, 10, 1111):
        watched = TEST.update(TEST.start(), stream[:at])
        stored = msgspec.json.encode(watched)
        assert len(stored) < 8000
        read = msgspec.json.decode(stored, type=Watched)
        assert TEST.update(read, stream[at:]) == TEST.update(watched, stream[at:])
    assert msgspec.json.decode(msgspec.json.encode(TEST), type=Exchangeability) == TEST


def test_another_key_breaks_ties_otherwise_and_the_same_key_the_same() -> None:
    stream = scores(np.random.default_rng(7), 640)
    first = TEST.update(TEST.start(), stream)
    assert Exchangeability(TEST.bins, 7).update(TEST.start(), stream) == first
    assert Exchangeability(TEST.bins, 8).update(TEST.start(), stream).log_wealth != first.log_wealth


def test_constant_scores_and_scores_that_are_missing_are_quiet_until_they_change() -> None:
    for value in (0.7, np.nan, np.inf):
        watched = TEST.update(TEST.start(), np.full(20_000, value))
        assert not alarmed(watched.log_peak)
        assert math.isfinite(watched.log_wealth)
    missing = scores(np.random.default_rng(8), 5000)
    missing[::10] = np.nan
    after = TEST.update(TEST.update(TEST.start(), scores(np.random.default_rng(9), 20_000)), missing)
    assert alarmed(after.log_peak), "a tenth of the units lost their score"


@pytest.mark.parametrize("units", [0, 1, BLOCK - 1])
def test_less_than_a_block_is_kept_for_later(units: int) -> None:
    watched, path = TEST.path(TEST.start(), scores(np.random.default_rng(1), units))
    assert (watched.units, len(path), watched.log_wealth, watched.log_peak) == (units, 0, 0, 0)


@pytest.mark.parametrize("quiet", [2_000, 300_000])
@pytest.mark.parametrize(
    ("change", "median_units"),
    [(lambda u: 1.3 * u, 800), (lambda u: u / 1.3, 800), (lambda u: u**1.5, 1200)],
    ids=["higher", "lower", "wider"],
)
def test_a_change_is_found_soon_even_after_a_long_quiet_time(change, median_units: int, quiet: int) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(quiet)
    before = TEST.update(TEST.start(), scores(rng, quiet))
    assert not alarmed(before.log_peak)
    delays = []
    for _ in range(9):
        _, path = TEST.path(before, change(scores(rng, 20_000)))
        delays.append(BLOCK * (1 + np.flatnonzero(path >= math.log(20))[0]))
    assert np.median(delays) <= median_units


def test_traffic_that_differs_from_the_reference_from_the_start_is_quiet() -> None:
    """The trap: the bins are of another law, the stream is exchangeable with itself."""
    assert not alarmed(TEST.update(TEST.start(), 3 * scores(np.random.default_rng(10), 50_000)).log_peak)


def test_order_alone_is_found() -> None:
    """The units of a stream, sorted within each thousand, as days and nights are."""
    stream = np.sort(scores(np.random.default_rng(11), 20_000).reshape(-1, 1000), axis=1).ravel()
    assert alarmed(TEST.update(TEST.start(), stream).log_peak)


def test_what_is_no_stream_is_refused() -> None:
    with pytest.raises(ValueError, match="key"):
        Exchangeability(Bins(()), -1)
    with pytest.raises(ValueError, match="start anew"):
        Exchangeability(Bins(()), 1).update(TEST.start(), np.zeros(3))
    with pytest.raises(ValueError, match=r"shape \[n\]"):
        TEST.update(TEST.start(), np.zeros((3, 2)))
