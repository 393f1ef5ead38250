"""Decoding of messages: arrays by dtype and shape, plain fields by name."""

from types import SimpleNamespace

import numpy as np
import pytest

import demur
from demur._description import Head
from demur._messages import FLOAT64, UINT8, PackedArray, from_message, packed_arrays
from demur.v1.common_pb2 import HeadSpec

ARRAYS = (
    PackedArray("mean", ("units",)),
    PackedArray("members", ("members", "units", 2), FLOAT64, optional=True),
    PackedArray("decisions", ("units",), UINT8),
)


def message(**fields: np.ndarray) -> SimpleNamespace:
    packed = {"mean": np.zeros(3, "<f4"), "members": np.zeros(0), "decisions": np.ones(3, np.uint8)} | fields
    return SimpleNamespace(**{name: values.tobytes() for name, values in packed.items()})


def test_arrays_are_views_of_their_dtype_and_shape() -> None:
    members = np.arange(24, dtype="<f8").reshape(4, 3, 2)
    arrays = packed_arrays(message(members=members), ARRAYS, units=3)
    np.testing.assert_array_equal(arrays["members"], members)
    assert [arrays[name].dtype.name for name in ("mean", "members", "decisions")] == ["float32", "float64", "uint8"]
    assert not arrays["mean"].flags.writeable
    assert packed_arrays(message(), ARRAYS, units=3)["members"] is None
    empty = message(mean=np.zeros(0, "<f4"), decisions=np.zeros(0, np.uint8))
    assert packed_arrays(empty, ARRAYS, units=0)["mean"].shape == (0,)


@pytest.mark.parametrize(
    "fields",
    [
        {"mean": np.zeros(2, "<f4")},
        {"mean": np.zeros(3, "<f8")},
        {"mean": np.zeros(0, "<f4")},
        {"members": np.zeros(7)},
        {"members": np.zeros(6, "<f4")},
    ],
)
def test_other_sizes_are_the_failure_of_the_service(fields: dict[str, np.ndarray]) -> None:
    (name,) = fields
    with pytest.raises(demur.ServiceFailure, match=f"{name} = {fields[name].nbytes} bytes: must be float") as caught:
        packed_arrays(message(**fields), ARRAYS, units=3)
    assert caught.value.code == "malformed"


def test_an_array_of_no_units_has_no_members() -> None:
    with pytest.raises(demur.ServiceFailure):
        packed_arrays(message(members=np.zeros(4)), ARRAYS[1:2], units=0)


def test_plain_fields_are_read_by_name() -> None:
    spec = HeadSpec(name="power", unit="kW", acceptable=0.0, class_names=["a", "b"])
    head = from_message(Head, spec, label="kW")
    assert (head.name, head.unit, head.label, head.class_names) == ("power", "kW", "kW", ("a", "b"))
    assert (head.acceptable, head.lower) == (0.0, None)
