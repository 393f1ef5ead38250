"""Answers with repeated fields in place of packed bytes, for people and for bridges to JSON.

The values packed in a field ``x`` go to its twin ``plain_x``, whose type says how to read the bytes. A message that
follows this rule needs no code here.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from demur.v1 import common_pb2
from services.ledger.unit_ids import UnitIds
from services.transport.binding import GrpcBinding

PREFIX = "plain_"
_PACKED: dict[int, str] = {
    FieldDescriptor.TYPE_FLOAT: "<f4",
    FieldDescriptor.TYPE_DOUBLE: "<f8",
    FieldDescriptor.TYPE_UINT32: "<u4",
    FieldDescriptor.TYPE_UINT64: "<u8",
    FieldDescriptor.TYPE_ENUM: "u1",
}
"""NumPy type of the packed numbers, by the protobuf type of the twin."""
Unpack = Callable[[Any], list[Any]]
Parts = Callable[[Any, str], Iterable[Any]]
"""Function that returns the messages in a field of a message."""


def plain(message: Any) -> Any:
    """Move the packed values of a message, and of messages within it, to their twins; change and return the message.

    Unit ids (``UnitIds``) stay beside their texts, since other calls take them in this form.
    """
    twins, inner = _fields(message.DESCRIPTOR)
    for name, unpack, keeps in twins:
        if value := _filled(message, name):
            getattr(message, f"{PREFIX}{name}").extend(unpack(value))
            if not keeps:
                message.ClearField(name)
    for name, parts in inner:
        for part in parts(message, name):
            plain(part)
    return message


def encoded(binding: GrpcBinding, answers: list[Any], *, in_plain: bool) -> bytes:
    """Encode all answers of one request as one message.

    Args:
        in_plain: whether numbers are repeated fields.

    Raises:
        DemurError: all items of the request failed.
    """
    response = binding.answer(answers)
    return binding.response.encode(plain(response) if in_plain else response)


def _filled(message: Any, name: str) -> Any:
    """Return the value of a field; None or empty bytes if there is none."""
    value = getattr(message, name)
    return value if isinstance(value, bytes) or message.HasField(name) else None


@lru_cache(maxsize=256)
def _fields(descriptor: Descriptor) -> tuple[tuple[tuple[str, Unpack, bool], ...], tuple[tuple[str, Parts], ...]]:
    """Return fields with a twin (name, unpacking, whether they stay), and fields of messages (name, reading)."""
    return tuple(_twins(descriptor)), tuple(_inner(descriptor))


def _twins(descriptor: Descriptor) -> Iterator[tuple[str, Unpack, bool]]:
    for field in descriptor.fields:
        twin = descriptor.fields_by_name.get(f"{PREFIX}{field.name}")
        if twin is None:
            continue
        if field.message_type is common_pb2.UnitIds.DESCRIPTOR:
            yield field.name, _texts, True
        elif twin.message_type is common_pb2.Shifts.DESCRIPTOR:
            yield field.name, _shifts, False
        else:
            yield field.name, _numbers(_PACKED[twin.type]), False


def _inner(descriptor: Descriptor) -> Iterator[tuple[str, Parts]]:
    for field in descriptor.fields:
        kind = field.message_type
        if kind is None or field.name.startswith(PREFIX):
            continue
        if kind.GetOptions().map_entry:
            if kind.fields_by_name["value"].message_type is not None:
                yield field.name, lambda message, name: getattr(message, name).values()
        elif field.is_repeated:
            yield field.name, getattr
        else:
            yield field.name, _present


def _present(message: Any, name: str) -> tuple[Any, ...]:
    """Return the message in a field; none if it is not there."""
    return (getattr(message, name),) if message.HasField(name) else ()


def _numbers(packed: str) -> Unpack:
    return lambda content: np.frombuffer(content, packed).tolist()


def _texts(ids: Any) -> list[str]:
    return UnitIds(ids.epoch, ids.first, ids.count).texts()


def _shifts(content: bytes) -> list[Any]:
    messages = {bits: _bits(bits) for bits in set(content)}
    return [messages[bits] for bits in content]


def _bits(bits: int) -> Any:
    """Return the bits of a byte one by one, including those without a name."""
    shifts: list[Any] = [bits & (1 << place) for place in range(8) if bits & (1 << place)]
    return common_pb2.Shifts(shifts=shifts or [common_pb2.SHIFT_NONE])
