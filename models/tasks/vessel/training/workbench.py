"""Commands ``demur data vessel`` and ``demur train vessel``, with progress."""

from pathlib import Path

from models import provenance
from models.artefact import Artefact
from models.executors.device import CPU, Device
from models.tasks.vessel.artefact.ensemble import FAMILIES
from models.tasks.vessel.data.table import read_files
from models.workbench import Action, Progress

__all__ = ["ACTIONS", "FAMILIES", "read_files", "train_artefact"]

ACTIONS: tuple[Action, ...] = ()
"""Actions of ``demur data`` besides those of the simulator."""


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
        ValueError: the family or preset is unknown, there are no members, or a file does not have the official form.
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
    artefact = build.build(ensemble, data, out, provenance=provenance.read(directory), device=device)
    progress(1.0, artefact.tag)
    return artefact
