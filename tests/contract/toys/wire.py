"""How toys are read and written: the same JSON on both protocols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from services.errors import InvalidInput
from services.pipeline import Description, Portion
from services.policy import Decision, Shift
from services.tenant import Tenant
from services.transport.binding import GrpcBinding, HttpBinding, Message, Options, StreamFrames, stricter
from services.transport.http.body import describe
from services.work import ItemFailed

JSON = Message(decode=lambda data: msgspec.json.decode(data), encode=msgspec.json.encode)
Says = Callable[[Any, int], Any]
"""A head's statistics and a unit's index to what its predictive says."""


def wishes(body: dict[str, Any], heads: tuple[str, ...]) -> Options:
    """Purpose and stricter thresholds of a JSON body."""
    return Options(body.get("purpose"), stricter(body.get("defer_above"), heads))


def answer(answers: list[Portion | ItemFailed], says: Says) -> dict[str, Any]:
    """Items in the order of the request, whatever order they finished in."""
    portions = [one for one in answers if isinstance(one, Portion)]
    items = [_item(portion, index, says) for portion in portions for index in range(portion.count)]
    failed = [{"item": one.item, "error": describe(one.error)} for one in answers if isinstance(one, ItemFailed)]
    return {
        "finished": [item["item"] for item in items],
        "items": sorted(items, key=lambda item: item["item"]),
        "failed": failed,
        "recorded": all(portion.recorded for portion in portions),
        "purpose": portions[0].purpose if portions else None,
        "model": portions[0].model if portions else None,
    }


def _item(portion: Portion, index: int, says: Says) -> dict[str, Any]:
    heads = {}
    hidden = False
    for name, verdict in portion.verdicts.items():
        withheld = bool(verdict.hidden[index])
        hidden |= withheld
        heads[name] = {
            "says": None if withheld else says(portion.predictives[name], index),
            "decision": Decision(verdict.decisions[index]).name,
            "uncertainty": float(verdict.uncertainty[index]),
            "measure": verdict.policy.measure,
            "threshold": verdict.policy.threshold,
            "policy": verdict.policy.version,
            "shifted": [reason.name for reason in Shift if verdict.shifts[index] & reason],
            "id": portion.ids[name].text(index),
        }
    payload = None if hidden or not isinstance(portion.payload, list) else portion.payload[index]
    return {"item": portion.first + index, "heads": heads, "payload": payload}


def tenant(
    pipeline: Any,
    description: Description,
    read: Callable[[Any], tuple[Any, Options]],
    says: Says,
    stream: StreamFrames | None = None,
) -> Tenant:
    """The bindings of a toy; ``read`` gets the decoded JSON."""

    def read_json(body: bytes) -> tuple[Any, Options]:
        try:
            return read(JSON.decode(body))
        except msgspec.MsgspecError as error:
            raise InvalidInput(f"not JSON: {error}", code="not_a_body") from error

    return Tenant(
        pipeline=pipeline,
        description=description,
        grpc=GrpcBinding(
            service=f"toy.{description.task.capitalize()}Service",
            request=JSON,
            response=JSON,
            read=read,
            answer=lambda answers: answer(answers, says),
            stream=stream,
        ),
        http=HttpBinding(
            read_json=read_json,
            answer_json=lambda answers: answer(answers, says),
            request_schema={"type": "object"},
            response_schema={"type": "object"},
        ),
        reflected=False,
    )


def must_be_body(body: Any, name: str) -> list[Any]:
    """The list under ``name`` of a JSON body."""
    if not isinstance(body, dict) or not isinstance(body.get(name), list) or not body[name]:
        raise InvalidInput(f"the body needs a list {name!r} that is not empty", code="not_a_body", field=name)
    found: list[Any] = body[name]
    return found
