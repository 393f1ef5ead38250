"""Runs cases of a target one by one, each within its time and memory, and tells of those that go wrong.

A case is made of the target's name, the seed and its number alone, so that any of them can be run again by itself.
"""

import random
import re
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from tests.fuzz.target import Decoder, Target

SHRINK_SECONDS = 3.0
DIFFERENT = 5
"""Different bugs after which a run ends."""


class TooSlow(BaseException):
    """A case has used up its time; no ``except Exception`` of a decoder hides it."""


@dataclass(frozen=True)
class Failure:
    """A case that went wrong."""

    target: str
    seed: int
    number: int
    case: bytes
    """As small as it could be made."""
    error: str
    """Type and message."""
    where: str
    """The last places of the traceback."""

    @property
    def kind(self) -> tuple[str, str]:
        """Equal for what is most likely one bug."""
        kind, _, message = self.error.partition(":")
        words = re.sub(r"[\d\W]+", " ", message[:120]) if kind == "AssertionError" else ""
        return kind + words, self.where.splitlines()[-1] if self.where else ""

    def __str__(self) -> str:
        shown = repr(self.case) if len(self.case) <= 2000 else f"{self.case[:1000]!r}... ({len(self.case)} bytes)"
        again = f"python -m tests.fuzz --target {self.target} --seed {self.seed} --case {self.number}"
        return f"{self.target}: {self.error}\n{self.where}\nsmallest case: {shown}\nagain: {again}"


def case_of(decoder: Decoder, target: str, seed: int, number: int) -> bytes:
    """A case; the first ones are the samples as they are."""
    if number < len(decoder.samples):
        return decoder.samples[number]
    rng = random.Random(f"{target} {seed} {number}")
    return decoder.make(rng, rng.choice(decoder.samples))


def fuzz(
    name: str,
    target: Target,
    folder: Path,
    *,
    cases: int,
    seed: int,
    first: int = 0,
    progress: Callable[[int, list[Failure]], None] = lambda done, failures: None,
) -> list[Failure]:
    """Runs cases of a target; the failures, one of each kind."""
    failures: list[Failure] = []
    with ready(target, folder) as decoder:
        for number in range(first, first + cases):
            case = case_of(decoder, name, seed, number)
            error = tried(decoder, case)
            if error is not None:
                failure = Failure(name, seed, number, case, *told(error))
                if failure.kind not in {known.kind for known in failures}:
                    failures.append(replace(failure, case=shrunk(decoder, failure)))
                    if len(failures) >= DIFFERENT:
                        break
            if number % 100 == 99:
                progress(number + 1 - first, failures)
    return failures


def tried(decoder: Decoder, case: bytes) -> BaseException | None:
    """What is wrong with how a case was read; None: nothing."""
    try:
        signal.setitimer(signal.ITIMER_PROF, decoder.most_seconds)
        try:
            decoder.read(case)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except decoder.refusals as refusal:
        return None if str(refusal) else AssertionError(f"{type(refusal).__name__} without a word")
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return error
    return None


@contextmanager
def ready(target: Target, folder: Path) -> Iterator[Decoder]:
    """A decoder that was used already; inside, the system refuses memory beyond its bound, and ``TooSlow`` time.

    For the main thread.
    """

    def late(number: int, frame: FrameType | None) -> None:
        raise TooSlow("the case takes too long")

    decoder = target.opened(folder)
    before, limits = signal.signal(signal.SIGPROF, late), resource.getrlimit(resource.RLIMIT_AS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # nobody reads what a library says on the way
            for sample in decoder.samples:  # what is loaded on first use is no case's memory
                tried(decoder, sample)
            held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (held + decoder.most_bytes, limits[1]))
            yield decoder
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        signal.signal(signal.SIGPROF, before)
        decoder.close()


def shrunk(decoder: Decoder, failure: Failure) -> bytes:
    """The smallest case found that fails alike, by leaving out what can be left out."""
    case, end = failure.case, time.monotonic() + SHRINK_SECONDS
    size = len(case) // 2
    while size and time.monotonic() < end:
        at, smaller = 0, False
        while at < len(case) and time.monotonic() < end:
            without = case[:at] + case[at + size :]
            error = tried(decoder, without)
            if error is not None and replace(failure, **_named(error)).kind == failure.kind:
                case, smaller = without, True
            else:
                at += size
        size = size if smaller and size > 1 else size // 2
    return case


def _named(error: BaseException) -> dict[str, Any]:
    message, where = told(error)
    return {"error": message, "where": where}


def told(error: BaseException) -> tuple[str, str]:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/tests/fuzz/engine" not in frame.filename]
    lines = [f"  {Path(entry.filename).name}:{entry.lineno} {entry.name}: {entry.line}" for entry in own[-6:]]
    return f"{type(error).__name__}: {str(error)[:300]}", "\n".join(lines)
