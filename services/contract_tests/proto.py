"""Comparison of a task's messages with the table of its answer."""

from collections.abc import Collection, Iterator

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from services.transport.answer import AnswerField
from services.transport.grpc.plain import PREFIX

_SCALARS = {
    "string": {FieldDescriptor.TYPE_STRING},
    "bytes": {FieldDescriptor.TYPE_BYTES},
    "bool": {FieldDescriptor.TYPE_BOOL},
    "int32": {FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_SINT32},
    "uint32": {FieldDescriptor.TYPE_UINT32},
    "uint64": {FieldDescriptor.TYPE_UINT64},
    "float32": {FieldDescriptor.TYPE_FLOAT},
    "float64": {FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT},
}


def differences(
    fields: tuple[AnswerField, ...], descriptor: Descriptor, enums: Collection[tuple[str, str]] = ()
) -> Iterator[str]:
    """Yield what a message and a table do not agree on.

    Args:
        enums: names of messages and their fields whose text in the table is a number in the message.
    """
    known = {
        name: descriptor_field
        for name, descriptor_field in descriptor.fields_by_name.items()
        if not name.startswith(PREFIX)
    }
    declared = {field.name: field for field in fields if field.message}
    for name in known.keys() ^ declared.keys():
        yield f"{descriptor.name}.{name} is in {'the message' if name in known else 'the table'} only"
    for name in known.keys() & declared.keys():
        field, message_field = declared[name], known[name]
        where = f"{descriptor.name}.{name}"
        if field.dtype == "record":
            if message_field.message_type is None or message_field.is_repeated != field.many:
                yield f"{where} is no record, or not as many"
            elif not field.prepared:
                yield from differences(field.fields, message_field.message_type, enums)
        elif field.dtype in ("error", "deferral"):
            if message_field.message_type is None:
                yield f"{where} is no message"
        elif field.shape and message_field.type == FieldDescriptor.TYPE_BYTES:
            if f"{PREFIX}{name}" not in descriptor.fields_by_name:
                yield f"{where} has no plain twin"
            elif descriptor.fields_by_name[f"{PREFIX}{name}"].type not in _SCALARS[field.dtype]:
                yield f"{where} packs other numbers than {field.dtype}"
        elif message_field.type not in _SCALARS[field.dtype] and (descriptor.name, name) not in enums:
            yield f"{where} is not {field.dtype}"
