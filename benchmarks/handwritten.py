"""Pages that a benchmark writes anew down to a mark; what stands below it is written by hand and kept."""

from __future__ import annotations

from pathlib import Path

MARKER = "<!-- Below: written by hand, kept when the page is written again. -->"


def rewrite(page: Path, above: str) -> None:
    """Puts ``above``, which ends in a line break, before what was written by hand; a new page ends with the mark."""
    below = page.read_text().partition(MARKER)[2] if page.exists() else ""
    page.write_text(above + MARKER + (below or "\n"))
