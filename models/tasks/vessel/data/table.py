"""Table of one split of the vessel data, in memory and as the official CSV file."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.tasks.vessel.data.features import NAMES

COLUMNS: tuple[str, ...] = ("time_id", *NAMES, "power")
"""Columns of the official files, in order."""
_ROWS = 50_000


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one split."""

    time_id: NDArray[np.int64]
    """Minute of the record [N], rising within a split of the canonical partition."""
    features: NDArray[np.float32]
    """Features [N, 10] in the order and units of `features.FEATURES`."""
    power: NDArray[np.float64]
    """Label, kW [N], with noise if the split has noise."""
    clean_power: NDArray[np.float64] | None = None
    """Power before noise, kW [N]; None for a table read from a file."""
    true_wind: NDArray[np.float64] | None = None
    """True wind speed, kn [N]; None for a table read from a file."""

    def __len__(self) -> int:
        return len(self.time_id)

    def write_csv(self, path: Path | str) -> None:
        """Write the official columns; the features survive a round trip exactly."""
        form = ",".join(["%d", *["%.9g"] * len(NAMES), "%.6f"])
        with Path(path).open("w", encoding="ascii") as file:
            file.write(",".join(COLUMNS) + "\n")
            for start in range(0, len(self), _ROWS):
                part = slice(start, start + _ROWS)
                rows = zip(
                    self.time_id[part].tolist(),
                    self.features[part].tolist(),
                    self.power[part].tolist(),
                    strict=True,
                )
                file.writelines(form % (time, *row, label) + "\n" for time, row, label in rows)


def read_csv(path: Path | str) -> Table:
    """Read an official file; columns are matched by name, others are ignored.

    Raises:
        ValueError: columns are missing, or a line has a value that is not a number; the message names them.
    """
    with Path(path).open(encoding="ascii") as file:
        header = [name.strip() for name in file.readline().split(",")]
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        raise ValueError(f"{path}: missing columns {', '.join(missing)}")
    where = [header.index(name) for name in COLUMNS]
    rows = np.loadtxt(path, delimiter=",", skiprows=1, usecols=where, ndmin=2, dtype=np.float64)
    return Table(
        time_id=rows[:, 0].astype(np.int64),
        features=rows[:, 1:-1].astype(np.float32),
        power=rows[:, -1].copy(),
    )
