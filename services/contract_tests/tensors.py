"""Requests and answers of the Open Inference Protocol as arrays by name, over gRPC and as JSON."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from services.transport.oip.datatypes import DATATYPES, datatype_of, from_raw, to_raw
from services.transport.oip.protocol import oip_pb2

SERVICE = "inference.GRPCInferenceService"
Tensors = Mapping[str, NDArray[Any]]


def message(model: str, tensors: Tensors, parameters: Mapping[str, Any], **more: Any) -> Any:
    """Return a ``ModelInferRequest`` with raw contents; further fields of the message are ``more``."""
    request = oip_pb2.ModelInferRequest(model_name=model, **more)
    for name, array in tensors.items():
        request.inputs.add(name=name, datatype=datatype_of(array), shape=array.shape)
        request.raw_input_contents.append(to_raw(array))
    for name, value in parameters.items():
        choice = "string_param" if isinstance(value, str) else "bool_param" if value is True else "double_param"
        setattr(request.parameters[name], choice, value)
    return request


def of_message(response: Any) -> dict[str, NDArray[Any]]:
    """Return the outputs of a ``ModelInferResponse`` with raw contents."""
    return {
        output.name: from_raw(output.name, DATATYPES[output.datatype], content, int(np.prod(output.shape))).reshape(
            output.shape
        )
        for output, content in zip(response.outputs, response.raw_output_contents, strict=True)
    }


def document(tensors: Tensors, wishes: Mapping[str, Any], **more: Any) -> bytes:
    """Return the JSON body of an inference request; data are nested, as the shape is, and NaN is null.

    Args:
        wishes: parameters of the request, unless ``more`` has others.
    """
    inputs = [
        {"name": name, "shape": array.shape, "datatype": datatype_of(array), "data": _listed(array)}
        for name, array in tensors.items()
    ]
    known = {name: None if value != value else value for name, value in wishes.items()}
    return json.dumps({"inputs": inputs, "parameters": known} | more).encode()


def of_document(response: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the outputs in the JSON body of an answer."""
    return {
        output["name"]: np.array(
            output["data"], object if output["datatype"] == "BYTES" else DATATYPES[output["datatype"]].dtype
        ).reshape(output["shape"])
        for output in response["outputs"]
    }


def _listed(array: NDArray[Any]) -> list[Any]:
    if array.dtype == object:
        return [value.decode() for value in array.ravel()]
    values = array.astype(object)
    values[np.isnan(array)] = None
    listed: list[Any] = values.tolist()
    return listed
