"""Contract between tasks and transports: functions that turn messages into requests, and answers into messages."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, get_args

from numpy.typing import NDArray

from services.ledger.contract import Purpose
from services.request.contract import Call, Priority, Progress
from services.runtime.errors import InvalidInput


@dataclass(frozen=True)
class Options:
    """Options of a request besides deadline and priority."""

    purpose: Purpose | None = None
    """Purpose; None: the transport's default (decide for single calls, explore for streams)."""
    defer_above: Mapping[str, float] = field(default_factory=dict)
    """Head name to a threshold that is stricter than the policy's."""
    plain: bool = False
    """True if protobuf answers have numbers as repeated fields instead of packed bytes."""

    def call(self, default: Purpose, *, priority: Priority | None = None, deadline: float | None = None) -> Call:
        """Return the call; ``default`` is used without a purpose, and ``decide`` is interactive by default."""
        purpose = self.purpose or default
        if priority is None:
            priority = Priority.INTERACTIVE if purpose == "decide" else Priority.BULK
        return Call(purpose=purpose, priority=priority, deadline=deadline, defer_above=self.defer_above)


def purpose(text: str | None) -> Purpose | None:
    """Return the purpose of a call; None if it is absent: decide for single calls, explore for streams of rows.

    Raises:
        InvalidInput: the text is not a purpose.
    """
    known: tuple[Purpose, ...] = get_args(Purpose)
    for name in known:
        if text == name:
            return name
    if text is None:
        return None
    raise InvalidInput.about("purpose", text[:60], code="unknown_purpose", allowed=", ".join(known))


def stricter(wish: float | Mapping[str, float] | None, heads: tuple[str, ...]) -> Mapping[str, float]:
    """Return a caller's threshold by head; a plain number is allowed if there is one head.

    Raises:
        InvalidInput: a number for several heads, whose measures differ in unit; or a NaN.
    """
    if wish is None:
        return {}
    if not isinstance(wish, Mapping):
        if len(heads) > 1:
            listed = ", ".join(heads)
            raise InvalidInput.about(
                "defer_above", f"{wish:g}", f"must name one of the heads {listed}", code="head_needed", allowed=listed
            )
        wish = {heads[0]: wish}
    for head, threshold in wish.items():
        if math.isnan(threshold):
            raise InvalidInput.about(
                "defer_above", "nan", f"must be a number in the unit of the measure of {head}", code="not_finite"
            )
    return wish


@dataclass(frozen=True)
class Message:
    """Decoder and encoder of a message type."""

    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]


def message_of(kind: Any) -> Message:
    """Return decoder and encoder of a protobuf type."""
    return Message(kind.FromString, kind.SerializeToString)


@dataclass(frozen=True)
class Begin:
    """First frame of a stream: options of all its chunks."""

    options: Options


@dataclass(frozen=True)
class Chunk:
    """Chunk of a stream; ``request`` is the pipeline's request, or the ``DemurError`` that refuses this chunk."""

    sequence: Any
    """Sequence number, or another identifier of the chunk in frames."""
    request: Any
    nbytes: int | None = None
    """Size of the frames of the chunk, in bytes, if it has several; None: size of its one frame."""
    options: Options | None = None
    """Options of the chunk; None: those of the stream."""
    seconds: float | None = None
    """Deadline of the chunk, in seconds from now; None: that of the stream."""
    priority: Priority | None = None
    """Priority of the chunk; None: that of the stream's chunks."""


class StreamReader(Protocol):
    """Reader of the frames of one stream, in order."""

    def read(self, frame: Any) -> Begin | Chunk | None:
        """Return the content of a frame, quickly as ``GrpcBinding.read``; None if more frames belong to the chunk.

        Raises:
            InvalidInput: the frame is empty or out of order; ends the stream.
        """
        ...


class StreamFrames(Protocol):
    """Conversion between frames of a task's stream and the transport's types.

    Each chunk ends with its ``results`` or ``failed``. A task whose items finish at different times, or that takes
    long, may send more before that: ``item`` and ``progress``.
    """

    request: Message
    response: Message
    purpose: Purpose
    """Default purpose of streams."""
    priority: Priority | None
    """Priority of all chunks; None: by purpose."""

    def reader(self) -> StreamReader:
        """Return a reader for a new stream."""
        ...

    def accepted(self) -> Any | None:
        """Return the first frame; None if there is none before the first result."""
        ...

    def item(self, sequence: Any, answer: Any) -> tuple[Any, int] | None:
        """Return the frame of an answer or ``ItemFailed`` while its chunk runs, and the number of units it decides.

        None if it is sent with the chunk's ``results`` only.
        """
        ...

    def progress(self, sequence: Any, progress: Progress) -> Any | None:
        """Return the frame of a chunk's progress; None if progress is not sent."""
        ...

    def results(self, sequence: Any, answers: list[Any], sent_units: int) -> Iterable[tuple[Any, int]]:
        """Return the final frames of a chunk with all its answers, and the units in each besides ``sent_units``.

        For a large chunk each is made in a thread. Raises ``DemurError`` if the chunk failed after all.
        """
        ...

    def failed(self, sequence: Any, error: Any) -> Any:
        """Return the final frame of a chunk that was refused or failed as a whole."""
        ...

    def ended(self, chunks: int, units: int) -> Any | None:
        """Return the last frame; None if there is none after the last result."""
        ...


