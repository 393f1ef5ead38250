"""Committed artefacts that the tables evaluate, opened as in serving."""

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models import artefact
from models.artefact import Artefact, ArtefactError
from models.building import Labelled
from models.executors.members import MemberExecutor, Members
from studies import pages
from studies.jobs import save_arrays

ROWS = 4096
"""Number of rows of one pass."""
ROLES = {"train": "training", "dev_in": "calibration and early stopping"}
"""Role under which manifests record the fingerprint of a set."""


def read(folder: Path) -> dict[str, Artefact]:
    """Return the verified weather artefacts of a folder by the names of their folders, in order.

    Raises:
        ArtefactError: an artefact is damaged, or the folder holds none.
    """
    artefacts = {
        path.parent.name: artefact.read(path.parent, "weather") for path in sorted(folder.glob("*/manifest.json"))
    }
    if not artefacts:
        raise ArtefactError(f"{folder}: no weather artefacts; make them with `python -m studies.weather_reference`")
    return artefacts


def table(artefacts: Mapping[str, Artefact]) -> str:
    """Return a Markdown table of each artefact, its members and its model files."""
    rows = []
    for name, model in artefacts.items():
        manifest = model.manifest
        files = {file for executor in manifest.executors for file in executor.files}
        members = f"{manifest.members}" + f" x {manifest.samples}" * (manifest.samples > 1)
        rows.append((f"`{name}`", members, len(files), f"`{pages.digest(manifest)}`"))
    return pages.table(("artefact", "members", "model files", "sha256 of the model files"), rows)


def rows_line(artefacts: Mapping[str, Artefact], data: Mapping[str, Labelled]) -> str:
    """Return whether the rows simulated here match the fingerprints in the manifests, as text."""
    known = {role: set[str]() for role in ROLES.values()}
    for model in artefacts.values():
        for source in model.manifest.sources:
            known.setdefault(source.role, set()).add(source.fingerprint)
    other = [name for name, role in ROLES.items() if known[role] != {data[name].fingerprint}]
    if not other:
        return (
            "The rows of train and dev_in simulated for this page are, bit by bit, those that the artefacts' manifests "
            "name"
        )
    return (
        f"The rows of {' and '.join(other)} simulated for this page are not those that the artefacts' manifests name: "
        "another scale, or another processor, whose elementary functions differ in the last digits; judged rows then "
        "differ as much from those of another processor, which the printed digits hardly show"
    )


@dataclass(frozen=True)
class Work:
    """Folder of finished results of one machine: trained models, and predictions of members for each set."""

    folder: Path

    def outputs(
        self, key: str, opened: Callable[[], MemberExecutor], tables: Mapping[str, Labelled]
    ) -> dict[str, Members]:
        """Return the predictions of each member for each table; kept under ``key`` and the table's fingerprint.

        Args:
            key: identifies the members; equal keys are equal model files.
            opened: function that opens the members, called only if a result is missing.
        """
        executor: MemberExecutor | None = None
        outputs: dict[str, Members] = {}
        for name, rows in tables.items():
            path = self.folder / f"outputs-{key}-{name}-{rows.fingerprint[:16]}.npz"
            if not path.exists():
                executor = executor or opened()
                save_arrays(path, compressed=False, **_run(executor, rows.features, f"{key} {name}"))
            with np.load(path) as arrays:
                outputs[name] = {head: arrays[head] for head in arrays.files}
        return outputs


def teller(what: str) -> Callable[[object], None]:
    """Return a function that writes a state to standard error, at most every ten seconds."""
    last = [0.0]

    def tell(state: object) -> None:
        if time.monotonic() - last[0] > 10:
            last[0] = time.monotonic()
            sys.stderr.write(f"{time.strftime('%H:%M:%S')} {what}: {state}\n")
            sys.stderr.flush()

    return tell


def _run(executor: MemberExecutor, features: NDArray[np.float32], what: str) -> Members:
    tell = teller(what)
    parts = []
    for start in range(0, len(features), ROWS):
        parts.append(executor(np.ascontiguousarray(features[start : start + ROWS], np.float32)))
        tell(f"{min(start + ROWS, len(features))}/{len(features)} rows")
    return {head: np.concatenate([part[head] for part in parts], axis=1) for head in parts[0]}
