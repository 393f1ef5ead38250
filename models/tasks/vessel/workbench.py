"""What ``demur data vessel`` and ``demur train vessel`` do: files in, files out, with progress."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from models.artefact import Artefact
from models.tasks.vessel.simulator.dataset import generalisation, simulate
from models.tasks.vessel.simulator.table import Table, read_csv

FAMILIES = ("dnn", "mc_dropout", "variational", "symbolic")
SPLITS = ("train", "dev_in", "dev_out", "eval_in", "eval_out")
DATASHEET = "docs/datasheets/vessel-simulator.md"

Progress = Callable[[float, str], None]


def simulate_files(directory: Path, scale: float, seed: int, extra_rows: int, progress: Progress) -> list[Path]:
    """Writes the canonical splits, and ``generalisation.csv`` of ``extra_rows`` rows, as official CSV.

    Raises:
        ValueError: a scale outside (0, 1] or a negative row count.
    """
    directory.mkdir(parents=True, exist_ok=True)
    tables = simulate(scale, seed, progress=lambda share: progress(0.6 * share, "voyages"))
    if extra_rows:
        tables["generalisation"] = generalisation(extra_rows, seed, progress=lambda share: progress(0.6, "box"))
    written = []
    for number, (name, table) in enumerate(tables.items()):
        path = directory / f"{name}.csv"
        table.write_csv(path)
        written.append(path)
        progress(0.6 + 0.4 * (number + 1) / len(tables), path.name)
    return written


def read_files(directory: Path) -> dict[str, Table]:
    """The official CSV files that a directory holds.

    Raises:
        FileNotFoundError: train.csv or dev_in.csv is missing.
        ValueError: a file is not of the official form.
    """
    missing = [name for name in ("train", "dev_in") if not (directory / f"{name}.csv").exists()]
    if missing:
        raise FileNotFoundError(f"{directory} holds no {missing[0]}.csv; training needs train.csv and dev_in.csv")
    return {name: read_csv(directory / f"{name}.csv") for name in SPLITS if (directory / f"{name}.csv").exists()}


def train_artefact(
    family: str, data: dict[str, Table], out: Path, *, members: int, seed: int, preset: str, progress: Progress
) -> Artefact:
    """Trains a family and writes the calibrated artefact; needs the ``train`` extra.

    Raises:
        ValueError: unknown family or preset, or no members.
        FloatingPointError: training diverged.
    """
    from models.tasks.vessel import build, train

    if family not in FAMILIES:
        raise ValueError(f"family {family!r} is unknown; use one of {', '.join(FAMILIES)}")

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
    found = build.build(ensemble, data, out)
    progress(1.0, found.tag)
    return found
