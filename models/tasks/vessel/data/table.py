"""Vessel data: features in the order of the official models (Shifts 2.0, Table 17), tables of splits, CSV files.

The ranges of features are those of physics and of the sensor, far wider than any training range: they reject wrong
units (a speed in m/h, a dry-dock time in seconds), not unusual voyages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.schema import Feature

MINUTES_PER_YEAR = 525_600

FEATURES: tuple[Feature, ...] = (
    Feature("draft_aft_telegram", "m", 3.0, 20.0, "Draft at the stern as reported by the crew."),
    Feature("draft_fore_telegram", "m", 3.0, 20.0, "Draft at the bow as reported by the crew."),
    Feature("stw", "kn", 0.0, 35.0, "Speed through water."),
    Feature("diff_speed_overground", "kn/3min", -10.0, 10.0, "Change of speed over ground in three minutes."),
    Feature("awind_vcomp_provider", "kn", -100.0, 100.0, "Apparent wind along the ship, head wind positive."),
    Feature("awind_ucomp_provider", "kn", 0.0, 100.0, "Apparent wind across the ship, without its side."),
    Feature("rcurrent_vcomp", "kn", -10.0, 10.0, "Current along the ship, a following current positive."),
    Feature("rcurrent_ucomp", "kn", -10.0, 10.0, "Current across the ship."),
    Feature("comb_wind_swell_wave_height", "m", 0.0, 20.0, "Significant height of wind sea and swell together."),
    Feature("timeSinceDryDock", "min", 0.0, 10.0 * MINUTES_PER_YEAR, "Minutes since the last dry-dock cleaning."),
)

NAMES: tuple[str, ...] = tuple(feature.name for feature in FEATURES)


COLUMNS: tuple[str, ...] = ("time_id", *NAMES, "power")
"""Columns of the official files, in order."""
_ROWS = 50_000


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one split."""

    time_id: NDArray[np.int64]
    """Minute of the record [N], rising within a split of the canonical partition."""
    features: NDArray[np.float32]
    """Features [N, 10] in the order and units of ``FEATURES``."""
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


LOW_SPEED = "low_speed"
"""Additional training split, if the folder has it: a ship at rest or manoeuvring."""
SPLITS = ("train", LOW_SPEED, "dev_in", "dev_out", "eval_in", "eval_out")


def read_files(directory: Path, splits: Sequence[str] = SPLITS) -> dict[str, Table]:
    """Read the official CSV files of a directory.

    Raises:
        FileNotFoundError: train.csv or dev_in.csv is missing and in ``splits``.
        ValueError: a file does not have the official form.
    """
    needed = [f"{name}.csv" for name in ("train", "dev_in") if name in splits]
    if missing := [name for name in needed if not (directory / name).exists()]:
        raise FileNotFoundError(f"{directory} holds no {missing[0]}; needed: {' and '.join(needed)}")
    return {name: read_csv(directory / f"{name}.csv") for name in splits if (directory / f"{name}.csv").exists()}
