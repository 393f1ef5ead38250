"""Contract between tasks and transports: functions that turn messages into requests, and answers into messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

from services.ledger.contract import Purpose
from services.request.contract import Call, Priority, Progress
from services.runtime.errors import InvalidInput


@dataclass(frozen=True)
class Options:
    """Options of a request besides deadline and priority."""

    purpose: Purpose | None = None
    """None: the transport's default (decide for single calls, explore for streams)."""
    defer_above: Mapping[str, float] = field(default_factory=dict)
    """Head name to a threshold that is stricter than the policy's."""
    plain: bool = False
    """Whether messages of protobuf answer numbers as repeated fields instead of packed bytes."""

    def call(self, default: Purpose, *, priority: Priority | None = None, deadline: float | None = None) -> Call:
        """With ``default`` where no purpose was given, and by default before bulk work if it is a real question."""
        purpose = self.purpose or default
        if priority is None:
            priority = Priority.INTERACTIVE if purpose == "decide" else Priority.BULK
        return Call(purpose=purpose, priority=priority, deadline=deadline, defer_above=self.defer_above)


def stricter(wish: float | Mapping[str, float] | None, heads: tuple[str, ...]) -> Mapping[str, float]:
    """Return a caller's threshold by head: a number is enough where there is one head.

    Raises:
        InvalidInput: a number for several heads, whose measures differ in unit; or a NaN.
    """
    if wish is None:
        return {}
    if not isinstance(wish, Mapping):
        if len(heads) > 1:
            raise InvalidInput(
                f"defer_above = {wish:g} does not say for which head; name one of {', '.join(heads)}",
                code="head_needed",
                field="defer_above",
                value=f"{wish:g}",
                allowed=", ".join(heads),
            )
        wish = {heads[0]: wish}
    for head, threshold in wish.items():
        if math.isnan(threshold):
            raise InvalidInput(
                f"defer_above for {head} is NaN; give a number in the unit of its measure",
                code="not_finite",
                field="defer_above",
                value="nan",
            )
    return wish


@dataclass(frozen=True)
class Message:
    """A kind of message: from and to bytes."""

    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]


def message_of(kind: Any) -> Message:
    """Return decoder and encoder of a protobuf type."""
    return Message(kind.FromString, kind.SerializeToString)


@dataclass(frozen=True)
class Begin:
    """The first frame of a stream: what holds for all its chunks."""

    options: Options


@dataclass(frozen=True)
class Chunk:
    """One chunk of a stream; ``request`` is what the pipeline takes, or the ``DemurError`` that refuses this chunk."""

    sequence: Any
    """Its number, or whatever else its frames know it by."""
    request: Any
    nbytes: int | None = None
    """Size of what it was put together of, where that is not its one frame."""
    options: Options | None = None
    """Its own; None: those that the stream began with."""
    seconds: float | None = None
    """Its own deadline from now; None: that of the stream."""
    priority: Priority | None = None
    """Its own; None: that of the stream's chunks."""


class StreamReader(Protocol):
    """Reads the frames of one stream, in their order."""

    def read(self, frame: Any) -> Begin | Chunk | None:
        """Quick, as ``GrpcBinding.read``; None: more frames belong to the chunk.

        Raises:
            InvalidInput: the frame is empty or out of order; ends the stream.
        """
        ...


class StreamFrames(Protocol):
    """Turns frames of a task's stream into words of the frame, and back.

    Each chunk ends in its ``results`` or ``failed``. A task whose items finish at different times, or that
    takes long, may say more before that: ``item`` and ``progress``.
    """

    request: Message
    response: Message
    purpose: Purpose
    """Of streams that do not say."""
    priority: Priority | None
    """Of all its chunks; None: by purpose."""

    def reader(self) -> StreamReader:
        """For a stream that begins."""
        ...

    def accepted(self) -> Any | None:
        """Return the first frame; None: there is none before the first result."""
        ...

    def item(self, sequence: Any, answer: Any) -> tuple[Any, int] | None:
        """Return the frame of an answer or ``ItemFailed`` while its chunk runs, and how many units it decides.

        None: it is told with the chunk's ``results`` only.
        """
        ...

    def progress(self, sequence: Any, progress: Progress) -> Any | None:
        """How far a chunk is; None: the caller is not told."""
        ...

    def results(self, sequence: Any, answers: list[Any], told: int) -> Iterable[tuple[Any, int]]:
        """The frames that end a chunk, of all its answers, and how many units each decides beside those ``told``.

        Of a large chunk each is made beside the event loop. Raises ``DemurError`` where the chunk failed after all.
        """
        ...

    def failed(self, sequence: Any, error: Any) -> Any:
        """Return the frame that ends a chunk which was refused or failed as a whole."""
        ...

    def ended(self, chunks: int, units: int) -> Any | None:
        """Return the last frame; None: there is none behind the last result."""
        ...


