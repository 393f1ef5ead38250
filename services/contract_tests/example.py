"""Requests for the contract tests: one request in the forms of all protocols, and requests that a task refuses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from services.transport.binding import TensorSpec
from services.transport.oip.datatypes import DATATYPES, of_bytes


@dataclass(frozen=True)
class Example:
    """A request of at least two units that the task answers, without purpose and other options."""

    json: Mapping[str, Any]
    """Body of ``POST /v1/predict``."""
    message: Any
    """The same as the protobuf message of ``Predict``."""
    labels: Sequence[Any]
    """A label for each unit, in the order of the request, as JSON."""
    tensors: Mapping[str, NDArray[Any]] | None = None
    """The same as inputs of the Open Inference Protocol; None: the values of ``json`` of the same names, as arrays."""

    def arrays(self, inputs: Sequence[TensorSpec]) -> Mapping[str, NDArray[Any]]:
        """Return the inputs of the Open Inference Protocol.

        Raises:
            ValueError: a value of ``json`` is no array of the declared type.
        """
        if self.tensors is not None:
            return self.tensors
        return {spec.name: _array(self.json[spec.name], spec) for spec in inputs if spec.name in self.json}


@dataclass(frozen=True)
class Refusal:
    """A request that the task refuses, and what its error says."""

    json: Mapping[str, Any]
    """Body of ``POST /v1/predict``."""
    field: str
    """Name that the error gives as the field at fault."""
    code: str
    """Code of the error, such as ``out_of_range``."""
    message: Any = None
    """The same as a protobuf message; None: a message cannot say it."""


def _array(value: Any, spec: TensorSpec) -> NDArray[Any]:
    if spec.datatype == "BYTES":
        return of_bytes(text.encode() if isinstance(text, str) else text for text in value)
    return np.array(value, DATATYPES[spec.datatype].dtype)
