"""Reviewers over each transport: the same calls and the same documents, and every byte that a reviewer received."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import grpc
from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor

from demur.v1 import labels_pb2
from services.contract_tests.service import detail
from services.labels.label_types import from_json
from services.transport.grpc.label_messages import value, value_message
from tests.contract.serving import Served

Transport = Literal["http", "grpc"]
TRANSPORTS: tuple[Transport, ...] = ("http", "grpc")


class Call(NamedTuple):
    """One call of the review queue in both transports."""

    rpc: str
    request: Any
    verb: str
    path: str


CALLS = {
    "claim": Call("Claim", labels_pb2.ClaimRequest, "POST", "/v1/requests/claim"),
    "waiting": Call("ListWaiting", labels_pb2.ListWaitingRequest, "GET", "/v1/requests/waiting"),
    "counts": Call("CountRequests", labels_pb2.CountRequestsRequest, "GET", "/v1/requests"),
    "input": Call("GetInput", labels_pb2.GetInputRequest, "GET", "/v1/requests/{request}/input"),
    "neighbours": Call("GetNeighbours", labels_pb2.GetNeighboursRequest, "GET", "/v1/requests/{request}/neighbours"),
    "extend": Call("Extend", labels_pb2.ExtendRequest, "POST", "/v1/requests/{request}/extend"),
    "release": Call("Release", labels_pb2.ReleaseRequest, "POST", "/v1/requests/{request}/release"),
    "skip": Call("Skip", labels_pb2.SkipRequest, "POST", "/v1/requests/{request}/skip"),
    "submit": Call("SubmitClaimed", labels_pb2.SubmitClaimedRequest, "POST", "/v1/requests/{request}/submit"),
    "correct": Call("Correct", labels_pb2.SubmitClaimedRequest, "POST", "/v1/requests/{request}/correct"),
    "reveal": Call("Reveal", labels_pb2.RevealRequest, "POST", "/v1/requests/{request}/reveal"),
    "flag": Call("Flag", labels_pb2.FlagRequest, "POST", "/v1/requests/{request}/flag"),
}
"""Every call of the review queue by its name in the client."""
METHODS = labels_pb2.DESCRIPTOR.services_by_name["LabelService"].methods_by_name


class Refused(Exception):
    """Refusal of a call, with the fields of its error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error)
        self.error = error

    @property
    def code(self) -> str:
        return str(self.error.get("code"))


@dataclass
class Reviewer:
    """A reviewer over one transport. Fields and documents are those of the gRPC messages, with words for enums."""

    served: Served
    transport: Transport
    name: str = "anna"
    token: str = ""
    received: list[bytes] = field(default_factory=list)
    """Everything that came back: bodies, headers and metadata, of answers and of refusals."""

    async def __call__(self, name: str, claimed: dict[str, Any] | None = None, /, **fields: Any) -> dict[str, Any]:
        """Return the answer to a call.

        Args:
            claimed: request whose id and lease go with the call, unless there are others among the fields.

        Raises:
            Refused: with the error of the service.
        """
        if claimed is not None:
            fields = {"request": claimed["request"], "lease": claimed["lease"]} | fields
        send = self._http if self.transport == "http" else self._grpc
        return await send(CALLS[name], name, fields)

    async def claim(self, **fields: Any) -> list[dict[str, Any]]:
        requests: list[dict[str, Any]] = (await self("claim", **fields))["requests"]
        return requests

    async def _http(self, call: Call, name: str, fields: dict[str, Any]) -> dict[str, Any]:
        headers = {"demur-actor": self.name} | ({"authorization": f"Bearer {self.token}"} if self.token else {})
        path = call.path.format(request=fields.pop("request", ""))
        if call.verb == "GET":
            headers |= {"demur-lease": fields.pop("lease")} if "lease" in fields else {}
            response = await self.served.http.get(path, params=fields, headers=headers)
        else:
            response = await self.served.http.post(path, json=_body(fields), headers=headers)
        self.received += [response.content, repr(response.headers.raw).encode()]
        if response.status_code != 200:
            raise Refused(response.json()["error"])
        if name == "input":
            return {"media_type": response.headers["content-type"], "content": response.content}
        return _as_message(name, response.json())

    async def _grpc(self, call: Call, name: str, fields: dict[str, Any]) -> dict[str, Any]:
        unknown = fields.pop("unknown", b"")
        message = _message(call.request, fields)
        response = METHODS[call.rpc].output_type
        kind: Any = getattr(labels_pb2, response.name)
        key = ("authorization", f"Bearer {self.token}") if self.token else ("demur-actor", self.name)
        method = self.served.channel.unary_unary(f"/demur.v1.LabelService/{call.rpc}")
        sent = method(message.SerializeToString() + unknown, metadata=(key,))
        try:
            content = await sent
        except grpc.aio.AioRpcError as error:
            self.received.append(f"{error.details()} {error.trailing_metadata()}".encode())
            raise Refused(detail(error)) from error
        finally:
            self.received.append(f"{await sent.initial_metadata()} {await sent.trailing_metadata()}".encode())
        self.received.append(content)
        return _document(kind.FromString(content))


