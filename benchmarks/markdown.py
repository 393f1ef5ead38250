"""Markdown tables: whole, line by line as figures come, or between the marks of a page."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
"""Marks of a page, between which a run writes its results."""


def row(cells: Iterable[object]) -> str:
    """Return a line of cells."""
    return f"| {' | '.join(map(str, cells))} |"


def head(columns: Sequence[str]) -> str:
    """Return the two lines above the rows."""
    return f"{row(columns)}\n{'|---' * len(columns)}|"


def table(columns: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Return a table: a line of heads, then a line for each row of cells."""
    return "\n".join([head([*map(str, columns)]), *map(row, rows)])


def replaced(text: str, results: str) -> str:
    """Return a page's text with other results between its marks.

    Raises:
        ValueError: the page lacks the marks, or has them in another order.
    """
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise ValueError(f"page: must contain {BEGIN!r} and after it {END!r}; add both where the results should be")
    return f"{before}{BEGIN}\n\n{results}\n\n{END}{after}"


def publish(tables: str, results: Mapping[str, Any], as_json: Path | None, page: Path | None) -> None:
    """Print tables; write the results to a file and the tables into a page, where these are given."""
    if as_json:
        as_json.write_text(json.dumps(results, indent=1) + "\n")
    sys.stdout.write(f"{tables}\n")
    if page:
        page.write_text(replaced(page.read_text(), tables))
