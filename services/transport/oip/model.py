"""The model of a service in terms of the Open Inference Protocol: metadata, readiness and inference."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from services import __version__
from services.ledger.contract import Portion
from services.request.contract import Call
from services.request.metrics import Metrics
from services.runtime.errors import NotFound, Unsupported
from services.transport.binding import OipBinding, Parameter, TensorOutputs, TensorSpec
from services.transport.oip.datatypes import DATATYPES
from services.transport.oip.infer_request import ParsedRequest, Question, Reader
from services.transport.oip.request_parameters import DESCRIBED
from services.transport.oip.statistics import Statistics
from services.transport.served_model import ServedModel

PLATFORM = "demur"
EXTENSIONS = ("binary_tensor_data", "model_configuration", "model_repository", "parameters", "statistics")
_ABSENT = {
    "SystemSharedMemory": "shared memory is not served; send contents with the call",
    "CudaSharedMemory": "shared memory is not served; send contents with the call",
    "TraceSetting": "tracing is set where the service is started",
    "LogSettings": "logging is set where the service is started (DEMUR_LOG_LEVEL)",
    "RepositoryModel": "a service has the one artefact that it was started with; start it with another (DEMUR_MODEL)",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to an inference request."""

    parsed: ParsedRequest
    outputs: TensorOutputs
    order: tuple[str, ...]
    """Names of all outputs, in the order of the metadata."""

    def tensors(self) -> dict[str, Any]:
        """Return arrays by name of the outputs that are requested and exist."""
        tensors = self.outputs.tensors
        return {name: tensors[name] for name in self.order if name in self.parsed.output_names and name in tensors}


class OipModel:
    """Served model over the protocol."""

    def __init__(self, tenant: ServedModel, metrics: Metrics, ready: Callable[[], bool]) -> None:
        self.binding: OipBinding = tenant.oip
        self.pipeline = tenant.pipeline
        self.name = tenant.description.task
        self.version = self.pipeline.model.rpartition(":")[2]
        self.ready = ready
        self.statistics = Statistics(metrics)
        self._order = tuple(spec.name for spec in self.binding.outputs)
        self._reader = Reader(tenant.oip, tuple(head.name for head in tenant.description.heads))

    def check(self, name: str, version: str) -> None:
        """Check that a request is for this model.

        Raises:
            NotFound: it names another model or version.
        """
        if name != self.name:
            raise NotFound.about("model_name", name[:60], code="no_model", allowed=self.name)
        if version not in ("", self.version):
            raise NotFound.about(
                "model_version",
                version[:60],
                code="no_model",
                allowed=self.version,
                advice="leave it out for any version",
            )

    def read(self, question: Question) -> ParsedRequest:
        """Parse a request, and count the time.

        Raises:
            DemurError: see ``Reader.read``.
        """
        start = time.perf_counter()
        parsed = self._reader.read(question)
        self.statistics.input.note(time.perf_counter() - start)
        return parsed

    def call(self, parsed: ParsedRequest, deadline: float | None) -> Call:
        """Return the options of a request; ``deadline`` is a time on the monotonic clock, in seconds."""
        return parsed.wishes.options.call("decide", priority=parsed.wishes.priority, deadline=deadline)

    async def answer(self, parsed: ParsedRequest, seconds: float | None, nbytes: int) -> list[Any]:
        """Return all answers to a parsed request.

        Args:
            seconds: time until the transport's own deadline; None without one.
            nbytes: size of the request as text.

        Raises:
            DemurError: see ``Pipeline.answer``.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        return await self.pipeline.answer(parsed.request, self.call(parsed, deadline), nbytes)

    def joined(self, parsed: ParsedRequest, answers: list[Any]) -> Answer:
        """Return the tensors of all answers.

        Raises:
            DemurError: the whole request failed.
        """
        start = time.perf_counter()
        answer = self.answered(parsed, self.binding.answer(answers, parsed.output_names))
        self.statistics.output.note(time.perf_counter() - start)
        return answer

    def answered(self, parsed: ParsedRequest, outputs: TensorOutputs) -> Answer:
        """Return the tensors of all answers, or of an item, as an answer."""
        return Answer(parsed, outputs, self._order)

    def server(self) -> dict[str, Any]:
        """Return the message ``ServerMetadataResponse``."""
        return {"name": PLATFORM, "version": __version__, "extensions": list(EXTENSIONS)}

    def metadata(self) -> dict[str, Any]:
        """Return the message ``ModelMetadataResponse``; its parameters are plain in HTTP, and messages in gRPC."""
        inputs = [
            _tensor_metadata(spec) | {"parameters": _about(spec, optional=spec.optional)}
            for spec in self.binding.inputs
        ]
        outputs = [
            _tensor_metadata(spec) | {"parameters": _about(spec, default=spec.default)} for spec in self.binding.outputs
        ]
        return {
            "name": self.name,
            "versions": [self.version],
            "platform": PLATFORM,
            "inputs": inputs,
            "outputs": outputs,
            "parameters": self._about(),
        }

    def config(self) -> dict[str, Any]:
        """Return the message ``ModelConfig``, with the metadata's parameters for clients that do not read these."""
        parameters: dict[str, Any] = dict(self._about())
        for spec in (*self.binding.inputs, *self.binding.outputs):
            parameters |= {f"{spec.name}.{word}": value for word, value in _about(spec).items()}
        return {
            "name": self.name,
            "platform": PLATFORM,
            "backend": PLATFORM,
            "max_batch_size": 0,
            "input": [_configured(spec) | {"optional": spec.optional} for spec in self.binding.inputs],
            "output": [_configured(spec) for spec in self.binding.outputs],
            "parameters": {name: {"string_value": _text(value)} for name, value in parameters.items()},
            "model_transaction_policy": {"decoupled": False},
        }

    def index(self, ready: bool) -> dict[str, Any]:
        """Return the message ``RepositoryIndexResponse``; ``ready`` lists ready models only."""
        state = "READY" if self.ready() else "UNAVAILABLE"
        if ready and state != "READY":
            return {"models": []}
        return {"models": [{"name": self.name, "version": self.version, "state": state, "reason": ""}]}

    def stats(self) -> dict[str, Any]:
        """Return the message ``ModelStatisticsResponse``."""
        return {"model_stats": [self.statistics.json(self.name, self.version)]}

    def _about(self) -> Mapping[str, Parameter]:
        taken = DESCRIBED | dict(self.binding.parameters)
        return dict(self.binding.about()) | {f"parameter.{name}": description for name, description in taken.items()}


def absent(method: str) -> Unsupported:
    """Return the error for a method of Triton that is not served; ``method`` is the prefix of its name."""
    return Unsupported(_ABSENT[method], code="unsupported", field=method)


def items(answers: list[Any]) -> int:
    """Return the number of items with an answer."""
    return sum(portion.count for portion in answers if isinstance(portion, Portion))


def _tensor_metadata(spec: TensorSpec) -> dict[str, Any]:
    return {"name": spec.name, "datatype": spec.datatype, "shape": list(spec.shape)}


def _about(spec: TensorSpec, **flags: bool) -> dict[str, Parameter]:
    texts: dict[str, Parameter] = {"unit": spec.unit, "description": spec.description}
    if spec.also:
        texts["also"] = ", ".join(sorted(spec.also))
    return {name: value for name, value in texts.items() if value} | flags


def _configured(spec: TensorSpec) -> dict[str, Any]:
    return {"name": spec.name, "data_type": DATATYPES[spec.datatype].config, "dims": list(spec.shape)}


def _text(value: Parameter) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
