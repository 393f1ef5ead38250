"""Import of a folder of released baselines as an artefact."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from models.building import Provenance
from models.executors.device import CPU, Device
from models.tasks.translation.artefact import released_folder
from models.tasks.translation.artefact.ensemble import Ensemble
from models.tasks.translation.artefact.recipe import Recipe
from models.tasks.translation.data import pairs_folder
from models.tasks.translation.data.corpus import Corpus
from models.tasks.translation.networks.settings import Precision
from models.tasks.translation.text.vocabulary import PAD

if TYPE_CHECKING:
    from models.artefact import Artefact

PROVENANCE = Provenance(
    "the benchmark's training data (WMT 2020 English-Russian), as released checkpoints; this copy made none of it",
    "that of the checkpoints and of the data they were trained on; not Demur's",
)
CALIBRATED, JUDGED = 1000, 200
"""Largest number of pairs for calibration, and per domain for figures: such models need about a second per sentence."""


def import_released(
    directory: Path,
    out: Path,
    data: Path | None = None,
    *,
    precision: Precision = "int8",
    device: Device = CPU,
) -> Artefact:
    """Make an artefact of released checkpoints; held-out pairs of ``data`` (``pairs_folder``), if given, calibrate it.

    Raises:
        ArtefactError: the folder is invalid (``released_folder.read``), or the precision ranks sentences differently
            from float32.
        BadFile: data cannot be read.
    """
    from models.tasks.translation.artefact.build import build

    found = released_folder.read(directory)
    ensemble = Ensemble(
        family="released",
        members=tuple(member.weights for member in found.members),
        sizes=found.sizes,
        recipe=Recipe(tokens="released", forbidden=(PAD,)),
        tokeniser=found.texts,
        seeds=tuple(range(1, len(found.members) + 1)),
        training={"checkpoints": len(found.members)},
    )
    folder = None if data is None else pairs_folder.read(data)
    return build(
        ensemble,
        out,
        precision=precision,
        calibration=None if folder is None else _first(folder.calibration, CALIBRATED),
        judge={} if folder is None else {name: _first(pairs, JUDGED) for name, pairs in folder.judged.items()},
        provenance=PROVENANCE,
        device=device,
    )


def _first(pairs: Corpus, count: int) -> Corpus:
    return Corpus(pairs.pairs[:count])
