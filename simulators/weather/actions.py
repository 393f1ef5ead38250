"""Command-line actions of the weather simulator."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models import provenance
from models.tasks.weather.data import partition
from models.tasks.weather.data.split_files import Split
from models.tasks.weather.training.workbench import WRITTEN
from models.workbench import Action, Option, Progress
from simulators.weather import dataset

DATASHEET = "docs/datasheets/weather-simulator.md"
SIMULATOR = "simulated by simulators/weather of Demur"


def simulate_files(
    directory: Path,
    scale: float,
    seed: int,
    progress: Progress,
    *,
    extension: str = "csv",
    extended: bool = False,
    no_meta: bool = False,
) -> list[Path]:
    """Write the canonical splits piece by piece, so that memory does not grow with ``scale``.

    Args:
        extension: file format, one of ``official.FORMATS``.
        extended: also write the splits of ``partition.EXTENDED``.
        no_meta: also write each file with the features only, as the released partition tool does.

    Raises:
        ValueError: a scale outside (0, 1], or pyarrow is missing.
    """
    total = sum(int(rows.sum()) for rows in partition.counts(scale, extended=extended).values())
    directory.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    done = 0
    for name, pieces in dataset.splits(scale, seed, extended=extended).items():
        with Split(directory, name, extension, no_meta) as split:
            for piece in pieces:
                split.write(piece)
                done += len(piece)
                progress(min(done / total, 0.999), name)
        written += split.paths
    progress(1.0, directory.name)
    provenance.write(directory, f"{SIMULATOR}, seed {seed}, scale {scale:g}", "CC0-1.0")
    return written


def _simulate(options: Mapping[str, Any], progress: Progress) -> list[Path]:
    return simulate_files(
        options["out"],
        options["scale"],
        options["seed"],
        progress,
        extension=options["format"],
        extended=options["extended"],
        no_meta=options["no_meta"],
    )


ACTIONS = (
    Action(
        "simulate",
        "draw the canonical splits from the simulator",
        (Option("--scale", "share of the canonical row counts, (0, 1]", float, 1.0), *WRITTEN),
        _simulate,
        "simulating",
        DATASHEET,
    ),
)
"""Actions of ``demur data weather``."""
