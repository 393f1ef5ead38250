"""How toys are read and written: the same JSON on both protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from services.ledger.contract import Portion, Purpose
from services.policy.decision import Decision, Shift
from services.request.contract import Description, ItemFailed, Priority, Progress
from services.runtime.errors import DemurError, InvalidInput
from services.transport.binding import (
    Begin,
    Chunk,
    FormBinding,
    GrpcBinding,
    HttpBinding,
    Message,
    OipBinding,
    Options,
    StreamFrames,
    stricter,
)
from services.transport.http.body import describe
from services.transport.served_model import ServedModel

JSON = Message(decode=lambda data: msgspec.json.decode(data), encode=msgspec.json.encode)
Says = Callable[[Any, int], Any]
"""A head's statistics and a unit's index to what its predictive says."""


def wishes(body: dict[str, Any], heads: tuple[str, ...]) -> Options:
    """Purpose and stricter thresholds of a JSON body."""
    return Options(body.get("purpose"), stricter(body.get("defer_above"), heads))


def answer(answers: list[Portion | ItemFailed], says: Says) -> dict[str, Any]:
    """Items in the order of the request, whatever order they finished in."""
    portions = [outcome for outcome in answers if isinstance(outcome, Portion)]
    items = [_item(portion, index, says) for portion in portions for index in range(portion.count)]
    failed = [
        {"item": outcome.item, "error": describe(outcome.error)}
        for outcome in answers
        if isinstance(outcome, ItemFailed)
    ]
    return {
        "finished": [item["item"] for item in items],
        "items": sorted(items, key=lambda item: item["item"]),
        "failed": failed,
        "recorded": all(portion.recorded for portion in portions),
        "purpose": portions[0].purpose if portions else None,
        "model": portions[0].model if portions else None,
        "profile": portions[0].profile if portions else None,
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


class Frames:
    """JSON frames: {"begin": wishes}, then {"chunk": n} with the fields of a single call.

    Before a chunk, {"part": fields} may bring the beginning of its lists.
    """

    request = JSON
    response = JSON
    purpose: Purpose = "explore"
    priority: Priority | None = Priority.BULK

    def __init__(
        self, read: Callable[[dict[str, Any]], Any], says: Says, heads: tuple[str, ...], *, itemised: bool
    ) -> None:
        """``itemised``: items and progress are told while a chunk runs."""
        self._read = read
        self._says = says
        self._heads = heads
        self._itemised = itemised

    def reader(self) -> Reader:
        return Reader(self._read, self._heads)

    def accepted(self) -> Any:
        return {"accepted": True}

    def item(self, sequence: int, one: Portion | ItemFailed) -> tuple[Any, int] | None:
        if not self._itemised:
            return None
        if isinstance(one, ItemFailed):
            return {"failed": sequence, "item": one.item, "error": describe(one.error)}, 0
        return self._answered("items_of", sequence, [one])

    def progress(self, sequence: int, progress: Progress) -> Any | None:
        if not self._itemised:
            return None
        return {"running": sequence, "fraction": progress.fraction, "stage": progress.stage}

    def results(self, sequence: int, answers: list[Any], told: int) -> list[tuple[Any, int]]:
        return [self._answered("result", sequence, [] if self._itemised else answers)]

    def failed(self, sequence: int, error: DemurError) -> Any:
        return {"failed": sequence, "error": describe(error)}

    def ended(self, chunks: int, units: int) -> Any:
        return {"progress": {"chunks": chunks, "units": units}}

    def _answered(self, kind: str, sequence: int, answers: list[Any]) -> tuple[Any, int]:
        body = answer(answers, self._says)
        return {kind: sequence, "answer": body}, sum(len(item["heads"]) for item in body["items"])


class Reader:
    """Reads the frames of one stream."""

    def __init__(self, read: Callable[[dict[str, Any]], Any], heads: tuple[str, ...]) -> None:
        self._read = read
        self._heads = heads
        self._begun = False
        self._parts: dict[str, Any] = {}

    def read(self, frame: Any) -> Begin | Chunk | None:
        if "begin" in frame:
            if self._begun:
                raise InvalidInput("a stream begins once", code="begun_twice")
            self._begun = True
            return Begin(wishes(frame["begin"], self._heads))
        self._begun = True
        if "part" in frame:
            self._parts = _joined(self._parts, frame["part"])
            return None
        if "chunk" not in frame:
            raise InvalidInput("neither begin nor chunk", code="empty_frame")
        whole = _joined(self._parts, frame)
        nbytes = len(JSON.encode(self._parts)) if self._parts else None
        self._parts = {}
        try:
            return Chunk(frame["chunk"], self._read(whole), nbytes)
        except DemurError as error:
            return Chunk(frame["chunk"], error)


def _joined(first: dict[str, Any], then: dict[str, Any]) -> dict[str, Any]:
    """Fields of both; lists one behind the other."""
    return first | {
        name: first.get(name, []) + value if isinstance(value, list) else value for name, value in then.items()
    }


def tenant(
    pipeline: Any,
    description: Description,
    read: Callable[[Any], tuple[Any, Options]],
    says: Says,
    oip: OipBinding,
    stream: StreamFrames | None = None,
    form: FormBinding | None = None,
    files: Callable[[list[Any]], Mapping[str, bytes]] | None = None,
) -> ServedModel:
    """The bindings of a toy; ``read`` gets the decoded JSON."""

    def read_json(body: bytes) -> tuple[Any, Options]:
        try:
            return read(JSON.decode(body))
        except msgspec.MsgspecError as error:
            raise InvalidInput(f"not JSON: {error}", code="not_a_body") from error

    return ServedModel(
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
            form=form,
            files=files,
        ),
        oip=oip,
        reflected=False,
    )


def must_be_body(body: Any, name: str) -> list[Any]:
    """The list under ``name`` of a JSON body."""
    if not isinstance(body, dict) or not isinstance(body.get(name), list) or not body[name]:
        raise InvalidInput(f"the body needs a list {name!r} that is not empty", code="not_a_body", field=name)
    return body[name]
