"""Tags of the shipped artefacts, by name, as they are today."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from models import artefact
from models.artefact import ArtefactError
from services.reference import folders


def tag(name: str) -> str:
    """Return the tag of a shipped artefact, such as ``vessel-dnn-10:0123456789abcdef``; empty where it is not whole."""
    task, _, rest = name.partition("-")
    return next((_tag(folder) for folder in folders(task) if folder.name == rest), "")


def tags(names: Iterable[str]) -> dict[str, str]:
    """Return name to tag."""
    return {name: tag(name) for name in names}


@cache
def _tag(folder: Path) -> str:
    try:
        return artefact.read(folder).tag
    except ArtefactError:
        return ""
