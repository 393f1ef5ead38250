"""Check of the paper's statements on the tables of the page, for use if the kept results are gone.

    python -m studies.lesion_tables.printed [docs/quality/lesion.md]

Rewrites the page's list of relations. Statements about Figure 9, which is in no table, are kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from studies.lesion_tables import relations
from studies.lesion_tables.plan import ROWS, SITES, TESTED, TITLES, WAYS, Crossed, Excluded, Row
from studies.pages import MARKER, QUALITY, parser
from studies.statements import Statement, report, table

HEADING = "## Relations that the paper reports"
LEAD = (
    "Checked by `python -m studies.lesion_tables.printed` on the tables as printed above, to two decimals, but for "
    "Figure 9, which is of the curves. On the numbers that the paper prints all of them hold (but Figure 9, which has "
    "none)."
)


@dataclass(frozen=True)
class Printed:
    """Numbers of Tables 8 to 11."""

    means: Mapping[tuple[str, str, str], float]
    """Share by (row, split, figure)."""
    correlations: Mapping[tuple[str, str], float]
    """Pearson's coefficient with lesion load by (split, score)."""

    def mean(self, row: Row, split: str, name: str) -> float:
        return self.means[row.name, split, name]

    def pearson(self, split: str, name: str) -> float:
        return self.correlations[split, name]


def read(page: str) -> tuple[Printed, Crossed, list[Excluded]]:
    """Return the tables of a page.

    Raises:
        ValueError: a table is missing or incomplete.
    """
    rows = {(row.architecture, row.dropout, row.kind): row for row in ROWS}
    means: dict[tuple[str, str, str], float] = {}
    for heading, figure in (("Table 9", "ndsc"), ("Table 10", "lesion_f1"), ("Table 11", "")):
        for *key, cells in _rows(page, heading, 3, len(TITLES)):
            row = rows[key[0], key[1], key[2]]
            for split, cell in zip(TITLES, cells, strict=True):
                means[row.name, split, figure or row.r_auc] = cell / 100
    correlations: dict[tuple[str, str], float] = {}
    splits = {title: split for split, title in TITLES.items()}
    for title, (_, _, dice, ndsc, *_) in _rows(page, "Table 8", 1, 7):
        correlations |= {(splits[title], "dice"): dice, (splits[title], "ndsc"): ndsc}
    if len(means) != 3 * len(ROWS) * len(TITLES) or len(correlations) != 2 * len(TITLES):
        raise ValueError("Tables 8 to 11 are not all there; write the page again with python -m studies.lesion_tables")
    return Printed(means, correlations), _crossed(page), _excluded(page)


def _crossed(page: str) -> Crossed:
    values = {way: np.full((len(SITES), len(SITES)), np.nan) for way in WAYS}
    for way, site, cells in _rows(page, "Table 4", 2, len(SITES)):
        values[way][SITES.index(site)] = np.array(cells) / 100
    return Crossed(values, np.full(len(SITES), np.nan))


def _excluded(page: str) -> list[Excluded]:
    return [
        Excluded(
            site,
            kind,
            {part: np.array([cell / 100]) for part, cell in zip(TESTED, cells[:3], strict=True)},
            {part: np.array([cell / 100]) for part, cell in zip(TESTED, cells[3:], strict=True)},
        )
        for site, kind, cells in _rows(page, "Table 5", 2, 2 * len(TESTED))
    ]


def _rows(page: str, heading: str, names: int, numbers: int) -> list[tuple[str | list[float], ...]]:
    """Return the lines of the first table below a heading: names, then the means of the cells."""
    below = page.partition(f"\n## {heading}:")[2]
    lines = below[below.find("\n|") :].strip().splitlines()
    rows = []
    for line in lines[2:]:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) != names + numbers:
            break
        rows.append((*cells[:names], [float(cell.split(" ± ")[0]) for cell in cells[names:]]))
    if not rows:
        raise ValueError(f"the page has no {heading} of {names} names and {numbers} numbers a line")
    return rows


def found(page: str) -> list[Statement]:
    """Return all statements that the page's tables allow to check, with the page's statements about Figure 9."""
    tables, crossed, excluded = read(page)
    return relations.canonical(tables) + figure_9(page) + relations.across(crossed, excluded)


def figure_9(page: str) -> list[Statement]:
    """Return the statements about Figure 9 from the page."""
    lines = [line for line in page.splitlines() if line.startswith(f"| {relations.FIGURE_9}")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [Statement(statement, holds == "yes", text) for statement, holds, text in cells]


def rewritten(page: str) -> str:
    """Return the page with a new list of statements."""
    above, _, rest = page.partition(HEADING)
    return f"{above}{HEADING}\n\n{LEAD}\n\n{table(found(page))}\n\n{MARKER}{rest.partition(MARKER)[2]}"


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser("lesion_tables.printed", __doc__)
    options.add_argument("page", type=Path, nargs="?", default=QUALITY / "lesion.md")
    page = options.parse_args(arguments).page
    page.write_text(rewritten(page.read_text()))
    report(found(page.read_text()))


if __name__ == "__main__":
    main()
