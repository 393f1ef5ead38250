"""Scans over HTTP: forms with files, or JSON with base64; answers as JSON and NIfTI files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from models.tasks.lesion.data.files import OFFICIAL
from models.tasks.lesion.spec import LESIONS
from services.ledger.contract import Portion
from services.runtime.errors import InvalidInput
from services.tasks.lesion import words
from services.tasks.lesion.task import ScanRequest
from services.transport.binding import FormBinding, FormField, HttpBinding, Options, stricter
from services.transport.http import decoding
from services.transport.http.components import COUNT, NUMBER_OR_NULL, PURPOSE, PURPOSE_OR_NULL, SHARE, choice
from services.transport.http.rows import purpose
from services.transport.http.single import decided, decided_schema, record, remark_schema, told

_HEADS = (LESIONS.name,)
MAPS = tuple(OFFICIAL)
_UNIT = "the unit of the scan's measure"
_NIFTI = "NIfTI-1 or NIfTI-2 file, plain or gzipped"
_FIELDS = {
    "flair": FormField(f"FLAIR image, {_NIFTI}", file=True, required=True),
    "t1": FormField(f"T1-weighted image on the grid of the FLAIR image, {_NIFTI}; where the model wants it", file=True),
    "brain_mask": FormField(f"Where the brain is, 0 and 1 on the grid of the FLAIR image, {_NIFTI}", file=True),
    "maps": FormField(f"Volumes to be answered, with commas between, of {', '.join(MAPS)}; absent: all"),
    "purpose": FormField("decide, explore or replay; absent: decide"),
    "defer_above": FormField("Defer above this uncertainty even where the policy would answer, unit of the measure"),
    "name": FormField("The caller's own name of the scan, echoed; never stored"),
}


class ScanBody(decoding.JsonBody):
    """The same as JSON; files as base64."""

    EXAMPLE = '{"flair": "<the NIfTI file as base64>"}, or a form: curl -F flair=@FLAIR.nii.gz'

    flair: bytes
    t1: bytes = b""
    brain_mask: bytes = b""
    maps: list[str] = msgspec.field(default_factory=list)
    purpose: str | None = None
    defer_above: float | None = None
    name: str = ""


def binding() -> HttpBinding:
    """Scans over HTTP."""
    return HttpBinding(
        read_json=read_json,
        answer_json=answer,
        request_schema=_request_schema(),
        response_schema=_RESPONSE,
        form=FormBinding(_FIELDS, read_form),
        files=lambda answers: {f"{name}.nii.gz": content for name, content in words.files(answers[0]).items()},
    )


def read_json(body: bytes) -> tuple[ScanRequest, Options]:
    """
    Raises:
        InvalidInput: not JSON of this form, or an unknown purpose or map.
    """
    parsed = decoding.json_body(body, ScanBody)
    request = ScanRequest(parsed.flair, parsed.t1, parsed.brain_mask, _maps(parsed.maps), parsed.name)
    return request, Options(purpose(parsed.purpose), stricter(parsed.defer_above, _HEADS))


def read_form(fields: Mapping[str, bytes]) -> tuple[ScanRequest, Options]:
    """
    Raises:
        InvalidInput: a text that is none, or an unknown purpose or map.
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
    wish = decoding.number("defer_above", texts["defer_above"], _UNIT) if "defer_above" in texts else None
    return request, Options(purpose(texts.get("purpose")), stricter(wish, _HEADS))


def answer(answers: list[Portion]) -> dict[str, Any]:
    """All that is said of a scan but its volumes."""
    (portion,) = answers
    return {
        "model": portion.model,
        "profile": portion.profile,
        "recorded": portion.recorded,
        "purpose": portion.purpose,
        "name": portion.payload.name,
        **decided(portion, LESIONS.name),
        **words.facts(portion),
    }


def _maps(names: list[str]) -> tuple[str, ...]:
    for name in names:
        if name not in MAPS:
            raise InvalidInput(
                f"maps names {name[:40]!r}; use one of {', '.join(MAPS)}",
                code="unknown_field",
                field="maps",
                value=name[:40],
                allowed=", ".join(MAPS),
            )
    return tuple(names)


def _request_schema() -> dict[str, Any]:
    file = {"type": "string", "contentEncoding": "base64"}
    properties: dict[str, Any] = {
        name: (file if field.file else {"type": "string"}) | {"description": field.description}
        for name, field in _FIELDS.items()
    }
    properties["maps"] = {"type": "array", "items": choice("Map", MAPS), "description": "Absent or empty: all."}
    properties["purpose"] = PURPOSE_OR_NULL
    properties["defer_above"] = NUMBER_OR_NULL | {"description": _FIELDS["defer_above"].description}
    return {"type": "object", "additionalProperties": False, "required": ["flair"], "properties": properties}


_INTERVAL = record(
    {
        "level": SHARE | {"description": "Coverage."},
        "lower": told("In the unit of the figure."),
        "upper": told("Likewise."),
    },
    title="Interval",
)
_LESION = record(
    {
        "label": {"type": "integer", "minimum": 1, "description": "From 1, largest first."},
        "volume_mm3": told("mm³."),
        "centroid_mm": {
            "type": "array",
            "minItems": 3,
            "maxItems": 3,
            "items": {"type": "number"},
            "description": "x, y, z by the affine, mm.",
        },
        "mean_probability": told("0 to 1."),
    },
    title="Lesion",
)
_LESION["properties"]["look_at"] = told("true: look at it; false: trust it; absent without advice.", "boolean")
_LESION["properties"]["structural_uncertainty"] = told("0 to 1; absent for single models.")
_RESPONSE: dict[str, Any] = record(
    {
        "model": told("Served artefact.", "string"),
        "profile": told("Numeric profile that computed the scores.", "string"),
        "recorded": told("Whether the decision is durable in the ledger.", "boolean"),
        "purpose": PURPOSE,
        "name": told("The caller's own, echoed.", "string"),
        **decided_schema("scan"),
        "remarks": {"type": "array", "items": remark_schema("looks_raw, thick_slices, bias_field, noisy")},
    }
)
_RESPONSE["properties"] |= {
    "count": COUNT | {"description": "Lesions."},
    "count_interval": _INTERVAL,
    "volume_mm3": told("Of all lesions, mm³."),
    "volume_interval": _INTERVAL,
    "total": told("Mean entropy over the brain, nats."),
    "data": told("Mean of the members' entropies over the brain, nats; absent for single models."),
    "knowledge": told("Mean mutual information over the brain, nats; absent for single models."),
    "rmi": told("Mean reverse mutual information over the brain, nats; absent for single models."),
    "structural": told("One minus the members' mean Dice with the mask, 0 to 1; absent for single models."),
    "lesions": {"type": "array", "items": _LESION},
    "brain_ml": told("Volume of the brain as used, ml."),
    "resampled": told("Whether the image was interpolated to voxels of 1 mm.", "boolean"),
    "look_at_voxels": told("Share of brain voxels that are worth looking at, 0 to 1."),
}
