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


def measure(name: str, members: Members, recipe: Recipe, content: bytes) -> Iterator[Figure]:
    """From the file's bytes to all maps as files, and the same without reading and writing."""
    members.difference(0, np.zeros((len(recipe.channels), *recipe.window), np.float32))
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
    runs = watched.calls * float(np.mean(watched.bare))  # a mean, as the whole is: both are slowed now and then
    spread = (np.quantile(watched.bare, 0.75) - np.quantile(watched.bare, 0.25)) / np.median(watched.bare)
    inside = sum(seconds for stage, seconds in spent.items() if stage not in ("reading", "writing files"))
    part = f"{name}: {len(members)} members, {watched.calls // len(members)} windows"
    note = f"{runs:.1f} s of {watched.calls} bare runs, quartiles ±{spread / 2:.0%}"
    yield Figure(part, "scan to maps over bare runs", inside / runs, "x", at_most=AT_MOST, note=note)
    yield Figure(part, "file to files over bare runs", sum(spent.values()) / runs, "x", note=f"{len(offered)} files")
    for stage, seconds in spent.items():
        yield Figure(part, stage, seconds, "s")


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
