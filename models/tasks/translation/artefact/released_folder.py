"""Folder of the released baselines: checkpoints, two dictionaries, and the merges of their training."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from models.artefact import ArtefactError
from models.tasks.translation.artefact import released
from models.tasks.translation.artefact.released import Member
from models.tasks.translation.networks.settings import Sizes
from models.tasks.translation.text.dictionary import LARGEST_BYTES
from models.tasks.translation.text.released_tokens import MERGES, SOURCE, TARGET, ReleasedTokens, of_texts

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


def read(folder: Path) -> Released:
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
    found = {int(match[1]): path for path in folder.iterdir() if (match := _MEMBER.fullmatch(path.name))}
    if not found:
        raise ArtefactError(f"{folder}: no checkpoints; they are called model1.pt, model2.pt and so on")
    if missing := sorted(set(range(1, max(found) + 1)) - found.keys())[:1]:
        raise ArtefactError(
            f"{folder}: model{missing[0]}.pt is missing, and model{max(found)}.pt is there; number them from 1 on"
        )
    return [found[number] for number in sorted(found)]


def merges_file(folder: Path) -> Path:
    """Return the file of merges.

    Raises:
        ArtefactError: there is none, or several.
    """
    found = [name for name in MERGES_NAMES if (folder / name).is_file()]
    if not found:
        raise ArtefactError(
            f"{folder}: the file of merges is missing ({', '.join(MERGES_NAMES)}). The archive of the checkpoints does "
            "not have it: take the file 'code' that came of the preparation of the data they were trained with"
        )
    if len(found) > 1:
        raise ArtefactError(f"{folder}: {' and '.join(found)} are both there; leave the merges of the checkpoints")
    return folder / found[0]


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_BYTES + 1)  # larger content is refused by its reader
    except OSError as error:
        raise ArtefactError(f"{path}: cannot be read: {error}") from error
