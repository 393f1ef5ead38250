"""Tags of the shipped artefacts, by name, as they are today."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from models import artefact
from models.artefact import ArtefactError
from services.app.reference import folder


def tag(name: str) -> str:
    """Return the tag of a shipped artefact, such as ``vessel-dnn-10:0123456789abcdef``; empty where it is not whole."""
    try:
        return _tag(folder(name))
    except (ArtefactError, LookupError):
        return ""


def tags(names: Iterable[str]) -> dict[str, str]:
    """Return name to tag."""
    return {name: tag(name) for name in names}


@cache
def _tag(directory: Path) -> str:
    return artefact.read(directory).tag
