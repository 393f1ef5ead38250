"""Scans over HTTP: forms with files, or JSON with base64; answers as JSON and NIfTI files."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from models.tasks.lesion.data.files import OFFICIAL
from services.ledger.contract import Portion
from services.runtime.errors import InvalidInput
from services.tasks.lesion import presentation
from services.tasks.lesion.answer import ANSWER, HEAD
from services.tasks.lesion.request import INPUTS, NAME, ScanRequest
from services.transport.binding import FormBinding, FormField, HttpBinding, Options
from services.transport.http import decoding
from services.transport.http.answer_json import schema, writer
from services.transport.http.components import choice
from services.transport.http.predict_body import OPTION_FIELDS, PredictBody, form_options
from services.transport.http.struct_schema import documented, struct_schema

_WRITE = writer(ANSWER)
MAPS = tuple(OFFICIAL)
_FIELDS = {
    **{name: FormField(about, file=True, required=name == "flair") for name, about in INPUTS.items()},
    "maps": FormField(f"Volumes to be answered, with commas between, of {', '.join(MAPS)}; absent: all"),
    **OPTION_FIELDS,
    "name": FormField(NAME.capitalize()),
}


def _described(name: str) -> msgspec.Meta:
    return msgspec.Meta(description=_FIELDS[name].description)


class ScanBody(PredictBody):
    """Scan as JSON; files as base64."""

    EXAMPLE = '{"flair": "<the NIfTI file as base64>"}, or a form: curl -F flair=@FLAIR.nii.gz'

    flair: Annotated[bytes, _described("flair")]
    t1: Annotated[bytes, _described("t1")] = b""
    brain_mask: Annotated[bytes, _described("brain_mask")] = b""
    maps: Annotated[list[Annotated[str, documented(choice("Map", MAPS))]], _described("maps")] = msgspec.field(
        default_factory=list
    )
    name: Annotated[str, _described("name")] = ""


def binding() -> HttpBinding:
    """Return the HTTP binding of scans."""
    return HttpBinding(
        read_json=read_json,
        answer_json=answer,
        request_schema=struct_schema(ScanBody),
        response_schema=schema(ANSWER, unit="scan"),
        form=FormBinding(_FIELDS, read_form),
        files=lambda answers: {f"{name}.nii.gz": content for name, content in presentation.files(answers[0]).items()},
    )


def read_json(body: bytes) -> tuple[ScanRequest, Options]:
    """Read a request from JSON.

    Raises:
        InvalidInput: not JSON of this form, or an unknown purpose or map.
    """
    parsed = decoding.json_body(body, ScanBody)
    request = ScanRequest(parsed.flair, parsed.t1, parsed.brain_mask, _maps(parsed.maps), parsed.name)
    return request, parsed.options(HEAD)


def read_form(fields: Mapping[str, bytes]) -> tuple[ScanRequest, Options]:
    """Read a request from a form.

    Raises:
        InvalidInput: a text that is not UTF-8, or an unknown purpose or map.
    """
    texts = decoding.texts(fields, _FIELDS)
    names = [name.strip() for name in texts.get("maps", "").split(",")]
    request = ScanRequest(
        fields["flair"],
        fields.get("t1", b""),
        fields.get("brain_mask", b""),
        _maps([name for name in names if name]),
        texts.get("name", ""),
    )
    return request, form_options(texts, HEAD)


def answer(answers: list[Portion]) -> dict[str, Any]:
    """Return the JSON of a scan, without its volumes."""
    (portion,) = answers
    return _WRITE(presentation.record(portion))


def _maps(names: list[str]) -> tuple[str, ...]:
    for name in names:
        if name not in MAPS:
            raise InvalidInput.about("maps", name[:40], code="unknown_field", allowed=", ".join(MAPS))
    return tuple(names)
