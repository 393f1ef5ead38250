"""Command-line actions of the vessel simulator."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models import provenance
from models.tasks.vessel.data.table import LOW_SPEED
from models.workbench import Action, Option, Progress
from simulators.vessel.dataset import LOW_SPEED_ROWS, generalisation, low_speed, simulate

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


def _simulate(options: Mapping[str, Any], progress: Progress) -> list[Path]:
    return simulate_files(options["out"], options["scale"], options["seed"], options["generalisation"], progress)


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
"""Actions of ``demur data vessel``."""
