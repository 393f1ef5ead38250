"""The compiled check of rows sees what NumPy sees, in every row alone as among others."""

import ctypes
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from models import compiled
from models.familiarity import Familiarity
from models.inputs import kernel
from models.inputs.check import InputCheck, PlainCheck, possible
from models.schema import Feature, Schema

FOLDER = Path(kernel.__file__).parent
SENTINEL = -9999.0


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The kernel of this checkout, compiled here: an installed one may be older."""
    folder = tmp_path_factory.mktemp("kernel")
    (folder / compiled.SOURCE).write_bytes((FOLDER / compiled.SOURCE).read_bytes())
    compiled.build(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_FOLDER", folder)
        loaded = kernel.load()
    assert loaded is not None
    return loaded


def schema(columns: int) -> Schema:
    """Columns from -100 to 100; some may be missing, as NaN or by a sentinel, or have few values."""
    features = []
    for number in range(columns):
        nullable, values = number % 3 == 1, (0.0, 1.0, 2.0) if number % 7 == 2 else ()
        sentinels = (SENTINEL, -8888.0) if number % 5 == 3 else ()
        features.append(
            Feature(f"c{number}", "m", -100.0, 100.0, "a column", nullable, sentinels=sentinels, values=values)
        )
    return Schema.of(features)


def usual(described: Schema, count: int, seed: int, spread: float = 1.0) -> NDArray[np.float32]:
    """Return correlated rows, some values missing as their columns allow."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(count, len(described))) * spread
    rows[:, 1:] += rows[:, :1]
    for column, values in described.enumerated:
        rows[:, column] = draw.choice(values, count)
    rows[(draw.random(rows.shape) < 0.1) & described.nullable] = np.nan
    for column, value in described.sentinels:
        rows[draw.random(count) < 0.05, column] = value
    return rows.astype(np.float32)


def pair(library: ctypes.CDLL, columns: int, *, dense: bool = True) -> tuple[Schema, InputCheck, InputCheck]:
    """Return a schema, and both checks of it."""
    described = schema(columns)
    known = density(columns) if dense else None
    lower, upper = np.full(columns, -3.0, np.float32), np.full(columns, 3.5, np.float32)
    arguments = (described, lower, upper, known)
    return described, PlainCheck(*arguments), kernel.CompiledCheck(library, *arguments)


@cache
def density(columns: int) -> Familiarity:
    """Return a mixture of five components, of wide rows over fewer directions."""
    draw = np.random.default_rng(columns)
    directions = min(columns, 12)
    basis, _ = np.linalg.qr(draw.normal(size=(columns, columns)))
    factors = np.tril(draw.normal(size=(5, directions, directions)) * 0.2) + np.eye(directions)
    return Familiarity(
        mean=draw.normal(size=columns).astype(np.float32),
        deviation=draw.uniform(0.5, 2.0, columns).astype(np.float32),
        projection=(np.eye(columns) if directions == columns else basis[:, :directions]).astype(np.float32),
        left_out=0.0 if directions == columns else 0.3,
        weights=np.full(5, 0.2, np.float32),
        centres=draw.normal(size=(5, directions)).astype(np.float32),
        factors=np.abs(factors).astype(np.float32),
        row_limit=10.0,
        request_sizes=(),
        request_limits=(),
    )


@pytest.mark.parametrize("columns", [1, 2, 5, 17, 40])
@pytest.mark.parametrize("spread", [0.3, 1.0, 6.0])
def test_both_see_the_same(library: ctypes.CDLL, columns: int, spread: float) -> None:
    described, plain, own = pair(library, columns)
    rows = usual(described, 211, seed=2, spread=spread)
    theirs, ours = plain.run(rows), own.run(rows)
    assert ours.refused == theirs.refused == (possible(described, rows) is not None)
    assert (ours.outside is None) == (theirs.outside is None)
    if ours.outside is not None:
        np.testing.assert_array_equal(ours.outside, theirs.outside)
    np.testing.assert_allclose(ours.scores, theirs.scores, rtol=1e-5, atol=1e-3)  # sums of hundreds of products


@pytest.mark.parametrize("columns", [1, 5, 17, 40])
def test_a_row_has_the_same_score_alone_and_among_others(library: ctypes.CDLL, columns: int) -> None:
    described, _, own = pair(library, columns)
    rows = usual(described, 23, seed=3)
    together = own.run(rows).scores
    assert together is not None
    for count in (1, 2, 3, 5):
        for start in range(0, len(rows) - count, 4):
            alone = own.run(rows[start : start + count]).scores
            np.testing.assert_array_equal(alone, together[start : start + count])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (0, 100.5),
        (0, -101.0),
        (0, np.nan),
        (0, np.inf),
        (0, SENTINEL),
        (2, 1.5),
        (2, np.nan),
        (3, np.nan),
        (3, -9998.0),
    ],
)
def test_an_impossible_value_is_refused(library: ctypes.CDLL, column: int, value: float) -> None:
    _, plain, own = pair(library, 9)
    rows = np.zeros((7, 9), np.float32)
    assert not own.run(rows).refused
    rows[5, column] = value
    assert plain.run(rows).refused
    assert own.run(rows).refused
    assert not own.run(rows[:5]).refused


