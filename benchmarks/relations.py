"""What a paper's text says of its tables, each statement checked on ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Relation:
    """A statement, whether it is so here, and by what numbers."""

    statement: str
    holds: bool
    found: str


@dataclass(frozen=True)
class Pair:
    """A number that should be above another."""

    name: str
    larger: float
    smaller: float


def percent(pair: Pair) -> str:
    """Both shares in per cent."""
    return f"{pair.name} {100 * pair.larger:.2f} against {100 * pair.smaller:.2f}"


def percent_lower(pair: Pair) -> str:
    """The smaller number first, where less is better."""
    return f"{pair.name} {100 * pair.smaller:.2f} against {100 * pair.larger:.2f}"


def plain(pair: Pair) -> str:
    """Both numbers, four significant digits."""
    return f"{pair.name} {pair.larger:.4g} against {pair.smaller:.4g}"


def plain_lower(pair: Pair) -> str:
    """The smaller number first, where less is better."""
    return f"{pair.name} {pair.smaller:.4g} against {pair.larger:.4g}"


def check(
    statement: str, pairs: Iterable[Pair], show: Callable[[Pair], str] = percent, *, ties: bool = False
) -> Relation:
    """Holds if every first number is above the second; what fails is shown in bold.

    Args:
        ties: whether equal numbers hold as well.

    Raises:
        ValueError: nothing to compare.
    """
    all_pairs = list(pairs)
    if not all_pairs:
        raise ValueError(f"nothing to compare for {statement!r}")
    right = [pair.larger > pair.smaller or (ties and pair.larger == pair.smaller) for pair in all_pairs]
    found = "; ".join(show(pair) if good else f"**{show(pair)}**" for pair, good in zip(all_pairs, right, strict=True))
    return Relation(statement, all(right), found)


def counted(one: Relation) -> Relation:
    """Return the same with only the failing comparisons listed, after how many hold; for very many comparisons."""
    parts = one.found.split("; ")
    failing = [part for part in parts if part.startswith("**")]
    listed = f": {'; '.join(failing)}" if failing else ""
    return Relation(one.statement, one.holds, f"{len(parts) - len(failing)} of {len(parts)}{listed}")


def table(found: Iterable[Relation]) -> str:
    """Markdown; what fails is in bold."""
    lines = ["| statement | holds here | found |", "|---|---|---|"]
    lines += [f"| {one.statement} | {'yes' if one.holds else '**no**'} | {one.found} |" for one in found]
    return "\n".join(lines)
