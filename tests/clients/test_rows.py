"""From columns or arrays to packed rows; what is refused before sending."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import demur
from demur._rows.packing import Layout, pack

NAMES, UNITS = ("stw", "wave", "age"), ("kn", "m", "min")
LAYOUT = Layout(NAMES, UNITS, "hash", 100, frozenset(NAMES))
matrices = npst.arrays(
    st.sampled_from(["f4", "f8", "i2", ">f4", "u8"]),
    st.tuples(st.integers(0, 5), st.just(3)),
    elements=st.integers(0, 9),
)


class Frame:
    """What of a data frame is used; doubled names are possible in one."""

    def __init__(self, *columns):
        self.columns = columns

    def keys(self):
        return [name for name, _ in self.columns]

    def __getitem__(self, name):
        return next(values for own, values in self.columns if own == name)


@settings(deadline=None)
@given(matrices)
def test_every_form_packs_the_same(matrix):
    expected = matrix.astype("<f4").tobytes()
    by_name = {name: matrix[:, i] for i, name in enumerate(NAMES)}
    forms = [
        matrix,
        np.asfortranarray(matrix),
        by_name,
        dict(reversed(by_name.items())),
        Frame(*by_name.items()),
    ]
    forms.append({name: list(map(float, column)) for name, column in by_name.items()})
    for form in forms:
        packed = pack(form, LAYOUT)
        assert packed.dtype == np.dtype("<f4")
        assert packed.shape == matrix.shape
        assert packed.flags.c_contiguous
        assert packed.tobytes() == expected


def test_fitting_array_is_not_copied():
    rows = np.ones((4, 3), np.float32)
    assert np.shares_memory(pack(rows, LAYOUT), rows)
    assert np.shares_memory(pack(rows[0], LAYOUT), rows)
    assert pack(rows[0], LAYOUT).shape == (1, 3)


def test_scalars_are_repeated():
    packed = pack({"stw": [1, 2], "wave": 3, "age": np.float64(4)}, LAYOUT)
    np.testing.assert_array_equal(packed, [[1, 3, 4], [2, 3, 4]])
    assert pack({"stw": 1, "wave": 3, "age": 4}, LAYOUT).shape == (1, 3)


def test_masked_values_become_missing():
    packed = pack({"stw": np.ma.array([1, 2], mask=[0, 1]), "wave": 0, "age": 0}, LAYOUT)
    np.testing.assert_array_equal(packed[:, 0], [1, np.nan])


def test_infinity_and_nan_are_left_to_the_service():
    packed = pack({"stw": [np.nan, np.inf], "wave": 0, "age": 0}, LAYOUT)
    np.testing.assert_array_equal(packed[:, 0], [np.nan, np.inf])


@pytest.mark.parametrize(
    ("rows", "code", "field", "text"),
    [
        (
            {"stw": 1, "age": 1},
            "missing_column",
            "wave",
            "column 'wave' is missing (all missing: wave); the columns are",
        ),
        (
            {"stw": 1},
            "missing_column",
            "wave",
            "(all missing: wave, age); the columns are stw (kn), wave (m)",
        ),
        (
            {"stw": 1, "wave": 1, "age": 1, "x": 1},
            "unknown_column",
            "x",
            "column 'x' is not a column of this model",
        ),
        (
            {"STW": 1, "wave": 1, "age": 1},
            "unknown_column",
            "STW",
            "column 'STW' is not a column of this model",
        ),
        (
            Frame(("stw", 1), ("wave", 1), ("wave", 2), ("age", 1)),
            "doubled_column",
            "wave",
            "'wave' is given twice",
        ),
        (
            {"stw": [1, 2], "wave": [1, 2, 3], "age": 1},
            "unequal_lengths",
            "wave",
            "wave = 3 rows: must be 2 rows, as in column 'stw'",
        ),
        ({"stw": [[1]], "wave": 1, "age": 1}, "wrong_shape", "stw", "shape [1, 1]"),
        ({"stw": [[1], [1, 2]], "wave": 1, "age": 1}, "wrong_shape", "stw", "unequal lengths"),
        ({"stw": "fast", "wave": 1, "age": 1}, "not_numbers", "stw", "real numbers"),
        ({"stw": True, "wave": 1, "age": 1}, "not_numbers", "stw", "real numbers"),
        ({"stw": [1, 1j], "wave": 1, "age": 1}, "not_numbers", "stw", "real numbers"),
        ({"stw": [object()], "wave": 1, "age": 1}, "not_numbers", "stw", "real numbers"),
        ({"stw": [1.0, -1e39], "wave": 1, "age": 1}, "out_of_range", "stw", "stw = -1e+39 kn in row 1"),
        ([[1, 1e39, 1]], "out_of_range", "wave", "wave = 1e+39 m in row 0"),
        (np.zeros((2, 4)), "wrong_shape", "rows", "shape [2, 4], not [N, 3]"),
        (np.zeros(6), "wrong_shape", "rows", "shape [6]"),
        (3.0, "wrong_shape", "rows", "shape []"),
        ([[1, 2, 3], [1, 2]], "wrong_shape", "rows", "unequal lengths"),
    ],
)
def test_wrong_rows_are_named(rows, code, field, text):
    with pytest.raises(demur.InvalidInput) as caught:
        pack(rows, LAYOUT)
    assert (caught.value.code, caught.value.field) == (code, field)
    assert text in str(caught.value)


def test_overflow_says_where():
    with pytest.raises(demur.InvalidInput) as caught:
        pack({"stw": 1, "wave": np.array([0, np.inf, 1e300]), "age": 1}, LAYOUT)
    assert (caught.value.index, caught.value.unit, caught.value.value) == (2, "m", "1e+300")
