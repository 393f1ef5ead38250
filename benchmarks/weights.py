"""Names of artefacts on pages, by their weights: other parts of an artefact may change while its figures stay."""

from __future__ import annotations

from models.artefact import Artefact

_DIGITS = 12


def named(artefact: Artefact) -> str:
    """Return folder and first digits of the sha256 of the weights, e.g. ``vessel/dnn-10 (0123456789ab)``."""
    digest = artefact.manifest.files[artefact.manifest.executor.file]
    return f"{artefact.manifest.task}/{artefact.directory.name} ({digest[:_DIGITS]})"
