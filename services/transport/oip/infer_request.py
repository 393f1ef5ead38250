"""Inference requests of either transport, checked before their elements are decoded."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import prod
from typing import Any

from numpy.typing import NDArray

from services.runtime.errors import InvalidInput, Unsupported
from services.transport.binding import OipBinding, Parameter, TensorInputs, TensorSpec
from services.transport.oip.datatypes import DATATYPES
from services.transport.oip.request_parameters import Wishes, wishes
from services.transport.oip.tensor_codec import Contents

_MOST_NAMES = 32
"""Maximum number of names that an error lists."""
_MOST_ID = 4096
"""Maximum length, in characters, of the caller's id, which is echoed."""
_MOST_ELEMENTS = 1 << 50
"""Limit on elements above that of any message; NumPy counts bytes in 63 bits."""
_MOST_EMPTY = 1 << 20
"""Limit on the product of the other axes of a shape with a zero, since a task may iterate over them."""
_SHARED_MEMORY = "shared_memory"
_PASSED_OVER = ("content_type", "binary_data_size", "binary_data", "headers")
"""Tensor parameters that are ignored, since clients of other servers send them or the transport has processed them."""


@dataclass(frozen=True, slots=True)
class Input:
    """Input tensor of a request."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    contents: Contents | None
    """Contents; None if none were sent."""
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Output:
    """Output tensor named by a request."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Question:
    """Inference request of the protocol."""

    id: str
    parameters: Mapping[str, Any]
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...] = ()
    """Requested outputs; if empty, the default outputs."""


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """Parsed inference request."""

    id: str
    request: Any
    """Request for the pipeline."""
    wishes: Wishes
    output_names: frozenset[str]
    """Names of the requested outputs."""


class Reader:
    """Reader of a task's inference requests."""

    def __init__(self, binding: OipBinding, heads: tuple[str, ...]) -> None:
        self._binding = binding
        self._heads = heads
        self._inputs = {spec.name: spec for spec in binding.inputs}
        self._outputs = {spec.name for spec in binding.outputs}
        self._default = frozenset(spec.name for spec in binding.outputs if spec.default)

    def read(self, question: Question) -> ParsedRequest:
        """Parse a request.

        Raises:
            InvalidInput: a tensor, an output or a parameter is unknown, duplicate, missing or invalid.
            Unsupported: the request needs shared memory, classification or sequences.
        """
        if len(question.id) > _MOST_ID:
            raise InvalidInput.about(
                "id", len(question.id), code="too_long", unit="characters", allowed=f"[0, {_MOST_ID}]"
            )
        understood = wishes(question.parameters, self._heads, self._binding.parameters)
        outputs = self._requested(question.outputs)
        tensors: dict[str, NDArray[Any]] = {}
        units: dict[str, str] = {}
        for tensor in question.inputs:
            spec = self._spec(tensor, tensors)
            if (unit := _unit(tensor)) is not None:
                units[tensor.name] = unit
            tensors[tensor.name] = _array(tensor, spec)
        for spec in self._binding.inputs:
            if not spec.optional and spec.name not in tensors:
                raise InvalidInput(
                    f"the input {spec.name} is missing; it is {spec.datatype} of shape {list(spec.shape)}",
                    code="missing",
                    field=spec.name,
                )
        request = self._binding.read(TensorInputs(tensors, units, understood.own, outputs))
        return ParsedRequest(question.id, request, understood, outputs)

    def _spec(self, tensor: Input, tensors: Mapping[str, Any]) -> TensorSpec:
        spec = self._inputs.get(tensor.name)
        if spec is None:
            raise _unknown("input", tensor.name, self._inputs)
        if tensor.name in tensors:
            raise InvalidInput(
                f"the input {tensor.name} is given twice; give each once", code="doubled_field", field=tensor.name
            )
        _refuse_shared_memory(tensor.name, tensor.parameters)
        if tensor.datatype != spec.datatype and tensor.datatype not in spec.also:
            datatypes = (spec.datatype, *sorted(spec.also))
            raise InvalidInput.about(tensor.name, tensor.datatype[:20], code="dtype", allowed=", ".join(datatypes))
        fits = len(tensor.shape) == len(spec.shape) and all(
            size >= 0 and fixed in (size, -1) for size, fixed in zip(tensor.shape, spec.shape, strict=True)
        )
        if not fits:
            raise InvalidInput.about(
                tensor.name,
                _listed(tensor.shape),
                f"must have the shape {_listed(spec.shape)}, where -1 is any size from 0",
                code="wrong_shape",
                allowed=_listed(spec.shape),
            )
        return spec

    def _requested(self, outputs: Iterable[Output]) -> frozenset[str]:
        named: set[str] = set()
        for output in outputs:
            if output.name not in self._outputs:
                raise _unknown("output", output.name, self._outputs)
            if output.name in named:
                raise InvalidInput(
                    f"the output {output.name} is named twice; name each once", code="doubled_field", field=output.name
                )
            _refuse_shared_memory(output.name, output.parameters)
            if output.parameters.get("classification"):
                raise Unsupported(
                    f"classification of {output.name} is not served; ask for probabilities, an output of heads "
                    "with classes",
                    code="unsupported",
                    field="classification",
                )
            named.add(output.name)
        return frozenset(named) or self._default


