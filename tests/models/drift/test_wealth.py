"""Wealth is a mixture of restarts with a fixed sum, whatever the cut, and combines as is proven."""

import math

import msgspec
import numpy as np
import pytest

from models.drift.wealth import Capital, alarmed, average, either, grow, mixed, product, start


def test_wealth_is_the_mixture_of_restarts_written_out() -> None:
    """Against a sum over restarts and strategies that is made from its definition."""
    rng = np.random.default_rng(0)
    gains = rng.normal(-0.1, 0.5, (30, 3))
    left = [1 / (1 + math.log(r)) for r in range(1, 32)]
    _, invested, cash = grow(start(3), gains)
    for blocks in (1, 2, 17, 30):
        wealth = left[blocks]
        for r in range(blocks):
            wealth += (left[r] - left[r + 1]) * np.exp(gains[r:blocks].sum(axis=0)).mean()
        assert mixed(invested, cash)[blocks - 1] == pytest.approx(math.log(wealth), abs=1e-12)


def test_bets_that_gain_nothing_keep_the_whole_capital() -> None:
    """The shares of all restarts and the cash sum to one."""
    capital, invested, cash = grow(start(4), np.zeros((100_000, 4)))
    assert mixed(invested, cash) == pytest.approx(np.zeros(100_000), abs=1e-9)
    assert cash[-1] == capital.log_cash == -math.log1p(math.log(100_001))
    assert start(4).log_cash == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_cut_of_a_stream_changes_no_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gains = rng.normal(-1, 3, (200, 5))
    whole, invested, _ = grow(start(5), gains)
    parts, capital = [], start(5)
    for part in np.split(gains, np.sort(rng.integers(0, 200, 6))):
        capital, some, _ = grow(capital, part)
        parts.append(some)
    assert capital == whole
    assert np.array_equal(np.concatenate(parts), invested)


def test_a_change_after_a_long_time_costs_the_log_of_the_time() -> None:
    """Each strategy lost everything for 20 000 blocks; then it wins 1 nat a block, and the price is ln(1/w_r)."""
    capital, _, _ = grow(start(1), np.full((20_000, 1), -5.0))
    _, invested, cash = grow(capital, np.ones((40, 1)))
    needed = 1 + int(np.flatnonzero(mixed(invested, cash) >= math.log(20))[0])
    price = math.log(20_000) + 2 * math.log1p(math.log(20_000))
    assert needed <= price + math.log(20) + 1


def test_capital_passes_through_json_from_its_first_moment() -> None:
    for blocks in (0, 3):
        capital, _, _ = grow(start(2), np.full((blocks, 2), 0.3))
        assert msgspec.json.decode(msgspec.json.encode(capital), type=Capital) == capital


def test_combined_wealth_is_what_it_says() -> None:
    one, two = math.log(8.0), math.log(0.5)
    assert average([one, two]) == pytest.approx(math.log(4.25))
    assert average([one, two], [1, 3]) == pytest.approx(math.log((8 + 1.5) / 4))
    assert average([one, two], [0, 2]) == pytest.approx(two)
    assert product([one, two]) == pytest.approx(math.log(4))
    assert either([one, two]) == pytest.approx(math.log((4.25 + 4) / 2))
    assert either([one]) == pytest.approx(one)


@pytest.mark.long
def test_combined_wealth_of_independent_streams_keeps_the_promise_and_sees_what_none_sees_alone() -> None:
    """400 runs of three streams; looks after each block. Fair coins, then coins that fall 55 of 100 times."""
    rng = np.random.default_rng(1)
    alarms = {0.5: {"one": 0, "either": 0}, 0.55: {"one": 0, "either": 0}}
    for rate, counts in alarms.items():
        for _ in range(400):
            paths = []
            for _ in range(3):
                heads = (rng.random(800) < rate).reshape(-1, 8, 1)
                bets = np.array([0.05, 0.1, 0.2])
                _, invested, cash = grow(start(3), np.log(np.where(heads, 1 + bets, 1 - bets)).sum(axis=1))
                paths.append(mixed(invested, cash))
            counts["one"] += max(paths[0]) >= math.log(20)
            counts["either"] += max(either(list(now)) for now in zip(*paths, strict=True)) >= math.log(20)
    assert alarms[0.5]["either"] <= 400 * 0.05 + 3 * math.sqrt(400 * 0.05 * 0.95)
    assert alarms[0.55]["either"] > 1.3 * alarms[0.55]["one"] > 0


def test_an_alarm_is_wealth_of_one_over_alpha() -> None:
    assert alarmed(math.log(20.0))
    assert not alarmed(math.log(19.99))
    assert alarmed(math.log(100.0), 0.01)
    for wrong in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="alpha"):
            alarmed(1.0, wrong)


def test_what_cannot_be_combined_is_refused() -> None:
    for weights in ([1.0], [1.0, -1.0], [0.0, 0.0], [1.0, math.nan]):
        with pytest.raises(ValueError, match="weights"):
            average([0.0, 0.0], weights)
    with pytest.raises(ValueError, match="weights"):
        average([])
    with pytest.raises(ValueError, match="at least one"):
        product([])
