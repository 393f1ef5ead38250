"""The toys' bodies as requests of the Open Inference Protocol, over gRPC and HTTP, and what answers them."""

from collections.abc import AsyncIterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from services.contract_tests import tensors as arrays_by_name
from services.contract_tests.tensors import SERVICE, of_document, of_message
from services.transport.oip.datatypes import of_bytes
from services.transport.oip.protocol import oip_pb2
from tests.contract.serving import MODEL, Served
from tests.contract.toys import rows, texts
from tests.contract.toys.toy import Body, Toy

VERSION = MODEL.rpartition(":")[2]
NAN = float("nan")
Tensors = dict[str, NDArray[Any]]


def tensors(toy: Toy, body: Body) -> Tensors:
    """The inputs that a toy's body amounts to."""
    if toy is rows.TOY:
        named = body["rows"]
        return {
            name: np.array([NAN if row[name] is None else row[name] for row in named], np.float32) for name in named[0]
        }
    if toy is texts.TOY:
        return {"sentences": of_bytes(sentence.encode() for sentence in body["sentences"])}
    return {
        "slices": np.array([[NAN if value is None else value for value in part] for part in body["slices"]], np.float32)
    }


def message(toy: Toy, body: Body, **more: Any) -> Any:
    """The request of a toy's body; its wishes are parameters."""
    return arrays_by_name.message(toy.name, tensors(toy, body), wishes(body), **more)


def wishes(body: Body) -> dict[str, Any]:
    parameters = {name: value for name, value in body.items() if name not in ("rows", "sentences", "slices")}
    by_head = parameters.pop("defer_above", {})
    if not isinstance(by_head, dict):
        return parameters | {"defer_above": by_head}
    return parameters | {f"defer_above_{head}": value for head, value in by_head.items()}


def method(served: Served, name: str = "ModelInfer") -> Any:
    return served.channel.unary_unary(
        f"/{SERVICE}/{name}",
        request_serializer=lambda request: request.SerializeToString(),
        response_deserializer=getattr(oip_pb2, f"{name}Response").FromString,
    )


def stream(served: Served, requests: list[Any]) -> AsyncIterator[Any]:
    call = served.channel.stream_stream(
        f"/{SERVICE}/ModelStreamInfer",
        request_serializer=lambda request: request.SerializeToString(),
        response_deserializer=oip_pb2.ModelStreamInferResponse.FromString,
    )
    responses: AsyncIterator[Any] = call(iter(requests))
    return responses


async def over_grpc(served: Served, body: Body, **more: Any) -> Tensors:
    return of_message(await method(served)(message(served.toy, body, **more)))


async def posted(served: Served, body: Body, **more: Any) -> Any:
    """The HTTP response to JSON; data are nested, as the shape is."""
    content = arrays_by_name.document(tensors(served.toy, body), wishes(body), **more)
    return await served.http.post(f"/v2/models/{served.toy.name}/infer", content=content)


async def over_http(served: Served, body: Body, **more: Any) -> Tensors:
    response = await posted(served, body, **more)
    assert response.status_code == 200, response.text
    return of_document(response.json())


ASKS = {"grpc": over_grpc, "http": over_http}


def first_head(toy: Toy, outputs: Tensors, word: str) -> NDArray[Any]:
    head = next(iter(toy.strict))
    return outputs[f"{head}_{word}" if len(toy.strict) > 1 else word]


def says(toy: Toy, outputs: Tensors) -> NDArray[Any]:
    """The prediction of the first head."""
    return outputs["level_prediction" if toy is rows.TOY else f"{next(iter(toy.strict))}_says"]