@dataclass(frozen=True)
class GrpcBinding:
    """A task's gRPC service. ``answer`` gets all answers of one request."""

    service: str
    """Full name, e.g. ``demur.v1.VesselService``."""
    request: Message
    response: Message
    read: Callable[[Any], tuple[Any, Options]]
    """Quick: what takes time with a large message is left to the task's ``expand``."""
    answer: Callable[[list[Any]], Any]
    describe: Callable[[], Any] | None = None
    describe_messages: tuple[Message, Message] | None = None
    stream: StreamFrames | None = None
    smaller: str = "ask for less in each call, or call PredictStream with smaller chunks"
    """What a caller can do whose client takes no answer of this size."""


@dataclass(frozen=True)
class FormField:
    """A field of a form."""

    description: str
    file: bool = False
    """Whether it is a file rather than a text."""
    required: bool = False


@dataclass(frozen=True)
class FormBinding:
    """Fields and reader of ``multipart/form-data`` requests."""

    fields: Mapping[str, FormField]
    read: Callable[[Mapping[str, bytes]], tuple[Any, Options]]
    """Name to content, of the fields that came. Quick, as ``GrpcBinding.read``."""


@dataclass(frozen=True)
class HttpBinding:
    """A task's bodies over HTTP."""

    read_json: Callable[[bytes], tuple[Any, Options]]
    answer_json: Callable[[list[Any]], Any]
    """A value that msgspec can encode."""
    request_schema: Mapping[str, Any]
    response_schema: Mapping[str, Any]
    """Without files."""
    form: FormBinding | None = None
    """None: no forms are taken."""
    files: Callable[[list[Any]], Mapping[str, bytes]] | None = None
    """File name to content, of all answers of one request; None: answers hold no files."""
    archived: Callable[[list[Any]], Mapping[str, bytes]] | None = None
    """The same for an archive, where that holds more than other answers; None: it holds ``files``."""


Parameter = bool | int | float | str
"""A value that is no tensor, as the Open Inference Protocol has them."""


@dataclass(frozen=True)
class TensorSpec:
    """A tensor that a task takes or gives over the Open Inference Protocol."""

    name: str
    datatype: str
    """``FP32``, ``BYTES`` and so on."""
    shape: tuple[int, ...]
    """-1: of any size."""
    unit: str = ""
    """Empty: what it says has none, as a name or a file."""
    description: str = ""
    also: frozenset[str] = frozenset()
    """Of an input: other datatypes that are taken, and converted by the task."""
    optional: bool = True
    """Of an input: whether it may be left out."""
    default: bool = True
    """Of an output: whether it is answered where the caller names none."""


@dataclass(frozen=True)
class TensorInputs:
    """Inputs of a call over the Open Inference Protocol, checked against the specs of its tensors."""

    tensors: Mapping[str, NDArray[Any]]
    """BYTES are arrays of ``bytes`` objects."""
    units: Mapping[str, str]
    """Of tensors whose caller said one."""
    parameters: Mapping[str, Parameter]
    """The task's own, of those that came."""
    wanted: frozenset[str]
    """Names of the outputs that are to be answered."""


@dataclass(frozen=True)
class TensorOutputs:
    """An answer over the Open Inference Protocol; the transport leaves out tensors that the request does not name."""

    tensors: Mapping[str, NDArray[Any]]
    """BYTES are arrays of ``bytes`` objects, or of fixed length (``S``) where that is quicker to make."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


@dataclass(frozen=True)
class OipBinding:
    """A task's tensors over the Open Inference Protocol. What all tasks share, such as purpose, is not its business."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    read: Callable[[TensorInputs], Any]
    """What the pipeline takes. Quick, as ``GrpcBinding.read``."""
    answer: Callable[[list[Any], frozenset[str]], TensorOutputs]
    """All answers of one request, and which outputs are wanted."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """The task's own parameters of a request, described."""
    about: Callable[[], Mapping[str, Parameter]] = dict
    """What metadata tell of the model beside its tensors, asked for at each question."""
    item: Callable[[Any, frozenset[str]], TensorOutputs | None] = lambda answer, wanted: None
    """An item that is done while its request runs, for streams that ask for them; None: told with the answer only."""
    files: bool = False
    """Whether inputs are files, which may be as large as those of a form."""
