"""The messages of answers have the fields that the tasks' tables declare, and no others."""

from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from demur.v1 import common_pb2, lesion_pb2, motion_pb2, translation_pb2
from models.head import Head
from services.tasks.lesion import answer as lesion
from services.tasks.motion import answer as motion
from services.tasks.translation import answer as translation
from services.transport import head_answer
from services.transport.answer import AnswerField
from services.transport.grpc.plain import PREFIX

GAUSSIAN = Head("power", "gaussian", "kW", "power, kW", "squared_error", "kW²", 1.0, "tvar", "variance", "varm")
CATEGORICAL = Head("rain", "categorical", "1", "class", "error", "1", 1.0, "entropy", "entropy", "mi")
TABLES: dict[str, tuple[tuple[AnswerField, ...], Any]] = {
    "motion": (motion.ANSWER, motion_pb2.MotionPredictResponse),
    "lesion": (lesion.ANSWER, lesion_pb2.LesionPredictResponse),
    "translation": (translation.ANSWER, translation_pb2.TranslationPredictResponse),
    "gaussian": (head_answer.fields(GAUSSIAN), common_pb2.GaussianHead),
    "categorical": (head_answer.fields(CATEGORICAL), common_pb2.CategoricalHead),
}
SCALARS = {
    "string": {FieldDescriptor.TYPE_STRING},
    "bytes": {FieldDescriptor.TYPE_BYTES},
    "bool": {FieldDescriptor.TYPE_BOOL},
    "uint32": {FieldDescriptor.TYPE_UINT32},
    "uint64": {FieldDescriptor.TYPE_UINT64},
    "float32": {FieldDescriptor.TYPE_FLOAT},
    "float64": {FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT},
}
ENUMS = {("LesionFile", "map")}
"""Fields whose text in the table is a number in the message."""


def differences(fields: tuple[AnswerField, ...], descriptor: Descriptor) -> Iterator[str]:
    """Yield what a message and a table do not agree on."""
    known = {
        name: descriptor_field
        for name, descriptor_field in descriptor.fields_by_name.items()
        if not name.startswith(PREFIX)
    }
    declared = {field.name: field for field in fields if field.message}
    for name in known.keys() ^ declared.keys():
        yield f"{descriptor.name}.{name} is in one of them only"
    for name in known.keys() & declared.keys():
        field, message_field = declared[name], known[name]
        where = f"{descriptor.name}.{name}"
        if field.dtype == "record":
            if message_field.message_type is None or message_field.is_repeated != field.many:
                yield f"{where} is no record, or not as many"
            elif not field.prepared:
                yield from differences(field.fields, message_field.message_type)
        elif field.dtype in ("error", "deferral"):
            if message_field.message_type is None:
                yield f"{where} is no message"
        elif field.shape and message_field.type == FieldDescriptor.TYPE_BYTES:
            if f"{PREFIX}{name}" not in descriptor.fields_by_name:
                yield f"{where} has no plain twin"
            elif descriptor.fields_by_name[f"{PREFIX}{name}"].type not in SCALARS[field.dtype]:
                yield f"{where} packs other numbers than {field.dtype}"
        elif message_field.type not in SCALARS[field.dtype] and (descriptor.name, name) not in ENUMS:
            yield f"{where} is not {field.dtype}"


@pytest.mark.parametrize("task", TABLES)
def test_messages_are_those_of_the_tables(task: str) -> None:
    fields, kind = TABLES[task]
    assert list(differences(fields, kind.DESCRIPTOR)) == []


def test_the_comparison_can_fail() -> None:
    fields, kind = TABLES["motion"]
    assert list(differences(fields[1:], kind.DESCRIPTOR)) == ["MotionPredictResponse.model is in one of them only"]
    other = (AnswerField("levels", dtype="string", shape=("levels",)), AnswerField("multipliers", shape=("levels",)))
    assert list(differences(other, common_pb2.Intervals.DESCRIPTOR)) == ["Intervals.levels is not string"]
