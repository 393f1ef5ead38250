"""Names of artefacts on pages, by their weights: other parts of an artefact may change while its figures stay."""

from __future__ import annotations

import hashlib

from models.artefact import Artefact, Manifest

_DIGITS = 12


def named(artefact: Artefact) -> str:
    """Return folder and first digits of the sha256 of the weights, e.g. ``vessel/dnn-10 (0123456789ab)``.

    Of an artefact of several model files: of their ``digest``.
    """
    manifest = artefact.manifest
    known = manifest.files[manifest.executor.file] if manifest.executor.file else digest(manifest)
    return f"{manifest.task}/{artefact.directory.name} ({known[:_DIGITS]})"


def digest(manifest: Manifest) -> str:
    """Return the sha256 of the lines that ``sha256sum`` prints of the model files, sorted by name.

    It depends on nothing but what predicts: not on card, calibration, golden rows or further files of the manifest.
    """
    names = sorted({name for executor in manifest.executors for name in executor.files})
    lines = "".join(f"{manifest.files[name]}  {name}\n" for name in names)
    return hashlib.sha256(lines.encode()).hexdigest()
