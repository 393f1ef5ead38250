"""Requests about brain scans: files, frames of a stream, and the state of one stream."""

import os
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from demur._errors import DemurError, InvalidInput, from_detail, wrong_argument
from demur._exchange import Window
from demur._files import required_content
from demur._lesion.answer import LesionAnswer, decode
from demur._messages import malformed
from demur._options import RequestOptions
from demur.v1 import lesion_pb2 as wire

PIECE_BYTES = 1 << 20
"""Bytes of a file in one frame."""

MapName: TypeAlias = Literal["mask", "probability", "total", "data", "knowledge", "rmi", "advice"]
"""Volumes of an answer: the lesion mask, the probability of lesion, uncertainties in nats, voxels to be looked at."""

Progress: TypeAlias = Callable[[int, float, str], None]
"""Called with a scan's position, the finished share of its work, 0 to 1, and the name of the current stage."""

_ALLOWED = "a NIfTI file: its path, its bytes, or an image with to_bytes(), such as nibabel's"
_MAPS: dict[str, Any] = {
    name.removeprefix("LESION_MAP_").lower(): value for name, value in wire.LesionMap.items() if value
}


class Image(Protocol):
    """An image that can be written as a NIfTI file, such as nibabel's."""

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        ...


Volume: TypeAlias = str | os.PathLike[str] | bytes | bytearray | memoryview | Image
"""A NIfTI file, plain or gzipped: its path, its content, or an image that can be written as one."""


@dataclass(frozen=True, slots=True)
class Scan:
    """The images of one scan."""

    flair: Volume
    t1: Volume | None = None
    """On the grid of the FLAIR image; only where the model needs it (``describe().names``)."""
    brain_mask: Volume | None = None
    """0 and 1 on the grid of the FLAIR image; None: all voxels of it that are not 0."""
    name: str = ""
    """Your own, which is returned with the answer; the service does not keep it."""


@dataclass(frozen=True, slots=True)
class ScanError:
    """Takes the place of the answer about a scan that failed while others go on."""

    position: int
    """Number of the scan, from 0."""
    name: str
    error: DemurError


@dataclass(frozen=True, slots=True)
class ScanFiles:
    """Content of the files of a scan."""

    name: str
    contents: tuple[tuple[wire.LesionInput, bytes], ...]


@dataclass(frozen=True, slots=True)
class UnreadableScan:
    """Scan whose files could not be read."""

    name: str
    error: InvalidInput


def read_or_error(scan: Scan | Volume) -> ScanFiles | UnreadableScan:
    """Read a scan's files; return the error instead of raising it."""
    try:
        return read(scan)
    except InvalidInput as error:
        return UnreadableScan(scan.name if isinstance(scan, Scan) else "", error)


def read(scan: Scan | Volume) -> ScanFiles:
    """Read a scan's files.

    Raises:
        InvalidInput: a file cannot be read, is empty, or is of another kind; the error names the input.
    """
    scan = scan if isinstance(scan, Scan) else Scan(scan)
    if scan.flair is None:
        raise wrong_argument("flair", None, _ALLOWED)
    volumes = (
        ("flair", wire.LESION_INPUT_FLAIR, scan.flair),
        ("t1", wire.LESION_INPUT_T1, scan.t1),
        ("brain_mask", wire.LESION_INPUT_BRAIN_MASK, scan.brain_mask),
    )
    contents = (
        (kind, required_content(volume, field, _ALLOWED)) for field, kind, volume in volumes if volume is not None
    )
    return ScanFiles(scan.name, tuple(contents))


