"""Replay set of an artefact: inputs and their scores, to compare another provider or device with a CPU.

A set is one file of inputs, which artefacts of one task may share, and one file of the scores of this artefact. Units
are in a shuffled order, so that the first n of them form a smaller set. Scores are computed as for requests: with the
same executors, reductions and measures.

A task provides the module ``models.tasks.TASK.artefact.replay_set`` with ``replayer(artefact, arrays, device)``; no
other registration is needed.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from models import npz, uncertainty
from models.artefact import Artefact, ArtefactError, copy, write
from models.building import CARD, Provenance
from models.executors.device import CPU, Device, described, instruction_set
from models.head import Head
from models.manifest import REPLAY_SCORES, Manifest, Replay, format_of, inputs_name
from models.predictive import Gaussian, Predictives
from models.profile import profile
from models.qualification.threshold import FEWEST
from models.tasks.rules import task_module

Scores = Mapping[str, Mapping[str, NDArray[np.float32]]]
"""Head name to measure to scores [n]. Gaussian heads also have ``MEAN``, in the head's unit."""
Arrays = Mapping[str, NDArray[Any]]
"""Arrays of a file of inputs, by name."""

MEAN = "mean"
BATCHES = (1, 7, 64)
"""Batch sizes at which another profile is compared, in units per pass."""
IN_DOMAIN = 0.65
"""Least share of in-domain units of a set; promises about in-domain data are computed with it."""
REFERENCE_BATCH = 64
"""Largest number of units per pass when reference scores are computed."""
MOST_INPUT_BYTES = 256 << 20
"""Most bytes of unpacked inputs; the largest reference set, of lesion crops, has a tenth of it."""
_MOST_SCORE_BYTES = 64 << 20
SECTION = "## Replay set"
"""Heading of the last section of a model card."""


class Replayer(Protocol):
    """Scorer of the units of a replay set with the members of an artefact on a device."""

    @property
    def units(self) -> int:
        """Number of units of the set."""
        ...

    @property
    def most_batch(self) -> int:
        """Largest number of units of a serving pass on this device; larger batches are reduced to it."""
        ...

    def __call__(self, first: int, count: int, batch: int) -> Scores:
        """Return the scores of units ``first`` to ``first + count - 1``, at most ``batch`` of them per pass.

        Raises:
            ValueError: units that the set does not have, or a batch below 1.
        """
        ...


@dataclass(frozen=True)
class Passes:
    """Replayer for units that are scored pass by pass."""

    units: int
    most_batch: int
    score: Callable[[slice], Scores]
    """Function that returns the scores of consecutive units, in one pass."""

    def __call__(self, first: int, count: int, batch: int) -> Scores:
        """Return scores, see ``Replayer``."""
        return joined([self.score(rows) for rows in passes(self.units, first, count, min(batch, self.most_batch))])


def batches(runner: Replayer, sizes: Sequence[int] = BATCHES) -> tuple[int, ...]:
    """Return the batch sizes that differ on the replayer's device, ascending."""
    return tuple(sorted({min(batch, runner.most_batch) for batch in sizes}))


def reference(artefact: Artefact) -> Scores:
    """Return the scores that the artefact's replay set was written with.

    Raises:
        ArtefactError: the artefact has no replay set, or the file is damaged.
    """
    replay = _replay(artefact)
    path = artefact.path(replay.scores)
    scores: dict[str, dict[str, NDArray[np.float32]]] = {name: {} for name in artefact.manifest.heads}
    for name, values in _arrays(path, _MOST_SCORE_BYTES).items():
        head, _, measure = name.partition(".")
        if head not in scores or not measure:
            raise ArtefactError(f"{path}: {name!r} is not a measure of the heads {', '.join(scores)}")
        if values.dtype != np.float32 or values.shape != (replay.units,):
            raise ArtefactError(
                f"{path}: {name!r} is {values.dtype} {list(values.shape)}; float32 [{replay.units}] is needed"
            )
        scores[head][measure] = values
    if missing := [name for name, measures in scores.items() if not measures]:
        raise ArtefactError(f"{path}: holds no scores of the head {missing[0]!r}")
    return scores


def replayer(artefact: Artefact, device: Device = CPU) -> Replayer:
    """Open the replayer of the artefact's replay set on a device.

    Raises:
        ArtefactError: the artefact has no replay set, or a damaged one.
        ProviderUnavailable: the device is not available.
    """
    replay = _replay(artefact)
    path = artefact.path(replay.inputs)
    try:
        opened = _opened(artefact, _arrays(path, MOST_INPUT_BYTES), device)
    except npz.BadArrays as error:
        raise ArtefactError(f"{path}: {error}") from error
    if opened.units != replay.units:
        raise ArtefactError(f"{path}: holds {opened.units} units, the manifest says {replay.units}")
    return opened


