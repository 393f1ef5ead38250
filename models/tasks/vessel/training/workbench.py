"""Commands ``demur data vessel`` and ``demur train vessel``: files in, files out, with progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from models import provenance
from models.artefact import Artefact
from models.executors.device import CPU, Device
from models.tasks.vessel.artefact.ensemble import FAMILIES
from models.tasks.vessel.data.table import Table, read_csv
from models.workbench import Action, Option, Progress
from simulators.vessel.dataset import LOW_SPEED_ROWS, generalisation, low_speed, simulate

__all__ = ["DATASHEET", "FAMILIES", "read_files", "simulate_files", "train_artefact"]

LOW_SPEED = "low_speed"
"""Rows that are trained on beside ``train`` where the directory has them: a ship at rest or manoeuvring."""
SPLITS = ("train", LOW_SPEED, "dev_in", "dev_out", "eval_in", "eval_out")
DATASHEET = "docs/datasheets/vessel-simulator.md"

SIMULATOR = "simulated by simulators/vessel of Demur"


def simulate_files(directory: Path, scale: float, seed: int, extra_rows: int, progress: Progress) -> list[Path]:
    """Write the canonical splits, ``low_speed.csv`` and ``generalisation.csv`` of ``extra_rows`` rows, as official CSV.

    Raises:
        ValueError: a scale outside (0, 1] or a negative row count.
    """
    directory.mkdir(parents=True, exist_ok=True)
    tables = simulate(scale, seed, progress=lambda share: progress(0.6 * share, "voyages"))
    tables[LOW_SPEED] = low_speed(max(1, round(LOW_SPEED_ROWS * scale)), seed)
    if extra_rows:
        tables["generalisation"] = generalisation(extra_rows, seed, progress=lambda share: progress(0.6, "box"))
    written = []
    for number, (name, table) in enumerate(tables.items()):
        path = directory / f"{name}.csv"
        table.write_csv(path)
        written.append(path)
        progress(0.6 + 0.4 * (number + 1) / len(tables), path.name)
    provenance.write(directory, f"{SIMULATOR}, seed {seed}, scale {scale:g}", "CC0-1.0")
    return written


def _simulate(given: Mapping[str, Any], progress: Progress) -> list[Path]:
    return simulate_files(given["out"], given["scale"], given["seed"], given["generalisation"], progress)


ACTIONS = (
    Action(
        "simulate",
        "draw the canonical splits from the simulator",
        (
            Option("--out", "directory for the files", Path, required=True),
            Option("--scale", "share of the canonical row counts, (0, 1]", float, 1.0),
            Option("--seed", "equal seeds draw equal files", int, 0),
            Option("--generalisation", "also draw this many rows", int, 0, metavar="ROWS"),
        ),
        _simulate,
        "simulating",
        DATASHEET,
    ),
)
"""Actions of ``demur data``."""


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
