"""CSV files that commands write."""

import csv
from pathlib import Path


def table(path: Path) -> list[dict[str, str]]:
    """Rows of a file by the names of its columns."""
    return list(csv.DictReader(path.read_text().splitlines()))
