"""Processor time of a whole scan in one thread over that of its bare session runs, measured between its windows.

A bare run is a run of a session with ONNX Runtime's default settings. The served sessions share their memory and can be
faster; the scan is also measured against their runs.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Figure
from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.data import files
from models.tasks.lesion.data.image import read_scan
from models.tasks.lesion.inference import segment
from models.tasks.lesion.inference.members import Members
from models.tasks.lesion.inference.preparation import prepare

EVERY = 4
"""Number of windows of a member between two bare runs."""
AT_MOST = 1.15
ROUNDS = 5
"""Largest number of scans that are counted, if they are fast."""
ENOUGH_SECONDS = 60.0


@dataclass
class Watched:
    """Members that count their calls and sometimes time bare runs of the same window, which are subtracted."""

    members: Members
    plain: Members
    """Members in sessions with default settings, for bare runs."""
    calls: int = 0
    bare: list[float] = field(default_factory=list)
    served: list[float] = field(default_factory=list)
    """Times of bare runs of the served sessions."""
    taken_off: float = 0.0

    def __len__(self) -> int:
        return len(self.members)

    def difference(self, member: int, window: NDArray[np.float32]) -> NDArray[np.float32]:
        self.calls += 1
        if self.calls % EVERY == 0:
            batch = np.ascontiguousarray(window[None])
            for members, seconds in ((self.plain, self.bare), (self.members, self.served)):
                start = time.thread_time()
                members.differences(member, batch)
                seconds.append(time.thread_time() - start)
                self.taken_off += seconds[-1]
        return self.members.difference(member, window)


@dataclass(frozen=True)
class _Round:
    """Timing of one scan from input file to output files."""

    calls: int
    """Number of calls of members."""
    bare: float
    """Time of all bare runs, s: their number times their mean, since the whole scan, too, is slowed now and then."""
    served: float
    """Time of all bare runs of the served sessions, s."""
    spent: dict[str, float]
    """Time by stage, s."""
    files: int

    def seconds(self, *left_out: str) -> float:
        return sum(seconds for stage, seconds in self.spent.items() if stage not in left_out)


def measure(name: str, members: Members, plain: Members, recipe: Recipe, content: bytes) -> Iterator[Figure]:
    """Measure from the file's bytes to all maps as files, and without reading and writing; medians over rounds.

    The first round is not counted, since first use of memory by a process costs the bare runs nothing.
    """
    rounds: list[_Round] = []
    start = time.monotonic()
    while len(rounds) < 2 or (len(rounds) <= ROUNDS and time.monotonic() - start < ENOUGH_SECONDS):
        rounds.append(_round(members, plain, recipe, content))
    counted = rounds[1:]
    first = counted[0]
    part = f"{name}: {len(members)} members, {first.calls // len(members)} windows"
    inside = [turn.seconds("reading", "writing files") for turn in counted]
    bare, served = [turn.bare for turn in counted], [turn.served for turn in counted]
    note = f"{np.median(bare):.1f} s of {first.calls} bare runs"
    yield _ratio(part, "scan to maps over bare runs", inside, bare, note, at_most=AT_MOST)
    note = f"{np.median(served):.1f} s of as many runs of the sessions that serve"
    yield _ratio(part, "scan to maps over its own sessions' runs", inside, served, note)
    whole = [turn.seconds() for turn in counted]
    yield _ratio(part, "file to files over bare runs", whole, bare, f"{first.files} files")
    for stage in first.spent:
        yield Figure(part, stage, float(np.median([turn.spent[stage] for turn in counted])), "s")


def _ratio(
    part: str, name: str, seconds: list[float], runs: list[float], note: str, at_most: float | None = None
) -> Figure:
    ratios = np.divide(seconds, runs)
    spread = f"{ratios.min():.3f} to {ratios.max():.3f} in {len(ratios)} rounds; {note}"
    return Figure(part, name, float(np.median(ratios)), "x", at_most=at_most, note=spread)


def _round(members: Members, plain: Members, recipe: Recipe, content: bytes) -> _Round:
    watched = Watched(members, plain)
    spent: dict[str, float] = {}
    clock = _Clock(watched)
    scan = read_scan({"flair": content}, recipe.channels)
    spent["reading"] = clock()
    prepared = prepare(scan, recipe)
    spent["preparing"] = clock()
    segmented = _finished(segment.work(prepared, watched, recipe), clock, spent)
    offered = files.names(segmented)
    for file in offered:
        files.encoded(segmented, file)
    spent["writing files"] = clock()
    calls = watched.calls
    bare, served = (calls * float(np.mean(seconds)) for seconds in (watched.bare, watched.served))
    return _Round(calls, bare, served, spent, len(offered))


class _Clock:
    """Clock that returns the seconds since its last call, less the subtracted time."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._last = self._now()

    def __call__(self) -> float:
        now = self._now()
        passed, self._last = now - self._last, now
        return passed

    def _now(self) -> float:
        return time.thread_time() - self._watched.taken_off


def _finished(work: Any, clock: _Clock, spent: dict[str, float]) -> Any:
    results: Any = None
    while True:
        try:
            batch = work.send(results)
        except StopIteration as end:
            return end.value
        results = [call.function() for call in batch.calls]
        spent[batch.stage] = spent.get(batch.stage, 0.0) + clock()