def _body(fields: dict[str, Any]) -> dict[str, Any]:
    """JSON of a call; the two fields that gRPC has in another form are turned into those of HTTP."""
    fields = dict(fields)
    if "without_inputs" in fields:
        fields["inputs"] = not fields.pop("without_inputs")
    return fields


def _message(kind: Any, fields: dict[str, Any]) -> Any:
    fields = dict(fields)
    if "queue" in fields:
        fields["queue"] = f"REVIEW_QUEUE_{fields['queue'].upper()}"
    if "requests" in fields:
        fields["requests"] = labels_pb2.RequestIds(requests=fields["requests"])
    if "value" in fields:
        fields["value"] = value_message(fields["value"])
    return kind(**fields)


def _document(message: Any) -> dict[str, Any]:
    """Return a message as a document; None for optional fields that are absent."""
    return {field.name: _field(message, field) for field in message.DESCRIPTOR.fields}


def _field(message: Any, field: FieldDescriptor) -> Any:
    content = getattr(message, field.name)
    if field.is_repeated:
        return [_shown(part, field) for part in content]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _shown(content, field)


def _shown(content: Any, field: FieldDescriptor) -> Any:
    if field.enum_type is not None:
        return _word(field.enum_type, content)
    if field.message_type is None:
        return content
    special: dict[Any, Callable[[Any], Any]] = {
        labels_pb2.LabelValue.DESCRIPTOR: value,
        labels_pb2.ShownPrediction.DESCRIPTOR: lambda prediction: value(prediction.value),
    }
    return special.get(field.message_type, _document)(content)


def _word(kind: EnumDescriptor, number: int) -> str:
    prefix = {"ReviewQueue": "REVIEW_QUEUE_", "LabelOutcome": "LABEL_OUTCOME_"}[kind.name]
    return str(kind.values_by_number[number].name).removeprefix(prefix).lower()


def _as_message(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """Return a document of HTTP in the form of its message."""
    if name == "claim":
        return {"requests": [_request(request) for request in document["requests"]]}
    if name == "waiting":
        return document | {"next": document["next"] or ""}
    if name == "counts":
        heads = document.pop("heads")
        counts = [
            {"head": head, "state": state, "count": count}
            for head, states in heads.items()
            for state, count in states.items()
        ]
        return {"counts": counts} | document
    if name == "reveal":
        return (
            document
            | {"prediction": from_json(document["prediction"])}
            | {"deferred": {"defer": True, "answer": False}[document.pop("decision")]}
        )
    return document


def _request(document: dict[str, Any]) -> dict[str, Any]:
    shown = document.pop("input") or {}
    columns = [{"text": ""} | column for column in shown.get("columns", ())]
    content = from_json({"base64": shown["base64"]}) if "base64" in shown else b""
    return document | {"media_type": shown.get("media_type", ""), "columns": columns, "input": content}
