"""Folder of official files of the vessel task, one CSV file per split."""

from collections.abc import Sequence
from pathlib import Path

from models.tasks.vessel.data.table import Table, read_csv

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
