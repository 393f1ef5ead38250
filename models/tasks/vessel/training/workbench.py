"""Commands ``demur data vessel`` and ``demur train vessel``: files in, files out, with progress."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from models import provenance
from models.artefact import Artefact
from models.executors.device import CPU, Device
from models.tasks.vessel.artefact.ensemble import FAMILIES
from models.tasks.vessel.data.table import Table, read_csv
from models.workbench import Action, Progress

__all__ = ["ACTIONS", "FAMILIES", "read_files", "train_artefact"]

LOW_SPEED = "low_speed"
"""Rows that are trained on beside ``train`` where the directory has them: a ship at rest or manoeuvring."""
SPLITS = ("train", LOW_SPEED, "dev_in", "dev_out", "eval_in", "eval_out")
DATASHEET = "docs/datasheets/vessel-simulator.md"


ACTIONS: tuple[Action, ...] = ()
"""Actions of ``demur data`` beside those of the simulator."""


def read_files(directory: Path, splits: Sequence[str] = SPLITS) -> dict[str, Table]:
    """The official CSV files that a directory holds, of some splits.

    Raises:
        FileNotFoundError: train.csv or dev_in.csv is missing, and of these splits.
        ValueError: a file is not of the official form.
    """
    needed = [f"{name}.csv" for name in ("train", "dev_in") if name in splits]
    if missing := [name for name in needed if not (directory / name).exists()]:
        raise FileNotFoundError(f"{directory} holds no {missing[0]}; needed: {' and '.join(needed)}")
    return {name: read_csv(directory / f"{name}.csv") for name in splits if (directory / f"{name}.csv").exists()}


def train_artefact(
    family: str,
    directory: Path,
    out: Path,
    *,
    members: int,
    seed: int,
    preset: str,
    progress: Progress,
    device: Device = CPU,
) -> Artefact:
    """Train a family on a directory of official CSV files and write the calibrated artefact.

    Needs the ``train`` extra.

    Raises:
        FileNotFoundError: see ``read_files``.
        ValueError: unknown family or preset, no members, or a file that is not of the official form.
        FloatingPointError: training diverged.
    """
    from models.tasks.vessel.artefact import build
    from models.tasks.vessel.training import train

    data = read_files(directory)

    def report(state: train.Progress) -> None:
        progress(min(state.epoch / state.epochs, 0.99), str(state))

    ensemble = train.train(
        family,  # type: ignore[arg-type]
        data,
        members=members,
        seed=seed,
        settings=train.PRESETS[preset],
        progress=report,
    )
    found = build.build(ensemble, data, out, provenance=provenance.read(directory), device=device)
    progress(1.0, found.tag)
    return found