def of_files(artefact: Artefact, directory: Path, scratch: Path) -> Artefact:
    """Return a copy of an artefact whose replay set has units of the user's labelled files, scored on this CPU.

    Args:
        directory: files in the form that the task's training reads.
        scratch: folder of the copy; it is created.

    Raises:
        ArtefactError: the artefact was not calibrated on a CPU, so that CPU scores are no reference; or the files hold
            too few units to replay.
        BadFile, OSError, ValueError: files that are missing or cannot be read.
    """
    manifest = artefact.manifest
    own, calibrated = profile(manifest.executors).name, _calibrated_under(manifest)
    if not calibrated:
        raise ArtefactError(f"{artefact.tag} was never calibrated: it has no thresholds to carry over")
    if own not in calibrated:
        raise ArtefactError(
            f"{artefact.tag}: --data compares with scores of this CPU, and this artefact was calibrated under "
            f"{', '.join(calibrated)}: "
            + ("leave --data out to use its replay set" if manifest.replay is not None else remedy(artefact))
        )
    bare = detached(copy(artefact, scratch))  # its own replay set may come from the same files
    renewed: Artefact = _module(artefact).of_files(bare, directory)
    units = 0 if renewed.manifest.replay is None else renewed.manifest.replay.units
    if units < FEWEST:
        raise ArtefactError(
            f"{directory}: {units or 'no'} units to replay, at least {FEWEST} are needed; they are taken from "
            "in-domain development data (dev_in …) and from shifted data"
        )
    return renewed


def remedy(artefact: Artefact) -> str:
    """Return advice for an artefact without a replay set, as the end of a message."""
    calibrated = _calibrated_under(artefact.manifest)
    if not calibrated or profile(artefact.manifest.executors).name in calibrated:
        return (
            f"run `demur models qualify {artefact.tag} --data DIR` with labelled files, or build the artefact again "
            "with calibration data"
        )
    return (
        f"serve it under {', '.join(calibrated)}, or train or import it again, without --no-replay-set or with "
        "--provider cpu"
    )


def attach(artefact: Artefact, inputs: bytes, source: str, *, device: Device = CPU) -> Artefact:
    """Score inputs and rewrite the artefact with them as its replay set, which replaces an existing set.

    Args:
        inputs: a file of inputs in the format of the task's ``replay_set.encode``.
        source: origin of the inputs, and their licence.
        device: device that computes the scores; the one used for calibration.

    Raises:
        ArtefactError: the artefact cannot take the inputs.
    """
    manifest = artefact.manifest
    try:
        opened = _opened(artefact, npz.decode(inputs, MOST_INPUT_BYTES), device)
    except npz.BadArrays as error:
        raise ArtefactError(f"{artefact.directory}: replay inputs: {error}") from error
    scores = opened(0, opened.units, REFERENCE_BATCH)
    replay = Replay(
        inputs=inputs_name(hashlib.sha256(inputs).hexdigest()),
        profile=profile(manifest.executors, described(device)).name,
        units=opened.units,
        cpu=instruction_set(),
        source=source,
    )
    older = manifest.replay
    left_out = () if older is None else (older.inputs, older.scores)
    files: dict[str, bytes | Path] = {file: artefact.path(file) for file in manifest.files if file not in left_out}
    flat = {f"{head}.{measure}": values for head, by_name in scores.items() for measure, values in by_name.items()}
    files |= {replay.inputs: inputs, REPLAY_SCORES: npz.encode(flat)}
    if CARD in files:
        files[CARD] = _card(artefact.path(CARD).read_text(encoding="utf-8"), replay).encode()
    return write(artefact.directory, replaced(manifest, replay), files)


def replaced(manifest: Manifest, replay: Replay | None) -> Manifest:
    """Return the manifest with another replay set, or with none."""
    return msgspec.structs.replace(
        manifest, format=format_of(replay, manifest.training_inputs, manifest.outputs), replay=replay
    )


def detached(artefact: Artefact) -> Artefact:
    """Write the artefact again without its replay set; golden rows stay."""
    manifest, replay = artefact.manifest, artefact.manifest.replay
    if replay is None:
        return artefact
    files: dict[str, bytes | Path] = {
        file: artefact.path(file) for file in manifest.files if file not in (replay.inputs, replay.scores)
    }
    if CARD in files:
        files[CARD] = without_section(artefact.path(CARD).read_text(encoding="utf-8")).encode()
    return write(artefact.directory, replaced(manifest, None), files)


def measures(head: Head, manifest: Manifest) -> tuple[str, ...]:
    """Return the measures of a head that a replay set holds: its own, and all that were calibrated or recorded."""
    names = {head.own_measure(manifest.ensemble)}
    for calibration in manifest.heads.get(head.name, {}).values():
        names |= {*calibration.others, *calibration.reference}
    return tuple(sorted(names))


def scored(heads: Sequence[Head], manifest: Manifest, predictives: Predictives) -> Scores:
    """Return the scores of predictives, for the heads that the artefact has."""
    scores: dict[str, dict[str, NDArray[np.float32]]] = {}
    for head in heads:
        if head.name not in manifest.heads:
            continue
        predictive = predictives[head.name]
        values = {name: uncertainty.score(predictive, name) for name in measures(head, manifest)}
        if isinstance(predictive, Gaussian):
            values[MEAN] = predictive.mean
        scores[head.name] = {name: np.ascontiguousarray(array, np.float32) for name, array in values.items()}
    return scores


