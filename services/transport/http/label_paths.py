"""Part of the OpenAPI document for labels and resolutions."""

from models.head import Head
from services.labels.intake import Outcome
from services.labels.requests import STATES
from services.transport.http import label_bodies as bodies
from services.transport.http.components import COUNT, Json, choice, ref
from services.transport.http.operations import ACTOR, answer, array, closed, nullable, operation
from services.transport.http.struct_schema import struct_schema

_TEXT: Json = {"type": "string"}
OUTCOME = choice("Outcome", (outcome.name.lower() for outcome in Outcome))
STATE = choice("RequestState", STATES)


def label_paths(errors: Json) -> Json:
    """Return operations by path; ``errors`` are error responses common to all of them."""
    missing = answer("No such unit.", ref("Error"))
    return {
        "/v1/labels": {
            "post": operation(
                "submitLabels",
                "Labels, in one batch: durable when answered, once however often they are sent.",
                "Labels",
                "LabelsTaken",
                errors,
                [ACTOR],
            )
        },
        "/v1/commit": {
            "post": operation(
                "commit",
                "Make explored units decided ones: durable, audited from now on.",
                "Commit",
                "Committed",
                errors,
                [],
            )
        },
        "/v1/erase": {
            "post": operation(
                "erase",
                "Forget inputs, evidence and labels of units; the numbers stay.",
                "Erasure",
                "Erased",
                errors,
                [ACTOR],
            )
        },
        "/v1/units/{unit}/resolution": {
            "get": operation(
                "getResolution",
                "What became of a unit.",
                None,
                "Resolution",
                errors | {"404": missing},
                [{"name": "unit", "in": "path", "required": True, "schema": bodies.UNIT}, _wait_parameter()],
            )
        },
        "/v1/resolutions": {
            "post": operation("listResolutions", "What became of units.", "ResolutionQuery", "Resolutions", errors, [])
        },
        "/v1/resolutions/callbacks": {
            "post": operation(
                "registerCallback",
                "Have an address told of the labels of units, once each, signed (DEMUR_CALLBACKS allows addresses).",
                "Callback",
                "CallbackTaken",
                errors,
                [],
            )
        },
    }


def label_schemas(heads: tuple[Head, ...]) -> Json:
    """Return schemas by name."""
    parts = label_parts(heads)
    value = parts[bodies.VALUE]
    rejected = closed({"index": COUNT, "error": ref("ErrorDetail")}, ["index", "error"])
    requests = {name: struct_schema(kind, parts) for name, kind in bodies.REQUESTS.items()}
    return requests | {
        "LabelsTaken": closed(
            {"outcomes": array(OUTCOME), "rejected": array(rejected | {"title": "RejectedLabel"})},
            ["outcomes", "rejected"],
        ),
        "LabelTaken": closed({"outcome": OUTCOME}, ["outcome"]),
        "Resolution": _resolution(value),
        "Resolutions": closed({"resolutions": array(ref("Resolution"))}, ["resolutions"]),
        "CallbackTaken": closed({"registered": COUNT | {"description": "How many are new."}}, ["registered"]),
        "Erased": closed({"erased": COUNT | {"description": "How many had anything to forget."}}, ["erased"]),
        "Committed": closed(
            {
                "units": COUNT | {"description": "Now decided, with those of earlier, equal calls."},
                "unknown": array(bodies.UNIT)
                | {"description": "Not held any more: ask again with the purpose decide."},
            },
            ["units", "unknown"],
        ),
    }


def label_parts(heads: tuple[Head, ...]) -> dict[str, Json]:
    """Return the parts of schemas that depend on the heads of the model."""
    value: Json = {
        "description": "; ".join(f"{head.name}: {head.label}" for head in heads)
        + '. A file is {"base64": "..."}, positions are [[x, y] or null, ...].'
    }
    return {
        bodies.HEAD: choice("HeadName", (head.name for head in heads), "Needed where there are several."),
        bodies.VALUE: value,
    }


def _resolution(value: Json) -> Json:
    status = ("resolved", "pending", "unresolved", "erased", "unknown")
    return closed(
        {
            "unit": bodies.UNIT,
            "status": choice(
                "ResolutionStatus", status, "pending: asked for; unresolved: the request ended without a label."
            ),
            "state": STATE,
            "head": _TEXT,
            "value": value,
            "label": {"type": "string", "description": "What the value is, with its unit."},
            "source": choice("ResolutionSource", ("requested", "census")),
            "version": {"type": "integer", "minimum": 1},
            "observed": nullable(bodies.TIME),
            "received": bodies.TIME,
        },
        ["unit", "status"],
    )


def _wait_parameter() -> Json:
    return {"name": "wait", "in": "query", "schema": bodies.WAIT}
