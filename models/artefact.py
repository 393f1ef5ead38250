"""Artefact: a folder with one served ensemble, its manifest and its files.

The version of an artefact is the hash of its content, so loading it twice gives the same version. Nothing is
unpickled, and a file that the manifest does not list with its sha256 is never opened.
"""

import hashlib
import math
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from models.manifest import Manifest, format_of, inputs_name
from models.schema import Schema

MANIFEST = "manifest.json"


class ArtefactError(ValueError):
    """The artefact is corrupt, foreign or incompatible; the message names the file and the reason."""


@dataclass(frozen=True)
class Artefact:
    """Verified artefact."""

    directory: Path
    manifest: Manifest
    version: str
    """First sixteen hex digits of the manifest's sha256; the manifest holds the hashes of all files."""

    @property
    def tag(self) -> str:
        """Name and version, e.g. ``vessel-dnn-10:0123456789abcdef``."""
        return f"{name(self.manifest)}:{self.version}"

    @property
    def schema(self) -> Schema:
        """Schema of the artefact's rows.

        Raises:
            ArtefactError: the manifest declares no features.
        """
        if not self.manifest.schema:
            raise ArtefactError(f"{self.directory}: the manifest declares no features")
        return Schema(self.manifest.schema, self.manifest.metadata)

    def path(self, file: str) -> Path:
        """Return the path of a file that the manifest lists, in the artefact's folder.

        The inputs of a replay set may be in the parent folder instead, which artefacts of one task share.

        Raises:
            ArtefactError: the manifest does not list the file.
        """
        if file not in self.manifest.files:
            raise ArtefactError(f"{self.directory}: {file!r} is not a file of this artefact")
        return _place(self.directory, self.manifest, file)


def name(manifest: Manifest) -> str:
    """Return the model name without version, e.g. ``vessel-dnn-10`` or ``vessel-mc_dropout-10x10``.

    An artefact with heads of its own has the name that it is served under.
    """
    if manifest.outputs:
        return manifest.task
    count = str(manifest.members) if manifest.samples == 1 else f"{manifest.members}x{manifest.samples}"
    return f"{manifest.task}-{manifest.family}-{count}"


def write(directory: Path, manifest: Manifest, files: Mapping[str, bytes | Path]) -> Artefact:
    """Write files and manifest into a new folder, which replaces an older folder of the same name.

    ``files`` maps names to contents, or to paths that are copied. ``manifest.files`` and ``manifest.format`` are filled
    in here, and figures of quality that are not finite are left out. Everything is written into the folder; ``share``
    moves the inputs of a replay set to its parent.
    """
    staging = directory.with_name(directory.name + ".new")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    for file, content in files.items():
        if isinstance(content, Path):
            shutil.copyfile(content, staging / file)
        else:
            (staging / file).write_bytes(content)
    hashes = {file: _sha256(staging / file) for file in sorted(files)}
    complete = msgspec.structs.replace(
        manifest,
        files=hashes,
        format=format_of(manifest.replay, manifest.training_inputs, manifest.outputs),
        quality={
            name: {figure: value for figure, value in row.items() if math.isfinite(value)}
            for name, row in manifest.quality.items()
        },
    )
    document = msgspec.to_builtins(complete)
    for name in ("replay", "training_inputs", "outputs", "retention"):
        if not document[name]:
            del document[name]  # older formats have no such field
    for feature in document["schema"]:
        for name in ("categories", "other"):  # older manifests have no such field
            if not feature[name]:
                del feature[name]
    for executor in (document["executor"], *document["joined"]):
        if not executor["finish"]:
            del executor["finish"]
    text = msgspec.json.format(msgspec.json.encode(document, order="sorted"), indent=1)
    (staging / MANIFEST).write_bytes(text + b"\n")
    shutil.rmtree(directory, ignore_errors=True)
    staging.rename(directory)
    return read(directory)


def share(artefact: Artefact) -> Artefact:
    """Move the inputs of a replay set to the parent folder, to share them with artefacts that have the same inputs."""
    replay = artefact.manifest.replay
    if replay is not None and os.path.lexists(own := artefact.directory / replay.inputs):
        own.replace(_parent(artefact.directory) / replay.inputs)
    return read(artefact.directory)


