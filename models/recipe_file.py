"""``recipe.json`` of an artefact: what a task says of the artefact's own use, hashed with it."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from models.artefact import Artefact, ArtefactError

RECIPE = "recipe.json"
T = TypeVar("T", bound=msgspec.Struct)


def encode(recipe: msgspec.Struct) -> bytes:
    """As the content of the file."""
    return msgspec.json.format(msgspec.json.encode(recipe, order="sorted"), indent=1) + b"\n"


def read(artefact: Artefact, kind: type[T]) -> T:
    """The recipe of a verified artefact.

    Args:
        kind: of the task's recipes; they may refuse impossible ones in ``__post_init__``.

    Raises:
        ArtefactError: there is none, or it is not one.
    """
    path = artefact.path(RECIPE)
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, ValueError) as error:
        raise ArtefactError(f"{path}: not the recipe of a {artefact.manifest.task} artefact: {error}") from error
