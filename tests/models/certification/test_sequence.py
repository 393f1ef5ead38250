"""Fixed sequences: what is rejected, that one start is that of MAPIE, and that the level is never overspent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.certification.sequence import last_rejected, starts

p_lists = st.lists(st.floats(0, 0.2), min_size=1, max_size=12)


@given(p_lists)
def test_one_start_is_plain_fixed_sequence_testing(pvalues: list[float]) -> None:
    rejected = last_rejected(pvalues.__getitem__, [1.0] + [0.0] * (len(pvalues) - 1), 0.05)
    first_kept = next((index for index, p in enumerate(pvalues) if p > 0.05), len(pvalues))
    assert rejected == (first_kept - 1 if first_kept else None)


def test_one_start_is_that_of_mapie() -> None:
    fwer = pytest.importorskip("mapie.risk_control.fwer_control", reason="mapie is the oracle; install the dev extra")
    rng = np.random.default_rng(1)
    for _ in range(200):
        pvalues = rng.random(15) * 0.08
        theirs = fwer.control_fwer(pvalues, 0.05, "fixed_sequence")
        ours = last_rejected(pvalues.__getitem__, [1.0] + [0.0] * 14, 0.05)
        assert ours == (None if not len(theirs) else theirs[-1])


def test_a_later_start_goes_on_where_an_earlier_one_stopped() -> None:
    shares = [0.5, 0, 0.5, 0]
    assert last_rejected([0.9, 0.0, 0.02, 0.02].__getitem__, shares, 0.05) == 3
    assert last_rejected([0.9, 0.0, 0.04, 0.0].__getitem__, shares, 0.05) is None, "only its own share is left"
    assert last_rejected([0.02, 0.02, 0.04, 0.04].__getitem__, shares, 0.05) == 3, "what was carried adds up"


def test_tests_that_do_not_matter_are_not_made() -> None:
    tested: list[int] = []

    def pvalue(index: int) -> float:
        tested.append(index)
        return 0.5

    assert last_rejected(pvalue, [0, 1, 0, 0], 0.05) is None
    assert tested == [1]


@pytest.mark.parametrize("true", [[0], [3], [1, 4], [0, 2, 5], list(range(6))])
def test_true_hypotheses_are_rejected_with_probability_delta_at_most(true: list[int]) -> None:
    """With independent p-values, which are the worst for a sum of levels."""
    rng, runs, wrong = np.random.default_rng(5), 6000, 0
    for _ in range(runs):
        pvalues = np.zeros(6)
        pvalues[true] = rng.random(len(true))
        rejected, shares = set(), [0.3, 0.2, 0, 0.4, 0.1, 0]

        def pvalue(index: int, pvalues: np.ndarray = pvalues) -> float:
            return float(pvalues[index])

        for last in range(6):  # everything that is rejected, not the last one only
            if last_rejected(pvalue, shares[: last + 1], 0.05) == last:
                rejected.add(last)
        wrong += bool(rejected & set(true))
    assert wrong / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def test_starts_share_the_whole_level_and_leave_room_for_failures() -> None:
    expected = np.arange(10.0, 2001, 10)
    shares = starts(expected, 2000, 29)
    assert shares.sum() == pytest.approx(1)
    assert expected[np.flatnonzero(shares)].tolist() == [300, 900]
    assert expected[np.flatnonzero(starts(expected, 2000, 100))].tolist() == [400, 900]
    assert starts(expected, 2000, 5000)[-1] == pytest.approx(1), "with few units only the loosest has a chance"
