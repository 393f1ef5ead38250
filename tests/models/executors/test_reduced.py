"""Members reduced to statistics: those of ``models.uncertainty``, whatever the passes, and finite at any variance."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from models import uncertainty
from models.executors.members import Joined, Members
from models.executors.reduced import Reduced
from models.predictive import Categorical, Gaussian
from models.tasks.weather.spec import CLASSES, HEADS, PRECIPITATION, TEMPERATURE
from models.uncertainty import categorical, gaussian

LARGEST = float(np.finfo(np.float32).max)
GAUSSIAN, CATEGORICAL = ("tvar", "varm", "mvar", "epkl", "variance"), ("confidence", "entropy", "mi", "epkl", "rmi")


class Said:
    """An executor whose rows [n, 1] are the numbers of what is said of them."""

    def __init__(self, temperature: NDArray[np.float32], precipitation: NDArray[np.float32]) -> None:
        """[M, N, 2] and [M, N, C]."""
        self.heads = ("temperature", "precipitation")
        self.said = {"temperature": temperature, "precipitation": precipitation}
        self.asked: list[int] = []

    @property
    def rows(self) -> NDArray[np.float32]:
        return np.arange(self.said["temperature"].shape[1], dtype=np.float32)[:, None]

    def __call__(self, rows: NDArray[np.float32]) -> Members:
        self.asked.append(len(rows))
        return {head: values[:, rows[:, 0].astype(int)] for head, values in self.said.items()}


def drawn(members: int, count: int, seed: int = 0) -> Said:
    draw = np.random.default_rng(seed)
    warm = np.stack([draw.normal(8, 9, (members, count)), draw.gamma(2, 1, (members, count))], axis=-1)
    wet = draw.dirichlet(np.full(CLASSES, 0.3), (members, count))
    return Said(warm.astype(np.float32), wet.astype(np.float32))


@pytest.mark.parametrize("members", [1, 2, 7])
def test_statistics_are_those_of_the_measures_own_module(members: int) -> None:
    executor = drawn(members, 50)
    reduced = Reduced(executor, HEADS, ensemble=members > 1)
    predictives, member_arrays = reduced.read(reduced(executor.rows))
    warm, wet = predictives["temperature"], predictives["precipitation"]
    assert isinstance(warm, Gaussian)
    assert isinstance(wet, Categorical)
    known = gaussian.predictive(executor.said["temperature"][..., 0], executor.said["temperature"][..., 1])
    for name in ("mean", "mvar", "varm", "epkl"):
        _same(getattr(warm, name), getattr(known, name))
    classes = categorical.predictive(executor.said["precipitation"])
    for name in ("probabilities", "expected_entropy", "expected_log"):
        _same(getattr(wet, name), getattr(classes, name))
    assert member_arrays == {"temperature": (), "precipitation": ()}
    measures = {"temperature": GAUSSIAN, "precipitation": CATEGORICAL}
    for head, predictive in predictives.items():
        for measure in measures[head]:
            if members == 1 and measure in ("varm", "epkl", "mi", "rmi"):
                with pytest.raises(uncertainty.MeasureAbsent):
                    uncertainty.score(predictive, measure)
                continue
            exact = uncertainty.score(known if head == "temperature" else classes, measure)
            scores = uncertainty.score(predictive, measure)
            assert scores.dtype == np.float32
            np.testing.assert_allclose(scores, exact, rtol=2e-6, atol=2e-6)


def _same(actual: NDArray[np.float32] | None, exact: NDArray[np.float64] | None) -> None:
    if exact is None:
        assert actual is None
        return
    assert actual is not None
    assert actual.dtype == np.float32
    np.testing.assert_array_equal(actual, exact.astype(np.float32))


def test_a_single_model_among_several_heads_has_no_knowledge() -> None:
    assert Reduced(drawn(1, 3), HEADS, ensemble=False).outputs == (
        "temperature.mean",
        "temperature.mvar",
        "precipitation.probabilities",
    )


def test_outputs_are_named_in_the_order_of_the_arrays_and_members_come_last() -> None:
    executor = drawn(3, 5)
    plain, full = (Reduced(executor, HEADS, ensemble=True, members=members) for members in (False, True))
    assert plain.outputs == tuple(
        [f"temperature.{name}" for name in ("mean", "mvar", "varm", "epkl")]
        + [f"precipitation.{name}" for name in ("probabilities", "expected_entropy", "expected_log")]
    )
    own = ("temperature.member_mean", "temperature.member_var", "precipitation.member_probabilities")
    assert full.outputs == (*plain.outputs, *own)
    arrays = full(executor.rows)
    shapes = dict(zip(full.outputs, (array.shape for array in arrays), strict=True))
    assert shapes["temperature.mean"] == (5,)
    assert shapes["precipitation.probabilities"] == shapes["precipitation.expected_log"] == (CLASSES, 5)
    assert shapes["precipitation.member_probabilities"] == (3, CLASSES, 5)
    for values, other in zip(plain(executor.rows), arrays[: len(plain.outputs)], strict=True):
        np.testing.assert_array_equal(values, other)
    with_members, by_head = plain.read(arrays)  # as the service reads both with one
    assert [array.shape for array in by_head["temperature"]] == [(3, 5), (3, 5)]
    np.testing.assert_array_equal(by_head["temperature"][1], executor.said["temperature"][..., 1])
    np.testing.assert_array_equal(by_head["precipitation"][0].transpose(0, 2, 1), executor.said["precipitation"])
    assert set(with_members) == {"temperature", "precipitation"}


@pytest.mark.parametrize("heads", [(TEMPERATURE,), (PRECIPITATION,), HEADS[::-1]])
def test_any_heads_in_any_order(heads: tuple[object, ...]) -> None:
    executor = drawn(2, 4)
    reduced = Reduced(executor, heads, ensemble=True, members=True)  # type: ignore[arg-type]
    predictives, member_arrays = reduced.read(reduced(executor.rows))
    assert list(predictives) == list(member_arrays) == [head.name for head in heads]  # type: ignore[attr-defined]
    if "precipitation" in predictives:
        np.testing.assert_allclose(predictives["precipitation"].probabilities.sum(axis=1), 1, rtol=1e-6)  # type: ignore[attr-defined]


@given(st.lists(st.integers(0, 40), max_size=6), st.booleans())
def test_passes_join_along_the_last_axis(cuts: list[int], members: bool) -> None:
    """The scheduler cuts and joins rows of many requests as it likes."""
    executor = drawn(3, 40)
    reduced = Reduced(executor, HEADS, ensemble=True, members=members)
    whole = reduced(executor.rows)
    ends = sorted({0, 40, *cuts})
    parts = [reduced(executor.rows[start:end]) for start, end in pairwise(ends)]
    for array, *pieces in zip(whole, *parts, strict=True):
        assert array.flags.c_contiguous
        np.testing.assert_array_equal(array, np.concatenate(pieces, axis=-1))


def test_golden_inputs_are_answered_by_name() -> None:
    executor = drawn(2, 6)
    reduced = Reduced(executor, HEADS, ensemble=True)
    varm, mean = reduced.run({"rows": executor.rows.astype(np.float64)}, ("temperature.varm", "temperature.mean"))
    arrays = dict(zip(reduced.outputs, reduced(executor.rows), strict=True))
    np.testing.assert_array_equal(varm, arrays["temperature.varm"])
    np.testing.assert_array_equal(mean, arrays["temperature.mean"])


variances = st.sampled_from([1e-38, 1e-16, 1e-8, 1.0, 1e16, 1e37, LARGEST])
means = st.sampled_from([0.0, -5.0, 30.0, 1e10, -1e18, 1e19, LARGEST, -LARGEST])


@given(hnp.arrays(np.float64, (3, 4), elements=means), hnp.arrays(np.float64, (3, 4), elements=variances))
def test_every_measure_of_extreme_variances_is_finite(mean: NDArray[np.float64], variance: NDArray[np.float64]) -> None:
    """Released models reach 1e-16 and 1e37, and one row may have members of both."""
    executor = drawn(3, 4)
    executor.said["temperature"] = np.stack([mean, variance], axis=-1).astype(np.float32)
    reduced = Reduced(executor, HEADS, ensemble=True, members=True)
    arrays = reduced(executor.rows)
    assert all(np.isfinite(array).all() for array in arrays)
    warm = reduced.read(arrays)[0]["temperature"]
    for measure in GAUSSIAN:
        scores = uncertainty.score(warm, measure)
        assert np.isfinite(scores).all(), measure
        assert (scores >= 0).all() or measure == "epkl"


def test_what_float32_holds_keeps_its_order() -> None:
    """Saturation is for what is beyond; 1e37 and 2e37 do not become one."""
    tiny, huge = np.array([1e-16, 2e-16], np.float32), np.array([1e37, 2e37], np.float32)
    variance = np.concatenate([tiny, huge])
    executor = drawn(2, 4)
    executor.said["temperature"] = np.stack([np.zeros((2, 4), np.float32), np.stack([variance] * 2)], axis=-1)
    reduced = Reduced(executor, HEADS, ensemble=True)
    warm = reduced.read(reduced(executor.rows))[0]["temperature"]
    for measure in ("tvar", "mvar"):
        np.testing.assert_allclose(uncertainty.score(warm, measure), variance, rtol=1e-6)


def test_the_quantum_follows_the_duration_of_a_row() -> None:
    executor = drawn(2, 40)
    reduced = Reduced(executor, HEADS, ensemble=True)
    assert reduced.quantum_rows == 1024
    reduced.measure(executor.rows)
    assert reduced.seconds(1) > 0
    assert reduced.seconds(1000) > reduced.seconds(1)
    assert 1 <= reduced.quantum_rows <= 1024
    assert reduced.quantum_rows & (reduced.quantum_rows - 1) == 0


def test_joined_ensembles_are_members_side_by_side() -> None:
    first, other = drawn(2, 6, 1), drawn(3, 6, 2)
    joined = Joined((first, other))
    assert joined.heads == ("temperature", "precipitation")
    for head, values in joined(first.rows).items():
        np.testing.assert_array_equal(values, np.concatenate([first.said[head], other.said[head]]))


def test_a_head_that_one_part_lacks_is_not_a_head_of_the_whole() -> None:
    first, other = drawn(2, 6, 1), drawn(3, 6, 2)
    other.heads = ("temperature",)
    joined = Joined((first, other))
    assert joined.heads == ("temperature",)
    assert set(joined(first.rows)) == {"temperature"}