def copy(artefact: Artefact, directory: Path) -> Artefact:
    """Copy manifest and files of an artefact into a folder, which is then complete.

    Other files of the artefact's folder are not copied; files of the same name in the target folder are replaced.
    """
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(artefact.directory / MANIFEST, directory / MANIFEST)
    for file in artefact.manifest.files:
        shutil.copyfile(artefact.path(file), directory / file)
    return read(directory)


def read(directory: Path, task: str | None = None) -> Artefact:
    """Read and verify an artefact.

    Raises:
        ArtefactError: no manifest, a manifest of another format, a missing, altered or unsafe file, a schema that does
            not have its stated hash, or another task than ``task``.
    """
    path = directory / MANIFEST
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ArtefactError(f"{path}: no readable manifest ({error.strerror}); this is not an artefact") from error
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ArtefactError(f"{path}: not a manifest of format 1, 2, 3 or 4: {error}") from error
    if task is not None and manifest.task != task:
        raise ArtefactError(f"{directory}: an artefact of task {manifest.task!r}, but {task!r} is served here")
    for file in manifest.files:
        _verify(directory, manifest, file)
    opened = {name for executor in manifest.executors for name in executor.files}
    replay = manifest.replay
    replayed = set() if replay is None else {replay.inputs, replay.scores}
    inputs = {manifest.training_inputs} if manifest.training_inputs else set()
    needed = (opened | replayed | inputs | {manifest.golden}) - set(manifest.files)
    if needed:
        raise ArtefactError(f"{directory}: the manifest uses {sorted(needed)} without listing them under files")
    if replay is not None and replay.inputs != inputs_name(manifest.files[replay.inputs]):
        raise ArtefactError(f"{path}: the replay inputs {replay.inputs} do not have the name of their sha256")
    if manifest.schema:
        _check_schema(path, manifest)
    return Artefact(directory, manifest, hashlib.sha256(content).hexdigest()[:16])


def _check_schema(path: Path, manifest: Manifest) -> None:
    try:
        schema = Schema(manifest.schema, manifest.metadata)
    except ValueError as error:
        raise ArtefactError(f"{path}: {error}") from error
    if schema.hash != manifest.schema_hash:
        raise ArtefactError(f"{path}: the schema does not have the stated hash {manifest.schema_hash}")
    trained = manifest.training_range
    if trained is not None and not len(trained.lower) == len(trained.upper) == len(schema):
        raise ArtefactError(
            f"{path}: training_range has {len(trained.lower)} to {len(trained.upper)} limits, not {len(schema)}"
        )


def _verify(directory: Path, manifest: Manifest, file: str) -> None:
    expected = manifest.files[file]
    if Path(file).name != file or file in ("", "..") or "\0" in file:
        raise ArtefactError(f"{directory}: {file!r} is not a plain file name inside the artefact")
    path = _place(directory, manifest, file)
    if path.is_symlink():
        raise ArtefactError(f"{path}: {file!r} is not a plain file name inside the artefact, but a link")
    try:
        actual = _sha256(path)
    except OSError as error:
        if path.parent != directory:
            raise ArtefactError(
                f"{directory}: the inputs of its replay set, {file}, are neither in this folder nor in {path.parent} "
                f"({error.strerror}); artefacts of one task share this file: copy it into one of the two"
            ) from error
        raise ArtefactError(f"{path}: cannot be read ({error.strerror}), but the manifest lists it") from error
    if actual != expected:
        raise ArtefactError(
            f"{path}: corrupt: sha256 {actual[:16]}…, the manifest says {expected[:16]}…; fetch it again"
        )


def _place(directory: Path, manifest: Manifest, file: str) -> Path:
    """Return the path of a file of an artefact."""
    own = directory / file
    if manifest.replay is None or file != manifest.replay.inputs or os.path.lexists(own):
        return own
    return _parent(directory) / file


def _parent(directory: Path) -> Path:
    return Path(os.path.abspath(directory)).parent  # noqa: PTH100 - a folder that is a link has its own parent


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
