"""The toys' bodies as requests of the Open Inference Protocol, over gRPC and HTTP, and what answers them."""

import json
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from services.transport.oip.datatypes import DATATYPES, datatype_of, from_raw, of_bytes, to_raw
from services.transport.oip.protocol import oip_pb2
from tests.contract.serving import MODEL, Served
from tests.contract.toys import rows, texts
from tests.contract.toys.toy import Body, Toy

SERVICE = "inference.GRPCInferenceService"
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
    request = oip_pb2.ModelInferRequest(model_name=toy.name, **more)
    for name, array in tensors(toy, body).items():
        request.inputs.add(name=name, datatype=datatype_of(array), shape=array.shape)
        request.raw_input_contents.append(to_raw(array))
    for name, value in wishes(body).items():
        choice = "string_param" if isinstance(value, str) else "bool_param" if value is True else "double_param"
        setattr(request.parameters[name], choice, value)
    return request


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


def arrays(response: Any) -> Tensors:
    return {
        output.name: from_raw(output.name, DATATYPES[output.datatype], content, int(np.prod(output.shape))).reshape(
            output.shape
        )
        for output, content in zip(response.outputs, response.raw_output_contents, strict=True)
    }


async def over_grpc(served: Served, body: Body, **more: Any) -> Tensors:
    return arrays(await method(served)(message(served.toy, body, **more)))


async def posted(served: Served, body: Body, **more: Any) -> Any:
    """The HTTP response to JSON; data are nested, as the shape is."""
    inputs = [
        {"name": name, "shape": array.shape, "datatype": datatype_of(array), "data": _listed(array)}
        for name, array in tensors(served.toy, body).items()
    ]
    document = {"inputs": inputs, "parameters": wishes(body)} | more
    return await served.http.post(
        f"/v2/models/{served.toy.name}/infer", content=json.dumps(document).replace("NaN", "null")
    )


def _listed(array: NDArray[Any]) -> list[Any]:
    return [value.decode() for value in array] if array.dtype == object else array.tolist()


async def over_http(served: Served, body: Body, **more: Any) -> Tensors:
    response = await posted(served, body, **more)
    assert response.status_code == 200, response.text
    return {
        output["name"]: np.array(
            output["data"], object if output["datatype"] == "BYTES" else DATATYPES[output["datatype"]].dtype
        ).reshape(output["shape"])
        for output in response.json()["outputs"]
    }


ASKS = {"grpc": over_grpc, "http": over_http}


def first_head(toy: Toy, outputs: Tensors, word: str) -> NDArray[Any]:
    head = next(iter(toy.strict))
    return outputs[f"{head}_{word}" if len(toy.strict) > 1 else word]


def says(toy: Toy, outputs: Tensors) -> NDArray[Any]:
    """The prediction of the first head."""
    return outputs["level_prediction" if toy is rows.TOY else f"{next(iter(toy.strict))}_says"]
