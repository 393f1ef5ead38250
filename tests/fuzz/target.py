"""What is fuzzed: a decoder, cases made for it, and what of its behaviour counts as right."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz import raw

Make = Callable[[random.Random, bytes], bytes]
"""A case from one of the valid samples."""


@dataclass(frozen=True)
class Decoder:
    """A decoder that is ready, with valid inputs of it.

    ``read`` is right if it returns, or raises one of ``refusals``; whatever else it raises is a bug (its own
    assertions say what is wrong of an answer), and so is to use more time or memory than is allowed.
    """

    samples: Sequence[bytes]
    """Valid inputs, or nearly so: the start of each case."""
    read: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...]
    make: Make = raw.mutated
    most_seconds: float = 1.0
    """Processor time of one case."""
    most_bytes: int = 256 << 20
    """Of memory that a case may ask for on top of what the process has."""
    close: Callable[[], object] = lambda: None
    """Gives back what it holds."""


@dataclass(frozen=True)
class Target:
    """An entry of the table of decoders."""

    cases: int
    """Of a run in CI."""
    opened: Callable[[Path], Decoder]
    """Makes it ready; the folder is its own, and empty."""
    apart: bool = False
    """Whether it needs a process of its own: a library that is not ours reads the bytes."""
