"""Answers written from a table of fields: values that do not exist, records, columns, and tensors of unequal sizes."""

import numpy as np
import pytest

from demur.v1 import common_pb2
from services.transport.answer import AnswerField, index, records, text, without_tensors
from services.transport.grpc.answer_message import filler
from services.transport.http.answer_json import schema, writer
from services.transport.oip.answer_tensors import TensorWriter, specs

POINT = (AnswerField("x", unit="m", json="x_m"), AnswerField("y", unit="m", missing="null"))
FIELDS = (
    index("item", "Index."),
    text("name", "Name.", missing="absent", tensor="names"),
    AnswerField("path", "Path.", "m", shape=("steps", 2), missing="absent", json="path_m"),
    AnswerField("state", dtype="record", fields=without_tensors(POINT), missing="absent", title="State", tensor=""),
    AnswerField(
        "tokens",
        dtype="record",
        fields=(AnswerField("a", dtype="uint32", shape=("n",)), AnswerField("b", shape=("n",))),
        columns=True,
        missing="absent",
        title="Token",
        tensor="",
        message=False,
    ),
)


def test_json_has_what_exists_under_its_own_names() -> None:
    write = writer(FIELDS)
    assert write({"item": 3}) == {"item": 3}
    path = np.array([[1.5, np.nan]], np.float32)
    (first,) = write({"item": 0, "path": path})["path_m"]
    assert first[0] == 1.5
    assert np.isnan(first[1])
    assert write({"item": 0, "state": {"x": 1.0}})["state"] == {"x_m": 1.0, "y": None}
    tokens = {"a": np.array([1, 2], np.uint32), "b": np.array([0.5, 0.25], np.float32)}
    assert write({"item": 0, "tokens": tokens})["tokens"] == [{"a": 1, "b": 0.5}, {"a": 2, "b": 0.25}]


def test_a_schema_requires_what_is_never_missing() -> None:
    document = schema(FIELDS, title="Answer")
    assert document["required"] == ["item"]
    assert document["properties"]["item"] == {"type": "integer", "minimum": 0, "description": "Index."}
    path = document["properties"]["path_m"]
    assert path["description"] == "Path. Unit: m."
    assert path["items"] == {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 2, "maxItems": 2}
    assert document["properties"]["state"]["required"] == ["x_m", "y"]
    assert document["properties"]["tokens"]["items"]["properties"]["a"] == {
        "type": "integer",
        "minimum": 0,
        "description": "",
    }


def test_tensors_are_filled_where_records_differ() -> None:
    write = TensorWriter((records("answers", "", FIELDS),))
    record = {"answers": [{"item": 4, "path": np.ones((1, 2))}, {"item": 5, "name": "b", "path": np.zeros((2, 2))}]}
    tensors = write([record], {"item", "names", "path"})
    assert tensors["item"].tolist() == [4, 5]
    assert tensors["item"].dtype == np.int32
    assert tensors["names"].tolist() == [b"", b"b"]
    assert np.isnan(tensors["path"][0, 1]).all()
    assert tensors["path"][1].tolist() == [[0, 0], [0, 0]]
    assert write([record], {"item"}).keys() == {"item"}
    nothing = {"answers": [{"item": 1}]}
    assert "path" not in write([nothing], {"path"}), "nobody knows its size"
    assert write([nothing], {"path"}, {"path": (3, 2)})["path"].shape == (1, 3, 2)
    assert write([{"answers": []}], {"path"})["path"].shape == (0, 0, 2)


def test_tensors_that_a_model_cannot_have_are_not_among_its_own() -> None:
    fields = (AnswerField("total", shape=("steps",)), AnswerField("data", shape=("steps",), needs="ensemble"))
    assert [spec.name for spec in specs(fields, repeated=True, unit="row")] == ["total"]
    both = list(specs(fields, repeated=True, unit="row", has=("ensemble",)))
    assert [(spec.name, spec.shape, spec.datatype) for spec in both] == [
        ("total", (-1, -1), "FP32"),
        ("data", (-1, -1), "FP32"),
    ]


def test_a_message_lacks_no_field_of_its_table() -> None:
    assert filler((AnswerField("levels", shape=("n",)),), common_pb2.Intervals)({"levels": [0.5]}).levels == [0.5]
    with pytest.raises(KeyError, match="strange"):
        filler((AnswerField("strange"),), common_pb2.Intervals)