def _array(tensor: Input, spec: TensorSpec) -> NDArray[Any]:
    """Return the tensor in its shape, without more memory than its contents already take."""
    if tensor.contents is None:
        raise InvalidInput(
            f"the input {tensor.name} has no contents; send its elements", code="missing", field=tensor.name
        )
    if prod(size or 1 for size in tensor.shape) > (_MOST_EMPTY if 0 in tensor.shape else _MOST_ELEMENTS):
        raise InvalidInput.about(
            tensor.name,
            _listed(tensor.shape),
            "must be a shape that a message can hold",
            code="wrong_shape",
            allowed=_listed(spec.shape),
        )
    return tensor.contents.values(tensor.name, DATATYPES[tensor.datatype], tensor.shape).reshape(tensor.shape)


def _unit(tensor: Input) -> str | None:
    """Return the caller's unit of a tensor; unknown parameters of tensors are refused."""
    unit: str | None = None
    for name, value in tensor.parameters.items():
        if name == "unit" and isinstance(value, str):
            unit = value
        elif name not in _PASSED_OVER:
            raise InvalidInput(
                f"the input {tensor.name} has the parameter {name[:40]!r}; the only one it may have is unit, a text",
                code="unknown_parameter",
                field=tensor.name,
                value=name[:40],
                allowed="unit",
            )
    return unit


def _refuse_shared_memory(tensor: str, parameters: Mapping[str, Parameter]) -> None:
    for name in parameters:
        if name.startswith(_SHARED_MEMORY):
            raise Unsupported(
                f"{tensor} lies in shared memory, which is not served; send its contents with the call",
                code="unsupported",
                field=name,
            )


def _unknown(kind: str, name: str, known: Iterable[str]) -> InvalidInput:
    names = sorted(known)
    near = get_close_matches(name, names)
    similar = f"; similar ones are {', '.join(near)}" if near else ""
    listed = ", ".join(names[:_MOST_NAMES]) + (f" and {len(names) - _MOST_NAMES} more" if names[_MOST_NAMES:] else "")
    return InvalidInput(
        f"{name[:60]!r} is no {kind} of this model{similar}; {kind}s are {listed}",
        code="unknown_field",
        field=name[:60],
        value=name[:60],
        allowed=", ".join(names),
    )


def _listed(shape: tuple[int, ...]) -> str:
    text = str(list(shape[:8]))
    return text if len(shape) <= 8 else f"{text[:-1]}, ...]"
