"""Density of training inputs: its limits hold, conditionals are those of the normal distribution, files are checked."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from models import npz
from models.familiarity import Familiarity, decode, departures, encode
from models.familiarity_fit import fit
from models.schema import Feature, Schema

RNG = np.random.default_rng(5)
COVARIANCE = np.array([[4.0, 1.8, 0.0], [1.8, 1.0, 0.0], [0.0, 0.0, 9.0]])
MEAN = np.array([10.0, -2.0, 100.0])
NONE = np.zeros(0, np.intp)


def schema(columns: int) -> Schema:
    names = "abcdefghijklmnopqrstuvwxyz"
    return Schema.of(Feature(names[i], "m", -1e6, 1e6, "a column", nullable=True) for i in range(columns))


def draw(count: int) -> np.ndarray:
    return RNG.multivariate_normal(MEAN, COVARIANCE, count).astype(np.float32)


def of_normal(**more: object) -> Familiarity:
    """One component: the normal distribution itself."""
    deviation = np.sqrt(np.diag(COVARIANCE))
    precision = np.linalg.inv(COVARIANCE / np.outer(deviation, deviation))
    known = Familiarity(
        mean=MEAN.astype(np.float32),
        deviation=deviation.astype(np.float32),
        projection=np.eye(3, dtype=np.float32),
        left_out=0.0,
        weights=np.ones(1, np.float32),
        centres=np.zeros((1, 3), np.float32),
        factors=np.linalg.cholesky(precision).astype(np.float32)[None],
        row_limit=10.0,
        request_sizes=(),
        request_limits=(),
    )
    return replace(known, **more)  # type: ignore[arg-type]


def test_a_score_is_the_negative_log_density() -> None:
    rows = draw(200)
    expected = -stats.multivariate_normal(MEAN, COVARIANCE).logpdf(rows)
    difference = of_normal().score(rows) - expected
    assert np.ptp(difference) < 1e-4  # up to a constant


def test_conditionals_are_those_of_the_normal_distribution() -> None:
    known, rows = of_normal(), draw(50)
    expected, distance = (array.T for array in known.conditional(known.standardised(rows)))
    mean = MEAN[0] + 1.8 * (rows[:, 1] + 2.0)
    np.testing.assert_allclose(expected[:, 0] * 2.0 + 10.0, mean, rtol=1e-3)
    np.testing.assert_allclose(distance[:, 0], (rows[:, 0] - mean) / np.sqrt(4.0 - 1.8**2), rtol=1e-2, atol=1e-3)


def test_limits_of_rows_and_requests_hold_on_new_data() -> None:
    known = fit(draw(20_000), draw(20_000), schema(3))
    assert known.request_sizes == (16, 64)
    new = draw(64 * 300)
    rows = known.score(new) > known.row_limit
    assert stats.binomtest(int(rows.sum()), len(rows), 0.01).pvalue > 1e-4
    apart = np.array([known.unlikely(known.score(new[i : i + 64])).all() for i in range(0, len(new), 64)])
    assert stats.binomtest(int(apart.sum()), len(apart), 0.02).pvalue > 1e-4


def test_a_column_in_another_unit_is_noticed_by_the_request() -> None:
    known = fit(draw(20_000), draw(20_000), schema(3))
    wrong = draw(256)
    wrong[:, 1] *= 0.5
    assert ((wrong > draw(60_000).min(axis=0)) & (wrong < draw(60_000).max(axis=0))).all()
    assert known.unlikely(known.score(wrong)).all()
    assert known.unlikely(known.score(wrong[:1])).sum() <= 1


def test_of_a_wide_schema_the_directions_of_most_variance_stand_for_it() -> None:
    loading = RNG.normal(size=(4, 24))

    def wide(count: int) -> np.ndarray:
        return (RNG.normal(size=(count, 4)) @ loading + 0.1 * RNG.normal(size=(count, 24))).astype(np.float32)

    known = fit(wide(5_000), wide(5_000), schema(24))
    assert known.projection.shape == (24, 16)
    rows = wide(1_000)
    odd = rows.copy()
    odd[:, 3] += 4.0  # within the range of the column, beside the others impossible
    assert (known.score(rows) > known.row_limit).mean() < 0.03
    assert (known.score(odd) > known.row_limit).mean() > 0.5
    chosen = departures(
        odd[:20], np.arange(20), schema(24), *np.full((2, 24), [[-99], [99]], np.float32), known, most=1
    )
    assert np.count_nonzero(chosen.columns == 3) >= 15
    assert (chosen.deviations[chosen.columns == 3] > 3).all()


def test_missing_values_count_as_the_mean() -> None:
    known = of_normal()
    rows = draw(3)
    rows[0] = MEAN
    rows[1] = [np.nan, np.nan, 100.0]
    scores = known.score(rows, np.isnan(rows))
    assert scores[0] == pytest.approx(scores[1])
    sentinel = Schema.of([replace(schema(1).features[0], sentinels=(-9999.0,))])
    assert sentinel.missing(np.array([[-9999.0], [1.0], [np.nan]], np.float32)).tolist() == [[True], [False], [True]]


def test_values_outside_the_range_are_named_worst_first() -> None:
    rows = np.array([[10, -2, 100], [16, -9, 100], [10, -2, np.nan], [10, -4, 100]], np.float32)
    lower, upper = np.array([4, -5, 90], np.float32), np.array([15, 1, 110], np.float32)
    outliers = departures(rows, np.array([1, 3]), schema(3), lower, upper, of_normal())
    assert (outliers.rows.tolist()[:2], outliers.columns.tolist()[:2]) == ([1, 1], [1, 0])
    assert outliers.deviations[:2] == pytest.approx([-4.0, 0.5])
    assert outliers.values[:2].tolist() == [-9.0, 16.0]
    assert np.isnan(outliers.expected[:2]).all()
    inside = np.flatnonzero(outliers.rows == 3)
    assert outliers.columns[inside[0]] in (0, 1)
    assert np.isfinite(outliers.expected[inside]).all()
    assert len(departures(rows, NONE, schema(3), lower, upper, None)) == 0
    bare = departures(rows[1:2], np.array([0]), schema(3), lower, np.array([15, 99, 110], np.float32), None)
    assert bare.columns.tolist() == [1, 0]
    assert np.isnan(bare.deviations).all()
    gone = departures(rows, np.array([2]), schema(3), lower, upper, None)
    assert len(gone) == 0


def test_a_file_is_read_back_and_checked() -> None:
    known = of_normal(request_sizes=(16, 64), request_limits=(1.0, 2.0))
    content = encode(known)
    read = decode(content, 3)
    rows = draw(10)
    assert np.array_equal(read.score(rows), known.score(rows))
    assert [read.request_limit(n) for n in (1, 15, 16, 63, 64, 9999)] == [None, None, 1.0, 1.0, 2.0, 2.0]
    with pytest.raises(npz.BadArrays, match=r"mean has the shape \[3\], \[4\] is needed"):
        decode(content, 4)
    arrays = npz.decode(content, 1 << 20)
    for name, wrong, says in (
        ("deviation", np.zeros(3, np.float32), "must be above 0"),
        ("mean", np.full(3, np.nan, np.float32), "mean holds a value that is not finite"),
        ("factors", np.ones((2, 3, 3), np.float32), "factors has the shape"),
        ("centres", np.ones(3, np.float32), "shape"),
    ):
        with pytest.raises(npz.BadArrays, match=says):
            decode(npz.encode(dict(arrays) | {name: wrong}), 3)
    for components, directions, left_out, says in (
        (0, 3, 0.0, "centres has 0 components, at least 1 is needed"),
        (2, 0, 0.5, "projection has 0 directions, 1 to 3 are allowed"),
        (2, 4, 0.5, "projection has 4 directions, 1 to 3 are allowed"),
        (2, 2, 0.0, "projection has 2 directions, 3 to 3 are allowed"),
    ):
        sized = {
            "left_out": np.float32(left_out),
            "projection": np.ones((3, directions), np.float32),
            "weights": np.ones(components, np.float32),
            "centres": np.ones((components, directions), np.float32),
            "factors": np.ones((components, directions, directions), np.float32),
        }
        with pytest.raises(npz.BadArrays, match=says):
            decode(npz.encode(dict(arrays) | sized), 3)
    del arrays["weights"]
    with pytest.raises(npz.BadArrays, match="no array 'weights'"):
        decode(npz.encode(arrays), 3)
