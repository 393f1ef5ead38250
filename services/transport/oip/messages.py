"""Conversion between messages of the protocol's gRPC service and the types of this package."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from google.protobuf.json_format import ParseDict

from services.runtime.errors import InvalidInput
from services.transport.binding import Parameter
from services.transport.oip.datatypes import datatype_of, to_raw
from services.transport.oip.decided import FAILURES
from services.transport.oip.infer_request import Input, Output, Question
from services.transport.oip.model import Answer, OipModel
from services.transport.oip.protocol import oip_pb2
from services.transport.oip.tensor_codec import Contents, RawContents, TypedContents

TEXT_SUFFIX = "_text"
"""Suffix of the parameter that repeats a float as text: ``InferParameter`` of KServe has no doubles, so its clients see
such a parameter without a value.
"""
_CHOICE = "parameter_choice"


def question(message: Any) -> Question:
    """Return a ``ModelInferRequest`` in the types of this package. Contents are not decoded yet.

    Raises:
        InvalidInput: raw contents that do not match the inputs in number, or both forms at once.
    """
    raw = message.raw_input_contents
    if raw and len(raw) != len(message.inputs):
        raise InvalidInput.about(
            "raw_input_contents",
            len(raw),
            f"must be {len(message.inputs)}, one for each input, or none",
            code="unequal_lengths",
            unit="entries",
            allowed=str(len(message.inputs)),
        )
    return Question(
        id=message.id,
        parameters=_parameters(message.parameters),
        inputs=tuple(
            Input(
                tensor.name,
                tensor.datatype,
                tuple(tensor.shape),
                _contents(tensor, raw[place] if raw else None),
                _parameters(tensor.parameters),
            )
            for place, tensor in enumerate(message.inputs)
        ),
        outputs=tuple(Output(output.name, _parameters(output.parameters)) for output in message.outputs),
    )


def response(model: OipModel, answer: Answer, **more: Parameter) -> bytes:
    """Return a serialised ``ModelInferResponse``, with raw contents; ``more`` are parameters beside the answer's.

    It is put together from its fields in their order. Those that most answers have in common are serialised once.
    """
    tensors = answer.tensors()
    outputs = tuple((name, datatype_of(array), array.shape) for name, array in tensors.items())
    values = dict(answer.outputs.parameters) | more
    failures = values.pop(FAILURES, None)  # long, and never twice the same
    begin = oip_pb2.ModelInferResponse(model_name=model.name, model_version=model.version, id=answer.parsed.id)
    contents = oip_pb2.ModelInferResponse(raw_output_contents=map(to_raw, tensors.values()))
    return b"".join(
        (
            begin.SerializeToString(),
            _parameters_once(tuple((name, type(value), value) for name, value in values.items())),
            b"" if failures is None else _serialised_parameters([(FAILURES, failures)]),
            _serialised_outputs(outputs),
            contents.SerializeToString(),
        )
    )


def _serialised_parameters(values: Iterable[tuple[str, Parameter]]) -> bytes:
    message = oip_pb2.ModelInferResponse()
    for name, value in values:
        message.parameters[name].CopyFrom(parameter(value))
        if isinstance(value, float):
            message.parameters[f"{name}{TEXT_SUFFIX}"].string_param = repr(value)
    serialised: bytes = message.SerializeToString()
    return serialised


@lru_cache(maxsize=64)
def _parameters_once(values: tuple[tuple[str, type, Parameter], ...]) -> bytes:
    """Return serialised parameters; their types tell equal values apart, such as 1 and true."""
    return _serialised_parameters((name, value) for name, _, value in values)


@lru_cache(maxsize=256)
def _serialised_outputs(outputs: tuple[tuple[str, str, tuple[int, ...]], ...]) -> bytes:
    message = oip_pb2.ModelInferResponse()
    for name, datatype, shape in outputs:
        message.outputs.add(name=name, datatype=datatype, shape=shape)
    serialised: bytes = message.SerializeToString()
    return serialised


def refusal(model: OipModel, asked_id: str, text: str) -> Any:
    """Return the stream response to a request that failed."""
    return oip_pb2.ModelStreamInferResponse(
        error_message=text,
        infer_response=oip_pb2.ModelInferResponse(model_name=model.name, model_version=model.version, id=asked_id),
    )


def metadata(model: OipModel) -> Any:
    """Return a ``ModelMetadataResponse``."""
    values = model.metadata()
    plain = {name: value for name, value in values.items() if name in ("name", "versions", "platform")}
    return oip_pb2.ModelMetadataResponse(
        inputs=[_tensor(tensor) for tensor in values["inputs"]],
        outputs=[_tensor(tensor) for tensor in values["outputs"]],
        parameters={name: parameter(value) for name, value in values["parameters"].items()},
        **plain,
    )


def message(kind: Any, values: Mapping[str, Any]) -> Any:
    """Return a message from a mapping of plain values."""
    return ParseDict(dict(values), kind())


def parameter(value: Parameter) -> Any:
    """Return a parameter's value as its message."""
    if isinstance(value, bool):
        return oip_pb2.InferParameter(bool_param=value)
    if isinstance(value, int):
        return oip_pb2.InferParameter(int64_param=value)
    if isinstance(value, float):
        return oip_pb2.InferParameter(double_param=value)
    return oip_pb2.InferParameter(string_param=value)


def _tensor(metadata: Mapping[str, Any]) -> Any:
    parameters = {name: parameter(value) for name, value in metadata["parameters"].items()}
    return oip_pb2.ModelMetadataResponse.TensorMetadata(**{**metadata, "parameters": parameters})


def _parameters(messages: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return values by name; a value of an unknown kind is an empty text."""
    return {
        name: "" if (kind := value.WhichOneof(_CHOICE)) is None else getattr(value, kind)
        for name, value in messages.items()
    }


def _contents(tensor: Any, raw: bytes | None) -> Contents | None:
    sent = tensor.HasField("contents")
    typed = {field.name: values for field, values in tensor.contents.ListFields()} if sent else {}
    if raw is None:
        return TypedContents(typed) if sent or 0 in tensor.shape else None
    if typed:
        raise InvalidInput(
            f"the input {tensor.name[:60]} has raw contents and fills {next(iter(typed))}; send one form",
            code="two_inputs",
            field=tensor.name[:60],
        )
    return RawContents(raw)
