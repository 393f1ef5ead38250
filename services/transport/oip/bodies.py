"""HTTP bodies of the protocol: JSON, followed by the contents of binary tensors."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.responses import Response

from services.runtime.errors import DemurError, InvalidInput, UnsupportedMediaType
from services.transport.http import decoding
from services.transport.http.body import JSON, Written, describe, error_response, without_parameters
from services.transport.http.decoding import Integer, integer
from services.transport.oip.datatypes import datatype_of, to_raw
from services.transport.oip.infer_request import Input, Output, Question
from services.transport.oip.model import Answer, OipModel
from services.transport.oip.tensor_codec import Contents, JsonContents, RawContents

TRANSPORT = "oip_http"
"""Name of the transport in metrics."""
PREFIX = "/v2"
"""Prefix of all paths."""
HEADER_LENGTH = "inference-header-content-length"
BINARY = "application/octet-stream"
_SIZE = "binary_data_size"
_BINARY_OUTPUT = "binary_data_output"
_BINARY_DATA = "binary_data"
_EXAMPLE = '{"inputs": [{"name": "...", "shape": [1], "datatype": "FP32", "data": [0.5]}]}, with inputs of the metadata'


class InputBody(msgspec.Struct, forbid_unknown_fields=True):
    """Input tensor of a request."""

    name: str
    shape: list[Integer]
    datatype: str
    parameters: dict[str, Any] | None = None
    data: msgspec.Raw = msgspec.Raw(b"")


class OutputBody(msgspec.Struct, forbid_unknown_fields=True):
    """Output tensor named by a request."""

    name: str
    parameters: dict[str, Any] | None = None


class InferBody(msgspec.Struct, forbid_unknown_fields=True):
    """Inference request. Some clients also name the model, although the path does."""

    inputs: list[InputBody]
    id: str | None = None
    parameters: dict[str, Any] | None = None
    outputs: list[OutputBody] | None = None
    model_name: str | None = None
    model_version: str | None = None


def header_length(content_type: str, text: str | None) -> int | None:
    """Return the length of the JSON at the beginning of a body; None: all of it.

    Args:
        content_type: the header; JSON if it is absent.
        text: header ``HEADER_LENGTH``.

    Raises:
        InvalidInput: not a number.
        UnsupportedMediaType: the body is neither JSON nor bytes.
    """
    kind = without_parameters(content_type)
    if kind not in (JSON, BINARY):
        raise UnsupportedMediaType.about(
            "content-type",
            kind,
            f"must be {JSON}, or {BINARY} with {HEADER_LENGTH}",
            code="content_type",
            allowed=f"{JSON}, {BINARY}",
        )
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 12:
        raise InvalidInput.about(
            HEADER_LENGTH, text[:40], "must be a whole number of at most 12 digits", code="not_a_number", unit="bytes"
        )
    return int(text)


def question(body: bytes, header: int | None) -> tuple[Question, OutputForms]:
    """Parse a request; return it with the format of its outputs. Contents are not read yet.

    Raises:
        InvalidInput: not JSON of this form, or binary contents that contradict the JSON.
    """
    length = len(body) if header is None else header
    if length > len(body):
        raise InvalidInput.about(
            HEADER_LENGTH,
            length,
            code="wrong_length",
            unit="bytes",
            allowed=f"[0, {len(body)}]",
            advice="it must not exceed the body",
        )
    parsed = decoding.json(body[:length], InferBody, _EXAMPLE)
    rest = memoryview(body)[length:]
    inputs = []
    for tensor in parsed.inputs:
        contents, rest = _contents(tensor, rest)
        shape = tuple(integer("shape", size) for size in tensor.shape)
        inputs.append(Input(tensor.name, tensor.datatype, shape, contents, tensor.parameters or {}))
    if len(rest):
        raise InvalidInput(
            f"{len(rest)} bytes follow the contents of the inputs; {_SIZE} of the inputs must cover them",
            code="wrong_length",
            field=_SIZE,
            value=str(len(rest)),
            unit="bytes",
            allowed="0",
        )
    parameters = parsed.parameters or {}
    outputs = tuple(Output(output.name, output.parameters or {}) for output in parsed.outputs or ())
    default = parameters.get(_BINARY_OUTPUT) is True
    named = {
        output.name: output.parameters[_BINARY_DATA] is True for output in outputs if _BINARY_DATA in output.parameters
    }
    return Question(parsed.id or "", parameters, tuple(inputs), outputs), OutputForms(default, named)


class OutputForms(msgspec.Struct, frozen=True):
    """Outputs that are returned as bytes."""

    default: bool
    named: dict[str, bool]

    def binary(self, name: str) -> bool:
        return self.named.get(name, self.default)


def response(model: OipModel, answer: Answer, forms: OutputForms) -> Written:
    """Return the body of an answer; JSON only if no output is binary."""
    outputs: list[dict[str, Any]] = []
    contents: list[bytes] = []
    for name, array in answer.tensors().items():
        output: dict[str, Any] = {"name": name, "datatype": datatype_of(array), "shape": list(array.shape)}
        if forms.binary(name):
            contents.append(to_raw(array))
            output["parameters"] = {_SIZE: len(contents[-1])}
        else:
            output["data"] = _data(name, array)
        outputs.append(output)
    names = {"model_name": model.name, "model_version": model.version}
    if answer.parsed.id:
        names["id"] = answer.parsed.id
    head = msgspec.json.encode(names | {"parameters": answer.outputs.parameters, "outputs": outputs})
    if not contents:
        return Written(head, JSON)
    return Written(b"".join((head, *contents)), BINARY, {HEADER_LENGTH: str(len(head))})


def refusal(error: DemurError) -> Response:
    """Return ``{"error": "..."}``, as clients of the protocol expect, with the error's fields as ``detail``."""
    plain = error_response(error)
    body = msgspec.json.encode({"error": error.message, "detail": describe(error)})
    kept = {name: value for name, value in plain.headers.items() if name in ("retry-after", "allow")}
    return Response(body, plain.status_code, kept, media_type=JSON)


def _contents(tensor: InputBody, rest: memoryview) -> tuple[Contents | None, memoryview]:
    """Return the contents of an input, and the bytes after them."""
    size = (tensor.parameters or {}).get(_SIZE)
    data = bytes(tensor.data)
    if size is None:
        return (JsonContents(data) if data else None), rest
    if data:
        raise InvalidInput(
            f"the input {tensor.name[:60]} has data and {_SIZE}; send one of them",
            code="two_inputs",
            field=tensor.name[:60],
        )
    if isinstance(size, float) and size.is_integer():
        size = int(size)
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= len(rest):
        raise InvalidInput.about(
            _SIZE,
            str(size)[:40],
            f"must be 0 to {len(rest)} for {tensor.name[:60]}, the bytes after the JSON and the inputs before it",
            code="wrong_length",
            unit="bytes",
            allowed=f"[0, {len(rest)}]",
            advice=f"{HEADER_LENGTH} must be the length of the JSON",
        )
    return RawContents(rest[:size]), rest[size:]


def _data(name: str, values: NDArray[Any]) -> list[Any]:
    """Return the elements as JSON values, the last axis fastest: NaN and infinities become null, BYTES must be text."""
    flat = values.reshape(-1)
    if datatype_of(values) != "BYTES":
        return flat.tolist() if flat.dtype.kind != "f" else np.asarray(flat, np.float64).tolist()
    try:
        return [text.decode() for text in flat.tolist()]
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"the output {name} holds bytes that are no text; ask for it with {_BINARY_DATA}",
            code="not_unicode",
            field=name,
        ) from error
