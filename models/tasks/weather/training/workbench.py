"""Commands ``demur data weather`` and ``demur train weather``, with progress."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models import provenance
from models.executors.device import CPU, Device
from models.tasks.weather.artefact.ensemble import FAMILIES
from models.tasks.weather.data import official, partition, split_files
from models.tasks.weather.data.folder import read_files, read_tables
from models.workbench import Action, Option, Progress

if TYPE_CHECKING:
    from models.artefact import Artefact

__all__ = ["ACTIONS", "FAMILIES", "read_files", "read_tables", "train_artefact"]

_RULES = partition.Rules()


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
    """Train a family on a directory of official files and write the calibrated artefact.

    Networks need the ``train`` extra.

    Raises:
        FileNotFoundError, BadFile: see ``read_tables``.
        ValueError: the family or preset is unknown, or there are no members.
        FloatingPointError: training diverged.
    """
    from models.tasks.weather.training import train

    data = read_files(directory)
    return train.train_artefact(
        family,
        data,
        out,
        members=members,
        seed=seed,
        preset=preset,
        provenance=provenance.read(directory),
        progress=progress,
        device=device,
    )


def _partition(options: Mapping[str, Any], progress: Progress) -> list[Path]:
    rules = partition.Rules(
        tuple(options["time_split"]),
        tuple(options["in_climates"]),
        tuple(options["dev_climates"]),
        tuple(options["eval_climates"]),
        tuple(options["in_split"]),
    )
    return split_files.partition_files(
        options["files"],
        options["out"],
        rules,
        options["seed"],
        progress,
        extension=options["format"],
        extended=options["extended"],
        no_meta=options["no_meta"],
    )


WRITTEN = (
    Option("--out", "directory for the files", Path, required=True),
    Option("--seed", "equal seeds draw equal files", int, 0),
    Option("--format", "csv, or parquet: half the size", str, "csv", choices=official.FORMATS),
    Option("--extended", "also train_xclim, dev_xclim, train_xtime, dev_xtime for the experiments A to D", None),
    Option("--no-meta", "also a file with the features only beside each", None),
)
"""Options of all actions that write splits."""


def _climates(name: str, what: str, default: tuple[str, ...]) -> Option:
    return Option(name, f"climates of {what}", str, default, count="+", metavar="CLIMATE")


ACTIONS = (
    Action(
        "partition",
        "divide official files anew by time and climate",
        (
            Option("files", "official files with time and climate, CSV or Parquet", Path, count="+", metavar="FILE"),
            Option(
                "--time-split",
                "shares of the time: in-domain, gap, eval_out, dev_out",
                float,
                _RULES.time_split,
                count=4,
                metavar="SHARE",
            ),
            _climates("--in-climates", "train, dev_in and eval_in", _RULES.in_climates),
            _climates("--dev-climates", "dev_out", _RULES.dev_climates),
            _climates("--eval-climates", "eval_out", _RULES.eval_climates),
            Option(
                "--in-split",
                "shares of in-domain rows: train, dev_in, eval_in",
                float,
                _RULES.in_split,
                count=3,
                metavar="SHARE",
            ),
            *WRITTEN,
        ),
        _partition,
        "dividing",
    ),
)
"""Actions of ``demur data`` besides those of the simulator."""
