"""Routes of policies: show, change (compare and set), history."""

import json
import math
from dataclasses import fields
from typing import Annotated, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from services.policy.changes import AUDIT_RATES, AUTHOR_CHARACTERS, REASON_CHARACTERS, PolicyChange
from services.policy.decision import Audits, Policy, PolicyBook
from services.policy.log import Entry
from services.policy.sync import PolicyKeeper, required
from services.runtime.errors import InvalidInput
from services.runtime.settings import Settings
from services.transport.actor import ANONYMOUS, author
from services.transport.http import decoding
from services.transport.http.body import json_only, json_response, read_body
from services.transport.http.components import AUDITS, NUMBER_OR_NULL, OF_MEASURE, Json, or_null
from services.transport.http.request import within
from services.transport.http.struct_schema import documented

_RETENTION = NUMBER_OR_NULL | {
    "exclusiveMinimum": 0,
    "exclusiveMaximum": 1,
    "description": "Share of in-domain units to answer.",
}
_RATE = NUMBER_OR_NULL | {
    "minimum": AUDIT_RATES[0],
    "maximum": AUDIT_RATES[1],
    "description": "Share of answered units whose label is requested.",
}
_CERTIFICATE: Json = {
    "type": ["object", "null"],
    "additionalProperties": True,
    "description": "As `demur calibrate` writes it.",
}


class ChangeBody(decoding.JsonBody):
    """Change of a policy; absent fields stay as they are. At most one of target_retention, threshold, defer_all."""

    EXAMPLE = '{"target_retention": 0.9, "reason": "..."}'

    expected: Annotated[
        str, msgspec.Meta(description="Version that the change was made for; empty: whatever is in force.")
    ] = ""
    author: Annotated[str, documented({"type": "string", "maxLength": AUTHOR_CHARACTERS})] = ANONYMOUS
    reason: Annotated[str, documented({"type": "string", "maxLength": REASON_CHARACTERS})] = ""
    target_retention: Annotated[float | None, documented(_RETENTION)] = None
    threshold: Annotated[float | None, msgspec.Meta(description=f"{OF_MEASURE}.")] = None
    defer_all: bool = False
    certificate: Annotated[dict[str, Any] | None, documented(_CERTIFICATE)] = None
    audit_rate: Annotated[float | None, documented(_RATE)] = None
    audits: Annotated[
        Audits | None, documented(or_null(AUDITS, "How these are drawn; see strata. Absent or null: as before."))
    ] = None
    defer_on_shift: bool | None = None
    withhold: bool | None = None


class PolicyRoutes:
    """Endpoints of policies; without a ledger they are read-only."""

    def __init__(self, book: PolicyBook, keeper: PolicyKeeper | None, settings: Settings) -> None:
        self._book = book
        self._keeper = keeper
        self._settings = settings

    async def show(self, request: Request) -> Response:
        return json_response({"policies": [shown(policy) for policy in self._book.all()]})

    async def one(self, request: Request) -> Response:
        """Handle GET, the history of a head, and PUT, a change."""
        head = request.path_params["head"]
        keeper = required(self._keeper)
        if request.method != "PUT":
            return json_response({"events": [_event(entry) for entry in await keeper.history(head)]})
        json_only(request)
        async with within(self._settings.request_seconds):
            body = await read_body(request, self._settings.max_message_bytes)
        return json_response(_event(await keeper.set(read_change(head, body))))


def read_change(head: str, body: bytes) -> PolicyChange:
    """Read a change of the policy of a head.

    Raises:
        InvalidInput: not JSON of this form.
    """
    change = decoding.json_body(body, ChangeBody)
    wishes = {field.name: getattr(change, field.name) for field in fields(PolicyChange) if field.name != "head"}
    wishes["author"] = author(change.author)
    try:
        wishes["certificate"] = "" if change.certificate is None else json.dumps(change.certificate, sort_keys=True)
    except RecursionError as error:  # the parser allows deeper nesting than the writer
        raise InvalidInput("the certificate is nested too deeply", code="not_a_body", field="certificate") from error
    return PolicyChange(head=head, **wishes)


def shown(policy: Policy) -> dict[str, Any]:
    """Return a policy as JSON; an infinite threshold, which defers nothing or everything, is null."""
    goals = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in vars(policy).items()
        if name != "version"
    }
    certificate = json.loads(policy.certificate) if policy.certificate else None
    return {"version": policy.version, "audits": policy.audits} | goals | {"certificate": certificate}


def _event(entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "time": entry.time,
        "author": entry.author,
        "reason": entry.reason,
        "policy": shown(entry.policy),
    }
