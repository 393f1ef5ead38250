"""File ``recipe.json`` of an artefact: the task's settings for its use, hashed with it."""

from typing import TypeVar

import msgspec

from models.artefact import Artefact, ArtefactError

RECIPE = "recipe.json"
T = TypeVar("T", bound=msgspec.Struct)


def encode(recipe: msgspec.Struct) -> bytes:
    """Return the content of the file."""
    return msgspec.json.format(msgspec.json.encode(recipe, order="sorted"), indent=1) + b"\n"


def read(artefact: Artefact, kind: type[T]) -> T:
    """Return the recipe of a verified artefact.

    Args:
        kind: type of the task's recipes; its ``__post_init__`` may reject invalid ones.

    Raises:
        ArtefactError: the file is missing or invalid.
    """
    path = artefact.path(RECIPE)
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, ValueError) as error:
        raise ArtefactError(f"{path}: not the recipe of a {artefact.manifest.task} artefact: {error}") from error
