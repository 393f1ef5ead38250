"""Import of a folder of released baselines: checkpoints, two dictionaries, and the merges of their training."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from models.artefact import ArtefactError
from models.building import Provenance
from models.executors.device import CPU, Device
from models.tasks.translation.artefact import released
from models.tasks.translation.artefact.ensemble import Ensemble
from models.tasks.translation.artefact.recipe import Recipe
from models.tasks.translation.artefact.released import Member
from models.tasks.translation.data import pairs_folder
from models.tasks.translation.data.corpus import Corpus
from models.tasks.translation.networks.settings import Precision, Sizes
from models.tasks.translation.text.dictionary import LARGEST_BYTES
from models.tasks.translation.text.released_tokens import MERGES, SOURCE, TARGET, ReleasedTokens, of_texts
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
        ArtefactError: the folder is invalid (``read_released``), or the precision ranks sentences differently
            from float32.
        BadFile: data cannot be read.
    """
    from models.tasks.translation.artefact.build import build

    released_ensemble = read_released(directory)
    ensemble = Ensemble(
        family="released",
        members=tuple(member.weights for member in released_ensemble.members),
        sizes=released_ensemble.sizes,
        recipe=Recipe(tokens="released", forbidden=(PAD,)),
        tokeniser=released_ensemble.texts,
        seeds=tuple(range(1, len(released_ensemble.members) + 1)),
        training={"checkpoints": len(released_ensemble.members)},
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


MERGES_NAMES = ("code", "codes", "bpecodes")
"""Accepted names of the file of merges."""
_MEMBER = re.compile(r"model([1-9][0-9]*)\.pt")


@dataclass(frozen=True)
class Released:
    """Ensemble with its tokenisation."""

    members: tuple[Member, ...]
    """Members in the order of their numbers, all of one size."""
    tokens: ReleasedTokens
    texts: Mapping[str, bytes]
    """Files of the tokenisation by name, as for ``released_tokens.of_texts``."""

    @property
    def sizes(self) -> Sizes:
        return self.members[0].sizes


def read_released(folder: Path) -> Released:
    """Return the members and the tokenisation in a folder; small files are checked before large ones are read.

    Raises:
        ArtefactError: a file is missing, duplicated or invalid, members differ in size, or dictionaries and merges do
            not fit; the message explains what to do.
    """
    paths = checkpoints(folder)
    texts = {MERGES: _content(merges_file(folder))}
    for name in (SOURCE, TARGET):
        if not (folder / name).is_file():
            raise ArtefactError(f"{folder}: {name} is missing; it is in the archive of the checkpoints")
        texts[name] = _content(folder / name)
    first = released.read(paths[0])
    try:
        tokens = of_texts(texts, first.sizes)
    except ArtefactError as error:
        raise ArtefactError(f"{folder}: {error}") from error
    members = [first]
    for path in paths[1:]:
        member = released.read(path)
        if member.sizes != first.sizes:
            raise ArtefactError(f"{path} has other sizes than {paths[0].name}: {member.sizes} and {first.sizes}")
        members.append(member)
    return Released(tuple(members), tokens, texts)


def checkpoints(folder: Path) -> list[Path]:
    """Return the files ``model1.pt`` ... in their order.

    Raises:
        ArtefactError: there is no folder or no checkpoint, or a number is missing.
    """
    if not folder.is_dir():
        raise ArtefactError(f"{folder}: no such folder; one with model1.pt, {SOURCE}, {TARGET} and {MERGES} is needed")
    by_number = {int(match[1]): path for path in folder.iterdir() if (match := _MEMBER.fullmatch(path.name))}
    if not by_number:
        raise ArtefactError(f"{folder}: no checkpoints; they are called model1.pt, model2.pt and so on")
    if missing := sorted(set(range(1, max(by_number) + 1)) - by_number.keys())[:1]:
        raise ArtefactError(
            f"{folder}: model{missing[0]}.pt is missing, and model{max(by_number)}.pt is there; number them from 1 on"
        )
    return [by_number[number] for number in sorted(by_number)]


def merges_file(folder: Path) -> Path:
    """Return the file of merges.

    Raises:
        ArtefactError: there is none, or several.
    """
    names = [name for name in MERGES_NAMES if (folder / name).is_file()]
    if not names:
        raise ArtefactError(
            f"{folder}: the file of merges is missing ({', '.join(MERGES_NAMES)}). The archive of the checkpoints does "
            "not have it: take the file 'code' that came of the preparation of the data they were trained with"
        )
    if len(names) > 1:
        raise ArtefactError(f"{folder}: {' and '.join(names)} are both there; leave the merges of the checkpoints")
    return folder / names[0]


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_BYTES + 1)  # larger content is refused by its reader
    except OSError as error:
        raise ArtefactError(f"{path}: cannot be read: {error}") from error