@dataclass(frozen=True)
class GrpcBinding:
    """gRPC service of a task. ``answer`` gets all answers of one request."""

    service: str
    """Full name, e.g. ``demur.v1.VesselService``."""
    request: Message
    response: Message
    read: Callable[[Any], tuple[Any, Options]]
    """Reader of a request message; quick, since slow work on large messages belongs in the task's ``expand``."""
    answer: Callable[[list[Any]], Any]
    describe: Callable[[], Any] | None = None
    describe_messages: tuple[Message, Message] | None = None
    stream: StreamFrames | None = None
    as_sdk_0_1: Callable[[Any], Any] | None = None
    """Function that changes a request, or a frame of a stream, so that its answer has what SDK 0.1 reads; returns it.
    None: nothing has changed since.
    """
    smaller: str = "ask for less in each call, or call PredictStream with smaller chunks"
    """Advice to a caller whose client accepts no answer of this size."""


@dataclass(frozen=True)
class FormField:
    """Field of a form."""

    description: str
    file: bool = False
    """True for a file, false for a text."""
    required: bool = False


@dataclass(frozen=True)
class FormBinding:
    """Fields and reader of ``multipart/form-data`` requests."""

    fields: Mapping[str, FormField]
    read: Callable[[Mapping[str, bytes]], tuple[Any, Options]]
    """Reader of the fields that were sent, name to content. Quick, as ``GrpcBinding.read``."""


@dataclass(frozen=True)
class HttpBinding:
    """HTTP bodies of a task."""

    read_json: Callable[[bytes], tuple[Any, Options]]
    answer_json: Callable[[list[Any]], Any]
    """Function that returns a value that msgspec can encode."""
    request_schema: Mapping[str, Any]
    response_schema: Mapping[str, Any]
    """Schema of responses without files."""
    form: FormBinding | None = None
    """Form reader; None: forms are not accepted."""
    files: Callable[[list[Any]], Mapping[str, bytes]] | None = None
    """Function that returns file name to content for all answers of one request; None: answers have no files."""
    archived: Callable[[list[Any]], Mapping[str, bytes]] | None = None
    """The same for an archive, if it has more than other answers; None: ``files``."""


Parameter = bool | int | float | str
"""Value of a parameter in the Open Inference Protocol, as opposed to a tensor."""


@dataclass(frozen=True)
class TensorSpec:
    """Input or output tensor of a task in the Open Inference Protocol."""

    name: str
    datatype: str
    """Datatype of the protocol, such as ``FP32`` or ``BYTES``."""
    shape: tuple[int, ...]
    """Shape; -1 for any size."""
    unit: str = ""
    """Unit; empty for values without a unit, such as a name or a file."""
    description: str = ""
    also: frozenset[str] = frozenset()
    """Other accepted datatypes of an input, converted by the task."""
    optional: bool = True
    """True if an input may be left out."""
    default: bool = True
    """True if an output is returned when the caller names no outputs."""


@dataclass(frozen=True)
class TensorInputs:
    """Inputs of a call over the Open Inference Protocol, checked against the specs of its tensors."""

    tensors: Mapping[str, NDArray[Any]]
    """Arrays by name; BYTES are arrays of ``bytes`` objects."""
    units: Mapping[str, str]
    """Units of the tensors for which the caller stated a unit."""
    parameters: Mapping[str, Parameter]
    """Values of the task's own parameters that were sent."""
    output_names: frozenset[str]
    """Names of the requested outputs."""


@dataclass(frozen=True)
class TensorOutputs:
    """Answer in the Open Inference Protocol; the transport leaves out tensors that the request does not name."""

    tensors: Mapping[str, NDArray[Any]]
    """Arrays by name; BYTES are arrays of ``bytes`` objects, or of fixed length (``S``) if that is faster to make."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


@dataclass(frozen=True)
class OipBinding:
    """Tensors of a task in the Open Inference Protocol, without options common to all tasks, such as purpose."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    read: Callable[[TensorInputs], Any]
    """Function that returns the pipeline's request. Quick, as ``GrpcBinding.read``."""
    answer: Callable[[list[Any], frozenset[str]], TensorOutputs]
    """Function that returns the outputs, from all answers of one request and the names of the requested outputs."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Descriptions of the task's own request parameters, by name."""
    about: Callable[[], Mapping[str, Parameter]] = dict
    """Function that returns further metadata of the model, called for each metadata request."""
    item: Callable[[Any, frozenset[str]], TensorOutputs | None] = lambda answer, output_names: None
    """Function that returns a finished item while its request runs, for streams with this option; None: not sent."""
    files: bool = False
    """True if inputs are files, which may be as large as those of a form."""
