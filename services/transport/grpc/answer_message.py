"""Conversion of answers to protobuf messages, from the table of fields and the message's descriptor."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from services.transport.answer import AnswerField, Record
from services.transport.grpc import codec
from services.transport.grpc.status import detail

Filler = Callable[[Record], Any]
Converter = Callable[[Any], Any]


def filler(fields: Iterable[AnswerField], kind: Any) -> Filler:
    """Return a function that turns a record of these fields into a message.

    Args:
        kind: class of the message.

    Raises:
        KeyError: the message lacks one of the fields.
    """
    steps = _steps(fields, kind.DESCRIPTOR)

    def fill(record: Record) -> Any:
        values = {}
        for name, convert in steps:
            if (value := record.get(name)) is not None:
                values[name] = value if convert is None else convert(value)
        return kind(**values)

    return fill


def _steps(fields: Iterable[AnswerField], descriptor: Descriptor) -> tuple[tuple[str, Converter | None], ...]:
    known = descriptor.fields_by_name
    return tuple((field.name, _converter(field, known[field.name])) for field in fields if field.message)


def _converter(field: AnswerField, descriptor: FieldDescriptor) -> Converter | None:
    if field.prepared:
        return None
    if field.dtype == "error":
        return detail
    if field.dtype == "deferral":
        return lambda unit: codec.deferral(*unit)
    if field.dtype == "record":
        inner = descriptor.message_type
        assert inner is not None, f"{descriptor.full_name} is no message"
        steps = _steps(field.fields, inner)
        if len(steps) == len(field.fields) and all(convert is None for _, convert in steps):
            return None  # protobuf converts a dictionary itself, and faster
        fill = filler(field.fields, GetMessageClass(inner))
        return (lambda values: [fill(value) for value in values]) if field.many else fill
    if field.shape and descriptor.type == FieldDescriptor.TYPE_BYTES:
        packed = np.dtype(field.dtype).newbyteorder("<")
        return lambda array: array.astype(packed, copy=False).tobytes()
    return None
