"""What a search may do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """Of a search; defaults are those of the released baselines.

    Raises:
        ValueError: a number below its least.
    """

    beam: int = 5
    """Hypotheses of a sentence that are followed, and that are told in the end."""
    longest: int = 201
    """Tokens of a hypothesis with its end, at most; fairseq counts 200 without ..."""
    longest_factor: float = 0.0
    """... and so many times the tokens of its sentence more; with 0 the first alone counts."""
    marks: range = range(0)
    """Tokens that stand for literals: a hypothesis has each of those of its sentence exactly once, at its very end if
    not before; one that may not be long enough for them has as many as it can."""
    forbidden: tuple[int, ...] = ()
    """Tokens that are never said."""

    def __post_init__(self) -> None:
        if self.beam < 1 or self.longest < 2 or self.longest_factor < 0:
            raise ValueError(f"{self}: beam is at least 1, longest at least 2, longest_factor not negative")

    def most(self, source: int) -> int:
        """Tokens of a hypothesis for a sentence of so many, with the end of sentence both."""
        if not self.longest_factor:
            return self.longest
        return min(self.longest, int(self.longest_factor * source) + 10)
