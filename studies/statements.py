"""Statements of a paper about its tables, each checked on other numbers."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from studies.pages import table as markdown

LISTED = 8
"""Number of comparisons up to which a statement lists all, not only failing ones."""


@dataclass(frozen=True)
class Statement:
    """Statement with its result here and the compared numbers; failing ones are in bold."""

    text: str
    holds: bool
    found: str
    printed: bool = True
    """True if the paper's own printed numbers confirm the statement."""


@dataclass(frozen=True)
class Pair:
    """Number that should be above another."""

    name: str
    larger: float
    smaller: float


def better(name: str, first: float, second: float, *, more: bool) -> Pair:
    """Return the pair that holds if the first number is better: larger if ``more`` is better, else smaller."""
    return Pair(name, first, second) if more else Pair(name, second, first)


@dataclass(frozen=True)
class Comparison:
    """One comparison as text, and whether it holds."""

    text: str
    holds: bool


def percent(pair: Pair) -> str:
    """Format both shares in per cent."""
    return f"{pair.name} {100 * pair.larger:.2f} against {100 * pair.smaller:.2f}"


def percent_lower(pair: Pair) -> str:
    """Format both shares in per cent, the smaller one first, for figures for which less is better."""
    return f"{pair.name} {100 * pair.smaller:.2f} against {100 * pair.larger:.2f}"


def plain(pair: Pair) -> str:
    """Format both numbers with four significant digits."""
    return f"{pair.name} {pair.larger:.4g} against {pair.smaller:.4g}"


def plain_lower(pair: Pair) -> str:
    """Format both numbers with four significant digits, the smaller one first, if less is better."""
    return f"{pair.name} {pair.smaller:.4g} against {pair.larger:.4g}"


def check(
    text: str,
    pairs: Iterable[Pair],
    show: Callable[[Pair], str] = percent,
    *,
    ties: bool = False,
    listed: int | None = None,
) -> Statement:
    """Return a statement that holds if every first number is above the second.

    Args:
        ties: whether equal numbers hold as well.
        listed: as in ``stated``.

    Raises:
        ValueError: nothing to compare.
    """
    return stated(
        text,
        (
            Comparison(show(pair), pair.larger > pair.smaller or (ties and pair.larger == pair.smaller))
            for pair in pairs
        ),
        listed=listed,
    )


def stated(
    text: str,
    comparisons: Iterable[Comparison],
    *,
    printed: bool = True,
    listed: int | None = None,
    before: str = ": ",
) -> Statement:
    """Return a statement that holds if every comparison does.

    Args:
        listed: number of comparisons up to which all are listed; of more, only their number and the failing ones.
            None lists all.
        before: text between their number and the failing ones.

    Raises:
        ValueError: nothing to compare.
    """
    every = list(comparisons)
    if not every:
        raise ValueError(f"statement = {text!r}: must have at least one comparison; got none")
    shown = [comparison.text if comparison.holds else f"**{comparison.text}**" for comparison in every]
    failing = [line for line, comparison in zip(shown, every, strict=True) if not comparison.holds]
    detail = "; ".join(shown)
    if listed is not None and len(every) > listed:
        detail = f"{len(every) - len(failing)} of {len(every)}{before * bool(failing)}{'; '.join(failing)}"
    return Statement(text, not failing, detail, printed)


def table(statements: Iterable[Statement], *, printed: bool = False, here: str = "holds here") -> str:
    """Return a Markdown table with failing numbers in bold.

    Args:
        printed: whether to add a column for the paper's own numbers.
        here: head of the column for ours.
    """
    return markdown(
        ("statement", *(("in the paper",) if printed else ()), here, "found"),
        (
            (
                statement.text,
                *((("no", "yes")[statement.printed],) if printed else ()),
                "yes" if statement.holds else "**no**",
                statement.found,
            )
            for statement in statements
        ),
    )


def report(statements: Iterable[Statement]) -> None:
    """Print a line for each statement."""
    for statement in statements:
        sys.stdout.write(f"{'holds' if statement.holds else 'FAILS'} {statement.text} | {statement.found}\n")
