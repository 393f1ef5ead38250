"""One stream of scans from the caller's side, without input or output: what is sent, what belongs to which scan."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from demur._errors import DemurError, ServiceFailure, from_detail
from demur._lesion_answer import LesionAnswer, decode
from demur._lesion_question import Files, MapName, Unread, begin, end, frames, map_numbers, map_word
from demur._question import Manner
from demur._window import Window

Progress: TypeAlias = Callable[[int, float, str], None]
"""Called with a scan's place among those given, the finished share of its work, 0 to 1, and what is being done."""


@dataclass(frozen=True, slots=True)
class ScanError:
    """Stands where the answer about a scan would: this one failed, the others go on."""

    position: int
    """Which of the scans, from 0."""
    name: str
    error: DemurError


@dataclass(eq=False, slots=True)
class _Pending:
    name: str
    files: dict[str, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    outcome: LesionAnswer | ScanError | None = None


class ScanExchange:
    """State of one stream: scans in, frames out; response frames in, one outcome a scan out."""

    def __init__(
        self,
        manner: Manner,
        maps: Iterable[MapName] | None,
        *,
        progress: Progress | None = None,
        window: int | None = None,
    ) -> None:
        self._maps = map_numbers(maps)
        self._progress = progress
        self._window = Window(window)
        self._waiting: deque[_Pending] = deque()  # not yet handed over
        self._sent: dict[int, _Pending] = {}  # in flight, by sequence
        self._offered = 0
        self.open = True
        """Whether the service may still send frames."""
        self.begin = begin(manner)
        """The first frame to send."""

    def accept(self, frame: Any) -> None:
        """Take the service's first frame, or None for its end.

        Raises:
            ServiceFailure: it is not that frame.
        """
        self._window.accept(frame)

    @property
    def full(self) -> bool:
        """Whether an answer must be received before the next scan is drawn."""
        return self._window.filled(len(self._sent))

    @property
    def finishing(self) -> bool:
        """Never: a scan that fails does not end the stream."""
        return False

    def offer(self, scan: Files | Unread) -> Iterator[Any]:
        """The frames of the caller's next scan; none of one that could not even be read."""
        sequence = self._offered
        self._offered += 1
        if isinstance(scan, Unread):
            self._waiting.append(_Pending(scan.name, outcome=ScanError(sequence, scan.name, scan.error)))
            return
        pending = _Pending(scan.name)
        self._waiting.append(pending)
        yield from frames(scan, sequence, self._maps)
        self._sent[sequence] = pending  # only now does it fill the window: no answer comes before its end
        yield end()

    def receive(self, frame: Any) -> None:
        """Take a frame of the service, or None for its end.

        Raises:
            ServiceFailure: about a scan that is not in flight, or an end with scans unanswered.
        """
        if frame is None:
            self.open = False
            if self._sent:
                raise ServiceFailure(
                    f"the service ended the stream with {len(self._sent)} scans unanswered", code="malformed"
                )
            return
        kind = frame.WhichOneof("frame")
        if kind == "piece":
            piece = frame.piece
            self._of(piece.sequence).files[map_word(piece.map)].append(piece.content)
        elif kind == "progress" and frame.progress.HasField("sequence"):
            told = frame.progress
            if self._progress is not None and told.sequence in self._sent:
                self._progress(told.sequence, told.fraction, told.stage)
        elif kind == "result":
            response, sequence = frame.result.answer, frame.result.sequence
            pending = self._of(sequence)
            for file in response.files:
                pending.files[map_word(file.map)].append(file.content)
            files = {name: b"".join(parts) for name, parts in pending.files.items()}
            pending.files.clear()
            pending.outcome = decode(response, files)
            del self._sent[sequence]
        elif kind == "error" and not frame.error.HasField("item"):  # of an item, the scan's result is still to come
            sequence = frame.error.sequence
            pending = self._of(sequence)
            pending.outcome = ScanError(sequence, pending.name, from_detail(frame.error.error))
            pending.files.clear()
            del self._sent[sequence]

    def outcomes(self) -> Iterator[LesionAnswer | ScanError]:
        """Hand over what is known, in the caller's order."""
        while self._waiting and (outcome := self._waiting[0].outcome) is not None:
            self._waiting.popleft()
            yield outcome

    def _of(self, sequence: int) -> _Pending:
        if sequence not in self._sent:
            raise ServiceFailure(f"a frame about scan {sequence}, which is not on its way", code="malformed")
        return self._sent[sequence]