@pytest.mark.parametrize(("column", "value"), [(1, np.nan), (3, SENTINEL), (3, -8888.0), (0, 100.0), (0, -100.0)])
def test_a_documented_missing_value_passes_and_is_not_outside(library: ctypes.CDLL, column: int, value: float) -> None:
    _, plain, own = pair(library, 9)
    rows = np.zeros((3, 9), np.float32)
    rows[1, column] = value
    for check in (plain, own):
        result = check.run(rows)
        assert not result.refused
        assert (result.outside is None) == (abs(value) != 100.0)


@pytest.mark.parametrize("columns", [2, 5, 17, 40])
@pytest.mark.parametrize("dense", [True, False])
def test_departures_are_the_same(library: ctypes.CDLL, columns: int, dense: bool) -> None:
    described, plain, own = pair(library, columns, dense=dense)
    rows = usual(described, 300, seed=4, spread=2.0)
    flagged = np.arange(0, 300, 3)
    theirs, ours = plain.departures(rows, flagged), own.departures(rows, flagged)
    assert len(ours) == len(theirs) > 0
    np.testing.assert_array_equal(ours.rows, theirs.rows)
    np.testing.assert_array_equal(ours.columns, theirs.columns)
    np.testing.assert_array_equal(ours.values, theirs.values)
    np.testing.assert_allclose(ours.deviations, theirs.deviations, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ours.expected, theirs.expected, rtol=1e-4, atol=1e-4)


def test_no_rows_have_nothing(library: ctypes.CDLL) -> None:
    _, plain, own = pair(library, 5)
    for check in (plain, own):
        result = check.run(np.zeros((0, 5), np.float32))
        assert not result.refused
        assert result.outside is None
        assert result.scores is not None
        assert len(result.scores) == 0


def test_without_a_density_there_are_no_scores(library: ctypes.CDLL) -> None:
    _, _, own = pair(library, 5, dense=False)
    assert own.run(np.zeros((2, 5), np.float32)).scores is None


def test_arguments_that_do_not_fit_are_refused(library: ctypes.CDLL) -> None:
    _, _, own = pair(library, 5)
    with pytest.raises(ValueError, match="5 columns"):
        own.run(np.zeros((2, 4), np.float32))
    for place in (-1, 2):
        with pytest.raises(IndexError, match="there are 2"):
            own.departures(np.zeros((2, 5), np.float32), np.array([place]))
    assert len(own.departures(np.zeros((2, 5), np.float32), np.zeros(0, np.intp))) == 0


def test_rows_in_another_order_of_memory_are_read_as_they_are(library: ctypes.CDLL) -> None:
    described, _, own = pair(library, 9)
    rows = usual(described, 50, seed=5)
    unaligned = np.frombuffer(b"\0" + rows.tobytes(), np.float32, offset=1).reshape(rows.shape)
    for other in (np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2], rows.astype(">f4"), unaligned):
        np.testing.assert_array_equal(own.run(other).scores, own.run(rows).scores)


def test_numpy_checks_where_there_is_no_kernel_or_a_schema_is_too_wide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: ctypes.CDLL
) -> None:
    def check(columns: int) -> InputCheck:
        bounds = np.zeros(columns, np.float32)
        return kernel.input_check(schema(columns), bounds, bounds, None)

    monkeypatch.setattr(kernel, "load", lambda: library)
    assert isinstance(check(kernel.MOST_COLUMNS), kernel.CompiledCheck)
    assert isinstance(check(kernel.MOST_COLUMNS + 1), PlainCheck)
    monkeypatch.undo()
    monkeypatch.setattr(kernel, "_FOLDER", tmp_path)
    assert isinstance(check(3), PlainCheck)


def test_a_kernel_of_another_version_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    source = (FOLDER / compiled.SOURCE).read_text()
    changed = source.replace(f"#define VERSION {kernel._VERSION} ", "#define VERSION 99 ")
    (tmp_path / compiled.SOURCE).write_text(changed)
    compiled.build(tmp_path)
    monkeypatch.setattr(kernel, "_FOLDER", tmp_path)
    with caplog.at_level("WARNING"):
        assert kernel.load() is None
    assert "python -m models.compiled" in caplog.text