def joined(parts: Sequence[Scores]) -> Scores:
    """Return consecutive parts of scores, concatenated."""
    return {
        head: {name: np.concatenate([part[head][name] for part in parts]) for name in by_name}
        for head, by_name in parts[0].items()
    }


def passes(units: int, first: int, count: int, batch: int) -> list[slice]:
    """Return the passes over consecutive units of a set, as slices.

    Raises:
        ValueError: see ``Replayer``.
    """
    if batch < 1:
        raise ValueError(f"batch = {batch}: must be 1 unit a pass or more")
    if first < 0 or count < 1 or first + count > units:
        raise ValueError(f"units {first} to {first + count - 1}: the replay set has units 0 to {units - 1}")
    return [slice(start, min(start + batch, first + count)) for start in range(first, first + count, batch)]


def units_of(provenance: Provenance) -> str:
    """Return the source text of inputs that are units of labelled data."""
    return (
        f"units of the labelled data that the artefact was made with, in-domain and shifted; {provenance.description}; "
        f"licence {provenance.licence}"
    )


def array(arrays: Arrays, name: str, kind: str, *shape: int | None) -> NDArray[Any]:
    """Return one array of a file of inputs.

    Args:
        kind: type of its numbers, such as ``float32``.
        shape: length of each axis; None for any length.

    Raises:
        BadArrays: it is missing, or has another type or shape.
    """
    values = arrays.get(name)
    if values is None:
        raise npz.BadArrays(f"{name!r} is missing; it holds {', '.join(sorted(arrays)) or 'nothing'}")
    fits = values.ndim == len(shape) and all(
        size is None or size == length for size, length in zip(shape, values.shape, strict=True)
    )
    if values.dtype != kind or not fits:
        needed = [length if length is not None else "any" for length in shape]
        raise npz.BadArrays(f"{name!r} is {values.dtype} {list(values.shape)}; {kind} {needed} is needed")
    return values


def chosen(known: int, shifted: int, units: int, seed: int = 0) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Choose the in-domain and the shifted units to replay: two thirds in-domain if both have enough.

    The choice does not use scores, so that one set serves all artefacts of a task. In-domain units make up for missing
    shifted ones; the share of in-domain units is never below ``IN_DOMAIN``. Both results are random indices, ascending.
    """
    draw = np.random.default_rng(seed)
    inside = min(known, max(units - shifted, units * 2 // 3))
    outside = min(shifted, units - inside, int(inside * (1 - IN_DOMAIN) / IN_DOMAIN))
    return tuple(  # type: ignore[return-value]
        np.sort(draw.choice(total, taken, replace=False)) for total, taken in ((known, inside), (shifted, outside))
    )


def shuffled(units: int, seed: int = 0) -> NDArray[np.intp]:
    """Return a random order of a set's units, so that the first n of them are a random sample."""
    return np.random.default_rng(seed + 1).permutation(units)


def _replay(artefact: Artefact) -> Replay:
    replay = artefact.manifest.replay
    if replay is None:
        raise ArtefactError(f"{artefact.tag} has no replay set: {remedy(artefact)}")
    return replay


def _calibrated_under(manifest: Manifest) -> list[str]:
    """Return the names of the numeric profiles for which some head has a calibration."""
    return sorted({name for by_profile in manifest.heads.values() for name in by_profile})


def _arrays(path: Path, most_bytes: int) -> dict[str, NDArray[Any]]:
    try:
        return npz.decode(path.read_bytes(), most_bytes)
    except OSError as error:
        raise ArtefactError(f"{path}: cannot be read ({error.strerror})") from error
    except npz.BadArrays as error:
        raise ArtefactError(f"{path}: {error}") from error


def _opened(artefact: Artefact, arrays: Arrays, device: Device) -> Replayer:
    """Open the task's replayer for arrays of inputs.

    Raises:
        BadArrays: arrays of another shape or type than the task's inputs.
    """
    opened: Replayer = _module(artefact).replayer(artefact, arrays, device)
    return opened


def _module(artefact: Artefact) -> ModuleType:
    """Return the task's module ``artefact.replay_set``.

    Raises:
        ArtefactError: the task has no such module.
    """
    task = artefact.manifest.frame
    if (module := task_module(task, "artefact.replay_set")) is None:
        raise ArtefactError(f"{artefact.directory}: replay sets of the task {task!r} cannot be scored here")
    return module


def _card(text: str, replay: Replay) -> str:
    """Return a model card whose section on the replay set is replaced."""
    return (
        f"{without_section(text)}\n{SECTION}\n\n"
        f"{replay.units} units, in `{replay.inputs}`: {replay.source}. Their scores under the numeric profile "
        f"{replay.profile} ({replay.cpu}) are in `{replay.scores}`. Another provider or device is compared with them "
        "before it serves. Whoever passes the artefact on passes these inputs on.\n"
    )


def without_section(text: str) -> str:
    """Return a model card without the section on the replay set."""
    return text.partition(f"\n{SECTION}\n")[0].rstrip("\n") + "\n"
