"""Ids are a sequence of text that is never written out."""

import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st

from demur import PredictionIds

runs = st.lists(
    st.tuples(
        st.integers(0, 2**64 - 1),
        st.builds(lambda a, n: range(a, a + n), st.integers(0, 2**40), st.integers(0, 6)),
    ),
    max_size=4,
)
ends = st.none() | st.integers(-20, 20)


def written(parts):
    return [f"{epoch:016x}-{number}" for epoch, numbers in parts for number in numbers]


@settings(deadline=None)
@given(runs, ends, ends, st.none() | st.integers(-5, 5).filter(bool))
def test_it_is_the_list_it_stands_for(parts, start, stop, step):
    ids, texts = PredictionIds(parts), written(parts)
    assert len(ids) == len(texts)
    assert list(ids) == texts
    assert ids == texts
    assert ids == tuple(texts)
    assert [ids[i] for i in range(-len(texts), len(texts))] == texts * 2
    part = ids[start:stop:step]
    assert isinstance(part, PredictionIds)
    assert list(part) == texts[start:stop:step]
    assert ids != [*texts, "x"]


@settings(deadline=None)
@given(runs, runs)
def test_joined_is_concatenation(first, second):
    joined = PredictionIds.joined([PredictionIds(first), PredictionIds(second)])
    assert joined == written(first) + written(second)


def test_a_million_cost_nothing():
    tracemalloc.start()
    ids = PredictionIds([(1, range(5, 5 + 10**6))])
    assert ids[-1] == "0000000000000001-1000004"
    assert len(ids[::2]) == 500_000
    assert ids == PredictionIds([(1, range(5, 5 + 10**6))])
    assert "999998 more" in repr(ids)
    assert tracemalloc.get_traced_memory()[1] < 20_000
    tracemalloc.stop()


def test_it_does_not_equal_text():
    assert PredictionIds([]) != ""
    assert PredictionIds([]) == []
