"""Artefact: a folder with one served ensemble, its manifest and its files.

The version of an artefact is the hash of its content, so loading it twice gives the same version. Nothing is
unpickled, and a file that the manifest does not list with its sha256 is never opened.
"""

import hashlib
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from models.calibration import Calibration
from models.schema import Feature, Schema

MANIFEST = "manifest.json"
FORMATS = (1, 2, 3)
"""Formats that can be read. Format 3 is written if there is a density of training inputs, else format 2 if there is a
replay set, else format 1.
"""
REPLAY_SCORES = "replay-scores.npz"

Count = Annotated[int, msgspec.Meta(ge=1)]
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class ArtefactError(ValueError):
    """The artefact is corrupt, foreign or incompatible; the message names the file and the reason."""


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Data set on which an artefact was trained or calibrated."""

    role: str
    description: str
    licence: str
    fingerprint: str
    rows: int


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Range of the training inputs per feature, in schema order and units."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]


class Executor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Files and settings with which members are run."""

    kind: Literal["onnx", "catboost"]
    file: str = ""
    """Graph of all members; empty for ``catboost`` and for layouts of several graphs."""
    layout: Literal["stacked", "split", "separate", "stepwise", "trees"] = "stacked"
    """Arrangement of members in graphs. ``separate``: one graph per member, for slow networks with large outputs.
    ``stepwise``: an encoder graph and a graph that is run step by step, each with all members.
    """
    precision: Literal["fp32", "fp16", "int8"] = "fp32"
    models: dict[str, tuple[str, ...]] = {}
    """Head name to files. For ``catboost``: the .cbm files of the members; a head has one file, or one per member. For
    the layout ``separate``: the graphs of the members; for ``stepwise``: the encoder graph, then the graph of a step.
    """
    virtual: int = 0
    """For ``catboost``: number of virtual ensemble members that each file is cut into; 0 for none."""

    def __post_init__(self) -> None:
        several = self.layout in ("separate", "stepwise")
        if self.kind == "onnx" and (several == bool(self.file) or several != any(self.models.values())):
            raise ValueError(
                "an onnx executor has one graph under file, or with layout separate or stepwise graphs under models"
            )
        if several and self.kind != "onnx":
            raise ValueError(f"layout {self.layout} is of onnx executors, this one is {self.kind}")

    @property
    def files(self) -> tuple[str, ...]:
        """All files that the executor opens."""
        return tuple(filter(None, (self.file, *(name for names in self.models.values() for name in names))))


class Replay(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Replay set: inputs with their scores, against which another provider or device is compared with this CPU."""

    inputs: Annotated[str, msgspec.Meta(pattern=r"^replay-[0-9a-f]{16}\.npz$")]
    """File of the inputs, named after its sha256; artefacts of one task may share it (see ``Artefact.path``)."""
    scores: str = REPLAY_SCORES
    """File of the scores, which belongs to this artefact alone."""
    profile: str
    """Name of the numeric profile that computed the scores."""
    units: Count
    cpu: str
    """Instruction set of the CPU that computed the scores; for records only."""
    source: str
    """Origin of the inputs, and their licence."""


def format_of(replay: Replay | None, training_inputs: str) -> Literal[1, 2, 3]:
    """Return the format of a manifest with this replay set and file of training inputs, if any."""
    if training_inputs:
        return 3
    return 1 if replay is None else 2


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Manifest of an artefact: everything that serving needs to know about it."""

    format: Literal[1, 2, 3] = 1
    task: str
    family: str
    """Kind of model, e.g. ``dnn``, ``mc_dropout``, ``variational``, ``symbolic``."""
    members: Count
    """Number of trained models in the ensemble."""
    samples: Count = 1
    """Number of frozen masks or weight samples per trained model."""
    sample_seed: int | None = None
    schema: tuple[Feature, ...] = ()
    metadata: tuple[str, ...] = ()
    """Columns of the task's files that are not features: accepted by name and ignored."""
    schema_hash: str
    executor: Executor
    joined: tuple[Executor, ...] = ()
    """Further executors whose members join the ensemble, each member with the same weight."""
    heads: dict[str, dict[str, Calibration]]
    """Head name to numeric profile to calibration."""
    training_range: Range | None = None
    training_inputs: str = ""
    """File of the moments and joint density of training inputs (``models.familiarity``); format 3 only."""
    golden: str
    """File (.npz) of inputs and outputs that are replayed at startup."""
    golden_tolerance: float = 1e-4
    """Largest relative difference of a replayed output."""
    replay: Replay | None = None
    """Replay set; in format 2 always, in format 3 optional."""
    sources: tuple[Source, ...]
    seeds: tuple[int, ...]
    training: dict[str, float | int | str]
    quality: dict[str, dict[str, float]]
    """Data set name to figures; each name of a figure includes its unit."""
    versions: dict[str, str]
    files: dict[str, Sha256]

    def __post_init__(self) -> None:
        if self.format == format_of(self.replay, self.training_inputs):
            return
        if bool(self.training_inputs) != (self.format == 3):
            raise ValueError("a manifest of format 3 has a file under training_inputs, one of another format none")
        raise ValueError("a manifest of format 1 has no replay set, one of format 2 has one under replay")

    @property
    def executors(self) -> tuple[Executor, ...]:
        """All executors, in order, starting with ``executor``."""
        return (self.executor, *self.joined)

    @property
    def ensemble(self) -> bool:
        """True if there is more than one member, so that knowledge uncertainty exists."""
        return self.members * self.samples > 1


def numeric_profile(executors: Sequence[Executor], provider: str = "cpu") -> str:
    """Return the name of the numeric profile: provider, precision and layouts.

    The last digits of scores depend on it, and thresholds are bound to it.
    """
    return f"{provider}-{executors[0].precision}-{'+'.join(executor.layout for executor in executors)}"


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
    """Return the model name without version, e.g. ``vessel-dnn-10`` or ``vessel-mc_dropout-10x10``."""
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
        format=format_of(manifest.replay, manifest.training_inputs),
        quality={
            name: {figure: value for figure, value in row.items() if math.isfinite(value)}
            for name, row in manifest.quality.items()
        },
    )
    document = msgspec.to_builtins(complete)
    for name in ("replay", "training_inputs"):
        if not document[name]:
            del document[name]  # formats 1 and 2 have no such field
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
        raise ArtefactError(f"{path}: not a manifest of format 1, 2 or 3: {error}") from error
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


def inputs_name(sha256: str) -> str:
    """Return the file name of replay inputs with this hash."""
    return f"replay-{sha256[:16]}.npz"


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
