"""Rules of a beam search."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """Rules of a search; defaults are those of the released baselines.

    Raises:
        ValueError: a number is too small.
    """

    beam: int = 5
    """Number of hypotheses per sentence during the search and in its result."""
    longest: int = 201
    """Largest number of tokens of a hypothesis with its end; fairseq counts 200 without the end."""
    longest_factor: float = 0.0
    """Further limit, if not 0: this factor times the tokens of the sentence, plus ten."""
    marks: range = range(0)
    """Tokens that stand for literals. A hypothesis has each mark of its sentence exactly once, at its very end if not
    before; if the length limit leaves too little room, as many as possible.
    """
    forbidden: tuple[int, ...] = ()
    """Tokens that are never generated."""

    def __post_init__(self) -> None:
        if self.beam < 1 or self.longest < 2 or self.longest_factor < 0:
            raise ValueError(f"{self}: beam is at least 1, longest at least 2, longest_factor not negative")

    def most(self, source: int) -> int:
        """Return the largest number of tokens of a hypothesis for a sentence of ``source`` tokens.

        Both include the end of sentence.
        """
        if not self.longest_factor:
            return self.longest
        return min(self.longest, int(self.longest_factor * source) + 10)
