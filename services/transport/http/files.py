"""Answers with files: in JSON, in an archive, or behind a job."""

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import msgspec

from services.transport.grpc.plain import encoded
from services.transport.http.body import JSON, PROTOBUF, Written
from services.transport.http.request import ZIP, AnswerFormat
from services.transport.served_model import ServedModel

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Modification time of all files of an archive, so that equal answers give equal archives."""


def write_answers(
    tenant: ServedModel, answers: list[Any], answer_format: AnswerFormat, *, in_plain: bool = False
) -> Written:
    """Return the body with all answers of a request; ``in_plain``: protobuf has numbers as repeated fields."""
    if answer_format == "protobuf":
        return Written(encoded(tenant.grpc, answers, in_plain=in_plain), PROTOBUF)
    document = tenant.http.answer_json(answers)
    if tenant.http.files is None:
        return Written(msgspec.json.encode(document), JSON)
    if answer_format == "zip":
        archived = tenant.http.archived or tenant.http.files
        return Written(_archive({"answer.json": msgspec.json.encode(document)} | dict(archived(answers))), ZIP)
    files = tenant.http.files(answers)
    return Written(msgspec.json.encode(document | {"files": files}), JSON)  # bytes become base64


def _archive(files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP archive without compression: large files are compressed already."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content)
    return buffer.getvalue()
