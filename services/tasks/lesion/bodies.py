"""Scans over HTTP: forms with files, or JSON with base64; answers as JSON and NIfTI files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from models.tasks.lesion.files import OFFICIAL
from models.tasks.lesion.spec import LESIONS
from services.errors import InvalidInput
from services.pipeline import Portion
from services.tasks.lesion import words
from services.tasks.lesion.task import ScanRequest
from services.transport.binding import FormBinding, FormField, HttpBinding, Options, stricter
from services.transport.http.rows import purpose

_HEADS = (LESIONS.name,)
MAPS = tuple(OFFICIAL)
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


class ScanBody(msgspec.Struct, forbid_unknown_fields=True):
    """The same as JSON; files as base64."""

    flair: bytes
    t1: bytes = b""
    brain_mask: bytes = b""
    maps: list[str] = []
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
    try:
        parsed = msgspec.json.decode(body, type=ScanBody)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"the body is not the JSON that this route takes: {error}", code="not_a_body") from error
    request = ScanRequest(parsed.flair, parsed.t1, parsed.brain_mask, _maps(parsed.maps), parsed.name)
    return request, Options(purpose(parsed.purpose), stricter(parsed.defer_above, _HEADS))


def read_form(fields: Mapping[str, bytes]) -> tuple[ScanRequest, Options]:
    """
    Raises:
        InvalidInput: a text that is none, or an unknown purpose or map.
    """
    texts = {name: _text(name, fields[name]) for name, field in _FIELDS.items() if name in fields and not field.file}
    names = [name.strip() for name in texts.get("maps", "").split(",")]
    request = ScanRequest(
        fields["flair"],
        fields.get("t1", b""),
        fields.get("brain_mask", b""),
        _maps([name for name in names if name]),
        texts.get("name", ""),
    )
    wish = _number(texts["defer_above"]) if texts.get("defer_above") else None
    return request, Options(purpose(texts.get("purpose") or None), stricter(wish, _HEADS))


def answer(answers: list[Portion]) -> dict[str, Any]:
    """All that is said of a scan but its volumes."""
    (portion,) = answers
    return {
        "model": portion.model,
        "recorded": portion.recorded,
        "purpose": portion.purpose,
        "name": portion.payload.name,
        **words.decided(portion),
        **words.facts(portion),
    }


def _text(name: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} is no UTF-8 text", code="not_a_form", field=name) from error


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInput(
            f"defer_above = {text[:40]!r} is no number; give one in the unit of the scan's measure",
            code="not_a_number",
            field="defer_above",
            value=text[:40],
        ) from error


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
    properties["maps"] = {"type": "array", "items": {"enum": list(MAPS)}, "description": "Absent or empty: all."}
    properties["purpose"] = {"enum": ["decide", "explore", "replay", None], "description": "null: decide."}
    properties["defer_above"] = {"type": ["number", "null"], "description": _FIELDS["defer_above"].description}
    return {"type": "object", "additionalProperties": False, "required": ["flair"], "properties": properties}


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties} | more


def _unit(description: str, kind: str = "number") -> dict[str, Any]:
    return {"type": kind, "description": description}


_INTERVAL = _object(
    {"level": _unit("Coverage, 0 to 1."), "lower": _unit("In the unit of the figure."), "upper": _unit("Likewise.")}
)
_LESION = _object(
    {
        "label": _unit("From 1, largest first.", "integer"),
        "volume_mm3": _unit("mm³."),
        "centroid_mm": {"type": "array", "items": {"type": "number"}, "description": "x, y, z by the affine, mm."},
        "mean_probability": _unit("0 to 1."),
    }
)
_LESION["properties"]["look_at"] = _unit("true: look at it; false: trust it; absent without advice.", "boolean")
_LESION["properties"]["structural_uncertainty"] = _unit("0 to 1; absent for single models.")
_REMARK = _object(
    {
        "code": _unit("looks_raw, thick_slices, bias_field, noisy, ...", "string"),
        "message": _unit("For people.", "string"),
        "value": _unit("In `unit`."),
        "unit": _unit("Of the three numbers.", "string"),
        "lower": {"type": ["number", "null"], "description": "Training scans lay above; null: no limit."},
        "upper": {"type": ["number", "null"], "description": "Training scans lay below; null: no limit."},
    }
)
_RESPONSE: dict[str, Any] = _object(
    {
        "model": _unit("Served artefact.", "string"),
        "recorded": _unit("Whether the decision is durable in the ledger.", "boolean"),
        "purpose": {"enum": ["decide", "explore", "replay"]},
        "name": _unit("The caller's own, echoed.", "string"),
        "measure": _unit("What is compared with the threshold.", "string"),
        "uncertainty": {"type": ["number", "null"], "description": "Of the scan, unit of the measure."},
        "threshold": {"type": ["number", "null"], "description": "Deferred above; null: all or nothing, see policy."},
        "decision": {"enum": ["ANSWER", "DEFER", "CALLER_DEFERRED"]},
        "deferred": {"type": "boolean"},
        "shifted": {"type": "array", "items": {"type": "string"}},
        "policy": _unit("Version of the policy.", "string"),
        "prediction_id": _unit("Of the unit, for labels.", "string"),
        "remarks": {"type": "array", "items": _REMARK},
    }
)
_RESPONSE["properties"] |= {
    "count": _unit("Lesions.", "integer"),
    "count_interval": _INTERVAL,
    "volume_mm3": _unit("Of all lesions, mm³."),
    "volume_interval": _INTERVAL,
    "total": _unit("Mean entropy over the brain, nats."),
    "data": _unit("Mean of the members' entropies over the brain, nats; absent for single models."),
    "knowledge": _unit("Mean mutual information over the brain, nats; absent for single models."),
    "rmi": _unit("Mean reverse mutual information over the brain, nats; absent for single models."),
    "structural": _unit("One minus the members' mean Dice with the mask, 0 to 1; absent for single models."),
    "lesions": {"type": "array", "items": _LESION},
    "brain_ml": _unit("Volume of the brain as used, ml."),
    "resampled": _unit("Whether the image was interpolated to voxels of 1 mm.", "boolean"),
    "look_at_voxels": _unit("Share of brain voxels that are worth looking at, 0 to 1."),
}
