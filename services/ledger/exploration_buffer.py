"""Buffer of explored units: counted for drift, and held in memory for a time, so that callers can commit some."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from services.ledger.contract import Payload, Portion
from services.ledger.decided import Key
from services.ledger.segments import histogram, pack_histogram
from services.policy.decision import Decision

_SAMPLE = 256
"""Most scores of one portion in the histogram: drift needs only a sample; counts are exact."""
_OBJECT_BYTES = 2048
"""Size of a held portion, besides its arrays."""
HELD, UNDER_WAY, COMMITTED = 0, 1, 2


@dataclass(eq=False)
class HeldPortion:
    """Portion whose units can still be committed."""

    first: int
    """Sequence of its first unit; the units of its heads follow each other."""
    count: int
    portion: Portion
    payload: Payload | None
    nbytes: int
    since: float
    """Time on the monotonic clock, seconds."""
    states: NDArray[np.uint8]
    """HELD, UNDER_WAY or COMMITTED, per unit [count]."""

    def heads(self) -> Iterator[tuple[str, int]]:
        """Yield heads, each with the sequence of its first unit."""
        for head, ids in self.portion.ids.items():
            yield head, ids.first


@dataclass
class Tally:
    """Counts of one key since the last flush."""

    count: int = 0
    deferred: int = 0
    first_time: float = 0.0
    last_time: float = 0.0
    sample: list[NDArray[np.float32]] = field(default_factory=list)

    def row(self, edges: Sequence[float] | None) -> dict[str, Any]:
        """Return the columns of a segment; ``edges`` are the head's reference quantiles, None where it has none."""
        body = None if edges is None else pack_histogram(histogram(edges, np.concatenate(self.sample)))
        return {
            "count": self.count,
            "deferred": self.deferred,
            "first_time": self.first_time,
            "last_time": self.last_time,
            "body": body,
        }


class ExplorationBuffer:
    """Portions by age, bounded in bytes and seconds; for one event loop."""

    def __init__(
        self,
        most_bytes: int,
        most_seconds: float,
        clock: Callable[[], float],
        seed: int = 0,
        streams: Mapping[str, str] | None = None,
    ) -> None:
        """
        Args:
            clock: monotonic, in seconds.
            streams: names that units are counted under, by head, read at each count; default: the model's.
        """
        self._streams = {} if streams is None else streams
        self.units = 0
        """Number of held units."""
        self.nbytes = 0
        self._most_bytes = most_bytes
        self._most_seconds = most_seconds
        self._clock = clock
        self._held: deque[HeldPortion] = deque()
        self._tallies: dict[Key, Tally] = {}
        self._generator = np.random.default_rng(seed)

    def add(self, portion: Portion, payload: Payload | None, now: float) -> None:
        """Count a portion, and hold it if it was explored (not replayed)."""
        for head, verdict in portion.verdicts.items():
            model = self._streams.get(head, portion.model)
            key = Key(head, model, verdict.policy.version, portion.purpose)
            tally = self._tallies.get(key)
            if tally is None:
                tally = self._tallies[key] = Tally(first_time=now)
            tally.count += len(verdict.decisions)
            tally.deferred += int(np.count_nonzero(verdict.decisions == Decision.DEFER.value))
            tally.last_time = now
            tally.sample.append(self._sampled(verdict.uncertainty))
        if portion.purpose == "explore" and portion.ids:
            self._hold(portion, payload)

    def find(self, sequence: int) -> HeldPortion | None:
        """Return the portion of a unit; None where it is not (or no longer) held."""
        self.forget()
        index = bisect_right(self._held, sequence, key=_first) - 1
        if index < 0:
            return None
        held = self._held[index]
        return held if sequence < held.first + held.count else None

    def forget(self) -> None:
        """Drop the oldest portions beyond the limits; what is being committed stays."""
        oldest = self._clock() - self._most_seconds
        while self._held and (self._held[0].since < oldest or self.nbytes > self._most_bytes):
            if (self._held[0].states == UNDER_WAY).any():
                return
            gone = self._held.popleft()
            self.units -= gone.count
            self.nbytes -= gone.nbytes

    @property
    def tallied(self) -> bool:
        """True if there are counts that ``take_tallies`` would return."""
        return bool(self._tallies)

    def take_tallies(self) -> dict[Key, Tally]:
        """Return and reset the counts since the last call."""
        tallies, self._tallies = self._tallies, {}
        return tallies

    def give_back(self, tallies: Mapping[Key, Tally]) -> None:
        """Add tallies again that could not be written."""
        for key, early in tallies.items():
            late = self._tallies.get(key)
            if late is not None:
                early.count += late.count
                early.deferred += late.deferred
                early.last_time = late.last_time
                early.sample = (early.sample + late.sample)[-4 * _SAMPLE :]
            self._tallies[key] = early

    def _hold(self, portion: Portion, payload: Payload | None) -> None:
        ids = list(portion.ids.values())
        count = sum(of_head.count for of_head in ids)
        nbytes = portion.count * (0 if payload is None else payload.item_bytes) + _array_bytes(portion) + _OBJECT_BYTES
        if nbytes > self._most_bytes:
            return
        kept = replace(portion, payload=None)  # members' outputs are not needed later
        self._held.append(
            HeldPortion(ids[0].first, count, kept, payload, nbytes, self._clock(), np.zeros(count, np.uint8))
        )
        self.units += count
        self.nbytes += nbytes
        self.forget()

    def _sampled(self, uncertainty: NDArray[np.float32]) -> NDArray[np.float32]:
        step = -(-len(uncertainty) // _SAMPLE)
        return uncertainty if step <= 1 else uncertainty[int(self._generator.integers(step)) :: step]


def _array_bytes(portion: Portion) -> int:
    """Return the bytes of scores, decisions and statistics that a held portion keeps alive."""
    nbytes = sum(len(verdict.decisions) * 6 for verdict in portion.verdicts.values())
    for predictive in portion.predictives.values():
        for value in vars(predictive).values():
            arrays = value if isinstance(value, (list, tuple)) else (value,)
            nbytes += sum(getattr(array, "nbytes", 0) for array in arrays)
    return nbytes


def _first(held: HeldPortion) -> int:
    return held.first