@dataclass(eq=False, slots=True)
class _Pending:
    name: str
    files: dict[str, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    outcome: LesionAnswer | ScanError | None = None


class ScanExchange:
    """State of one stream: scans in, frames out; response frames in, one outcome a scan out.

    Raises:
        InvalidInput: an option has a value that is not allowed.
    """

    def __init__(
        self,
        options: RequestOptions,
        maps: Iterable[MapName] | None,
        *,
        progress: Progress | None = None,
        window: int | None = None,
    ) -> None:
        self._maps = _map_numbers(maps)
        self._progress = progress
        self._window = Window(window)
        self._waiting: deque[_Pending] = deque()  # not yet yielded
        self._sent: dict[int, _Pending] = {}  # in flight, by sequence
        self._offered = 0
        self.open = True
        """True while the service may still send frames."""
        self.begin = wire.LesionStreamRequest(begin=options.begin())
        """The first frame to send."""

    def accept(self, frame: Any) -> None:
        """Take the service's first frame, or None for its end.

        Raises:
            ServiceFailure: it is another frame.
        """
        self._window.accept(frame)

    @property
    def full(self) -> bool:
        """True if an answer must be received before the next scan is drawn."""
        return self._window.filled(len(self._sent))

    @property
    def finishing(self) -> bool:
        """Always False: a scan that fails does not end the stream."""
        return False

    def offer(self, scan: ScanFiles | UnreadableScan) -> Iterator[Any]:
        """Yield the frames of the caller's next scan: its head, its files in pieces, its end; none if unreadable."""
        sequence = self._offered
        self._offered += 1
        if isinstance(scan, UnreadableScan):
            self._waiting.append(_Pending(scan.name, outcome=ScanError(sequence, scan.name, scan.error)))
            return
        pending = _Pending(scan.name)
        self._waiting.append(pending)
        yield wire.LesionStreamRequest(scan=wire.LesionScan(sequence=sequence, name=scan.name, maps=self._maps))
        for kind, content in scan.contents:
            for start in range(0, len(content), PIECE_BYTES):
                piece = wire.LesionPiece(input=kind, content=content[start : start + PIECE_BYTES])
                yield wire.LesionStreamRequest(piece=piece)
        self._sent[sequence] = pending  # only now does it fill the window: no answer comes before its end
        yield wire.LesionStreamRequest(end=wire.LesionScanEnd())

    def receive(self, frame: Any) -> None:
        """Take a frame of the service, or None for its end.

        Raises:
            ServiceFailure: a frame about a scan that is not in flight, or an end with scans unanswered.
        """
        if frame is None:
            self.open = False
            if self._sent:
                raise malformed(f"the service ended the stream with {len(self._sent)} scans unanswered")
            return
        kind = frame.WhichOneof("frame")
        if kind == "piece":
            piece = frame.piece
            self._in_flight(piece.sequence).files[_map_name(piece.map)].append(piece.content)
        elif kind == "progress" and frame.progress.HasField("sequence"):
            progress = frame.progress
            if self._progress is not None and progress.sequence in self._sent:
                self._progress(progress.sequence, progress.fraction, progress.stage)
        elif kind == "result":
            response, sequence = frame.result.answer, frame.result.sequence
            pending = self._in_flight(sequence)
            for file in response.files:
                pending.files[_map_name(file.map)].append(file.content)
            files = {name: b"".join(parts) for name, parts in pending.files.items()}
            self._finish(sequence, decode(response, files))
        elif kind == "error" and not frame.error.HasField("item"):  # of an item, the scan's result is still to come
            sequence = frame.error.sequence
            error = from_detail(frame.error.error)
            self._finish(sequence, ScanError(sequence, self._in_flight(sequence).name, error))

    def outcomes(self) -> Iterator[LesionAnswer | ScanError]:
        """Yield outcomes that are complete, in the caller's order."""
        while self._waiting and (outcome := self._waiting[0].outcome) is not None:
            self._waiting.popleft()
            yield outcome

    def _in_flight(self, sequence: int) -> _Pending:
        if sequence not in self._sent:
            raise malformed(f"a frame about scan {sequence}, which is not on its way")
        return self._sent[sequence]

    def _finish(self, sequence: int, outcome: LesionAnswer | ScanError) -> None:
        pending = self._sent.pop(sequence)
        pending.files.clear()
        pending.outcome = outcome


def sole(outcomes: list[LesionAnswer | ScanError]) -> LesionAnswer:
    """Return the answer of a stream of one scan.

    Raises:
        DemurError: the scan failed.
    """
    if len(outcomes) != 1:
        raise malformed(f"{len(outcomes)} answers about one scan")
    outcome = outcomes[0]
    if isinstance(outcome, ScanError):
        raise outcome.error
    return outcome


def _map_numbers(maps: Iterable[MapName] | None) -> tuple[wire.LesionMap, ...]:
    if maps is None:
        return ()
    names = (maps,) if isinstance(maps, str) else tuple(maps)
    if not names or any(name not in _MAPS for name in names):
        raise wrong_argument("maps", names, f"one or more of {', '.join(_MAPS)}; None for all that the model has")
    return tuple(_MAPS[name] for name in names)


def _map_name(number: int) -> str:
    """Return the name of a volume; one that this client does not know is ``map_<number>``."""
    return next((name for name, value in _MAPS.items() if value == number), f"map_{number}")
