"""Bodies of segments: what goes in comes out, in few bytes, and what is none is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.ledger.segments import Runs, histogram, join, pack, pack_histogram, unpack, unpack_histogram
from services.policy.decision import Decision

scores = st.floats(width=32, allow_nan=True, allow_infinity=True)


@st.composite
def some_runs(draw: st.DrawFn) -> Runs:
    counts = draw(st.lists(st.integers(1, 20), min_size=1, max_size=6))
    n, k = sum(counts), len(counts)
    decisions = draw(st.lists(st.sampled_from(list(Decision)), min_size=n, max_size=n))
    constant = draw(st.booleans())
    rates = draw(st.lists(st.floats(0, 1, width=32), min_size=n, max_size=n))
    return Runs(
        np.array(draw(st.lists(st.integers(0, 2**63), min_size=k, max_size=k)), np.uint64),
        np.array(counts, np.uint32),
        np.array(draw(st.lists(st.floats(0, 1e10), min_size=k, max_size=k))),
        np.array(draw(st.lists(scores, min_size=n, max_size=n)), np.float32),
        np.array(decisions, np.uint8),
        draw(st.floats(0, 1)) if constant else np.array(rates, np.float32),
    )


def assert_equal(first: Runs, other: Runs) -> None:
    for name in ("first", "count", "time", "uncertainty", "decisions"):
        np.testing.assert_array_equal(getattr(first, name), getattr(other, name))
    np.testing.assert_array_equal(first.propensities, other.propensities)


@given(some_runs())
def test_what_is_packed_is_unpacked(runs: Runs) -> None:
    assert_equal(unpack(pack(runs)), runs)


@pytest.mark.long
@given(st.lists(some_runs(), min_size=1, max_size=4))
def test_joined_runs_are_all_of_them(parts: list[Runs]) -> None:
    joined = unpack(pack(join(parts)))
    np.testing.assert_array_equal(joined.sequence, np.concatenate([part.sequence for part in parts]))
    np.testing.assert_array_equal(joined.times, np.concatenate([part.times for part in parts]))
    expected = np.concatenate([part.propensities for part in parts])
    np.testing.assert_allclose(joined.propensities, expected, rtol=1e-7, atol=1e-37)  # kept in float32


@given(some_runs(), st.data())
def test_a_body_that_was_cut_or_lengthened_is_refused(runs: Runs, data: st.DataObject) -> None:
    body = pack(runs)
    cut = data.draw(st.integers(0, len(body) - 1))
    for wrong in (body[:cut], body + b"\0", b"\xff" + body[1:]):
        with pytest.raises(ValueError, match="a segment's body of"):
            unpack(wrong)


def test_runs_of_more_units_than_there_are_scores_are_refused() -> None:
    """Their sequences would be made one by one, four billion of them for four wrong bytes."""
    runs = Runs(
        *(np.array([5], kind) for kind in ("u8", "u4", "f8")), *(np.ones(5, kind) for kind in ("f4", "u1")), 0.5
    )
    body = bytearray(pack(runs))
    assert len(unpack(bytes(body)).sequence) == 5
    count = len(body) - 5 * 4 - 4
    body[count : count + 4] = (2**32 - 1).to_bytes(4, "little")
    with pytest.raises(ValueError, match="runs of 4294967295 units, and scores of 5"):
        unpack(bytes(body))


def test_an_answered_unit_of_a_large_portion_takes_four_bytes() -> None:
    n = 100_000
    answered = np.full(n, Decision.ANSWER, np.uint8)
    runs = Runs(
        np.array([5], np.uint64),
        np.array([n], np.uint32),
        np.array([1.0]),
        np.zeros(n, np.float32),
        answered,
        0.01,
    )
    assert len(pack(runs)) <= 4 * n + 64


def test_a_histogram_counts_every_score_once() -> None:
    u = np.array([-1, 0, 0.5, 1, 1.5, 2, 3, np.nan, np.inf, np.nan], np.float32)
    counts = unpack_histogram(pack_histogram(histogram((0.0, 1.0, 2.0), u)))
    assert counts.tolist() == [2, 2, 2, 2, 2]
