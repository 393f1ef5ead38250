"""Processor time of a whole scan in one thread over that of its bare session runs, measured between its windows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure
from models.tasks.lesion import files, segment
from models.tasks.lesion.image import read_scan
from models.tasks.lesion.members import Members
from models.tasks.lesion.preparation import prepare
from models.tasks.lesion.recipe import Recipe

EVERY = 4
"""Windows of a member between two bare runs."""
AT_MOST = 1.15
ROUNDS = 5
"""Scans that are counted at most, where they are quick."""
ENOUGH_SECONDS = 60.0


@dataclass
class Watched:
    """Members that count their calls and, now and then, time a bare run of the same window, which is taken off."""

    members: Members
    calls: int = 0
    bare: list[float] = field(default_factory=list)
    taken_off: float = 0.0

    def __len__(self) -> int:
        return len(self.members)

    def difference(self, member: int, window: NDArray[np.float32]) -> NDArray[np.float32]:
        self.calls += 1
        if self.calls % EVERY == 0:
            batch = np.ascontiguousarray(window[None])
            start = time.thread_time()
            self.members.differences(member, batch)
            self.bare.append(time.thread_time() - start)
            self.taken_off += time.thread_time() - start
        return self.members.difference(member, window)


@dataclass(frozen=True)
class _Round:
    """One scan from file to files."""

    windows: int
    calls: int
    bare: NDArray[np.float64]
    """Seconds of the bare runs that were timed."""
    spent: dict[str, float]
    """Seconds by stage."""
    files: int

    @property
    def runs(self) -> float:
        """Seconds of all bare runs: by their mean, as the whole is one, since both are slowed now and then."""
        return self.calls * float(self.bare.mean())

    def over_runs(self, *left_out: str) -> float:
        return sum(seconds for stage, seconds in self.spent.items() if stage not in left_out) / self.runs


def measure(name: str, members: Members, recipe: Recipe, content: bytes) -> Iterator[Figure]:
    """From the file's bytes to all maps as files, and the same without reading and writing; medians over rounds.

    The first round is not counted: memory that a process touches for the first time costs the bare runs nothing.
    """
    rounds: list[_Round] = []
    start = time.monotonic()
    while len(rounds) < 2 or (len(rounds) <= ROUNDS and time.monotonic() - start < ENOUGH_SECONDS):
        rounds.append(_round(members, recipe, content))
    counted = rounds[1:]
    first = counted[0]
    ratios = [one.over_runs("reading", "writing files") for one in counted]
    spread = f"{min(ratios):.3f} to {max(ratios):.3f} in {len(ratios)} rounds"
    runs = float(np.median([one.runs for one in counted]))
    part = f"{name}: {len(members)} members, {first.windows} windows"
    note = f"{spread}; {runs:.1f} s of {first.calls} bare runs"
    yield Figure(part, "scan to maps over bare runs", float(np.median(ratios)), "x", at_most=AT_MOST, note=note)
    whole = float(np.median([one.over_runs() for one in counted]))
    yield Figure(part, "file to files over bare runs", whole, "x", note=f"{first.files} files")
    for stage in first.spent:
        yield Figure(part, stage, float(np.median([one.spent[stage] for one in counted])), "s")


def _round(members: Members, recipe: Recipe, content: bytes) -> _Round:
    watched = Watched(members)
    spent: dict[str, float] = {}
    clock = _Clock(watched)
    scan = read_scan({"flair": content}, recipe.channels)
    spent["reading"] = clock()
    prepared = prepare(scan, recipe)
    spent["preparing"] = clock()
    found = _finished(segment.work(prepared, watched, recipe), clock, spent)
    offered = files.names(found)
    for one in offered:
        files.encoded(found, one)
    spent["writing files"] = clock()
    bare = np.array(watched.bare)
    return _Round(watched.calls // len(members), watched.calls, bare, spent, len(offered))


class _Clock:
    """Seconds since it was asked last, without what is taken off."""

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
