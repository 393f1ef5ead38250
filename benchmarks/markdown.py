"""Markdown tables: whole, or line by line as figures come."""

from collections.abc import Iterable, Sequence


def row(cells: Iterable[object]) -> str:
    """Return a line of cells."""
    return f"| {' | '.join(map(str, cells))} |"


def head(columns: Sequence[str]) -> str:
    """Return the two lines above the rows."""
    return f"{row(columns)}\n{'|---' * len(columns)}|"


def table(columns: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Return a table: a line of heads, then a line for each row of cells."""
    return "\n".join([head([*map(str, columns)]), *map(row, rows)])
