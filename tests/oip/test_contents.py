"""Contents of tensors in their three forms: what comes back, and what is refused before anything is allocated."""

import json
import struct
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from services.ledger.unit_ids import UnitIds
from services.runtime.errors import InvalidInput
from services.transport.oip.datatypes import DATATYPES, datatype_of, from_raw, of_bytes, to_raw
from services.transport.oip.decided import unit_ids
from services.transport.oip.tensor_codec import Contents, JsonContents, RawContents, TypedContents

NUMERIC = sorted(name for name in DATATYPES if name not in ("BYTES", "BF16"))


def values(contents: Contents, datatype: str, *shape: int) -> Any:
    return contents.values("x", DATATYPES[datatype], shape)


def refusal(contents: Contents, datatype: str, *shape: int) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        values(contents, datatype, *shape)
    assert refused.value.field == "x"
    return refused.value


@given(st.data())
def test_numbers_come_back(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NUMERIC))
    array = data.draw(arrays.arrays(DATATYPES[name].dtype, arrays.array_shapes(min_dims=1, max_dims=3, min_side=0)))
    assert datatype_of(array) == name
    back = from_raw("x", DATATYPES[name], to_raw(array), array.size).reshape(array.shape)
    np.testing.assert_array_equal(back, array)
    assert to_raw(back) == to_raw(array)


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_bytes_come_back(given: list[bytes]) -> None:
    content = to_raw(of_bytes(given))
    assert content == b"".join(struct.pack("<I", len(text)) + text for text in given)
    assert from_raw("x", DATATYPES["BYTES"], memoryview(content), len(given)).tolist() == given


@given(st.binary(max_size=60), st.integers(0, 8))
def test_whatever_bytes_come_are_read_to_their_end_or_refused(content: bytes, count: int) -> None:
    try:
        array = values(RawContents(content), "BYTES", count)
    except InvalidInput as refused:
        refusal = refused
    else:
        assert to_raw(array) == content
        return
    assert refusal.code in ("broken_bytes", "wrong_length")


@given(st.integers(0, 10**7), st.integers(0, 300))
def test_ids_that_are_written_at_once_are_those_of_the_units(first: int, count: int) -> None:
    ids = UnitIds(0xABC, first, count)
    expected = [ids.text(index).encode() for index in range(count)]
    actual = unit_ids(ids)
    assert actual.tolist() == expected
    assert to_raw(actual) == to_raw(of_bytes(expected))


def test_a_few_bytes_cannot_ask_for_much_memory() -> None:
    for datatype in DATATYPES:
        assert refusal(RawContents(b"\x00" * 8), datatype, 1 << 40).code in ("wrong_length", "broken_bytes")
        assert refusal(TypedContents({}), datatype, 1 << 40).code in ("wrong_length", "dtype")
    assert refusal(JsonContents(b"[1]"), "FP32", 1 << 40).code == "wrong_length"


def test_half_floats_of_both_kinds() -> None:
    halves = np.array([1.0, -2.5, 65504.0, np.inf], np.float16)
    np.testing.assert_array_equal(values(RawContents(halves.tobytes()), "FP16", 4), halves)
    brain = (np.array([1.0, -2.5, 3e38, np.nan], np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
    actual = values(RawContents(brain), "BF16", 4)
    assert actual.dtype == np.float32
    np.testing.assert_allclose(actual, [1.0, -2.5, 3e38, np.nan], rtol=2**-7)
    assert "raw_input_contents" in refusal(TypedContents({"fp32_contents": [1.0]}), "FP16", 1).message


def test_typed_contents_belong_into_the_field_of_their_datatype() -> None:
    assert values(TypedContents({"fp32_contents": [1.5, 2.5]}), "FP32", 2).tolist() == [1.5, 2.5]
    assert values(TypedContents({"bytes_contents": [b"a", b""]}), "BYTES", 2).tolist() == [b"a", b""]
    wrong = refusal(TypedContents({"fp32_contents": [1.0]}), "FP64", 1)
    assert (wrong.code, wrong.value, wrong.allowed) == ("dtype", "fp32_contents", "fp64_contents")
    beyond = refusal(TypedContents({"int_contents": [1, 300]}), "INT8", 2)
    assert (beyond.code, beyond.value, beyond.index, beyond.allowed) == ("out_of_range", "300", 1, "[-128, 127]")


@pytest.mark.parametrize("shape", [(6,), (2, 3), (3, 2), (1, 2, 3), (6, 1)])
def test_json_is_flat_or_nested_as_the_shape_is(shape: tuple[int, ...]) -> None:
    assert prod(shape) == 6
    nested = np.arange(6.0).reshape(shape).tolist()
    for listed in (nested, list(range(6))):
        assert values(JsonContents(json.dumps(listed).encode()), "FP64", *shape).tolist() == list(range(6))


@pytest.mark.parametrize(
    ("text", "datatype", "shape", "code"),
    [
        ("[[1, 2], [3, 4, 5, 6]]", "FP32", (2, 3), "not_a_number"),
        ("[[1, 2, 3]]", "FP32", (3,), "not_a_number"),
        ("[1, 2]", "FP32", (3,), "wrong_length"),
        ('["1"]', "FP32", (1,), "not_a_number"),
        ("[true]", "FP32", (1,), "not_a_number"),
        ("[1]", "BOOL", (1,), "dtype"),
        ("[1.5]", "INT32", (1,), "not_a_number"),
        ("[null]", "INT32", (1,), "not_a_number"),
        ("[256]", "UINT8", (1,), "out_of_range"),
        ("[-1]", "UINT64", (1,), "out_of_range"),
        ("[1]", "BYTES", (1,), "dtype"),
        ('{"a": 1}', "FP32", (1,), "not_a_number"),
        ("7", "FP32", (1,), "not_a_number"),
    ],
)
def test_json_that_is_no_such_tensor(text: str, datatype: str, shape: tuple[int, ...], code: str) -> None:
    assert refusal(JsonContents(text.encode()), datatype, *shape).code == code


def test_null_is_a_missing_number_and_large_ones_are_infinite() -> None:
    actual = values(JsonContents(b"[null, 1e39, -1e39, 1]"), "FP32", 4)
    np.testing.assert_array_equal(actual, np.array([np.nan, np.inf, -np.inf, 1], np.float32))


def test_a_bool_is_nought_or_one() -> None:
    assert values(RawContents(b"\x00\x01"), "BOOL", 2).tolist() == [False, True]
    wrong = refusal(RawContents(b"\x00\x01\x02"), "BOOL", 3)
    assert (wrong.code, wrong.index, wrong.value) == ("out_of_range", 2, "2")
