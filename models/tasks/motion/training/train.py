"""Training of a motion ensemble from stored examples, to an artefact."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from models.artefact import Artefact
from models.building import UNSTATED, Provenance
from models.executors.device import CPU, Device
from models.provenance import read as read_provenance
from models.tasks.motion.artefact.ensemble import Ensemble
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.data import gathering
from models.tasks.motion.data.examples import Examples
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.networks.settings import SAMPLES
from models.tasks.motion.training import presets, shares
from models.tasks.motion.training.presets import Settings
from models.tasks.motion.training.shares import DEV, TRAIN
from models.training import checkpoints, parallel_training
from models.training.progress import ignore, span
from models.training.training_folder import parts_folder
from models.workbench import Progress

RANKED = Recipe()
"""Default ranking of plans: by the mean over members (MA), the best in Shifts 1.0."""
_COMMAND_PRESETS = {"fast": "small", "full": "paper"}
_GATHERED, _TRAINED = 0.05, 0.9  # shares of the time that have passed then


def train_artefact(
    family: str,
    directory: Path,
    out: Path,
    *,
    members: int,
    seed: int,
    preset: str,
    parts: Path | None = None,
    jobs: int | None = None,
    plan: Recipe = RANKED,
    provenance: Provenance | None = None,
    progress: Progress = ignore,
    device: Device = CPU,
) -> Artefact:
    """Train a family on an official folder and write the calibrated artefact.

    Members are trained on in-domain requests of ``train``; those of ``dev`` choose weights and calibrate; all others of
    ``dev`` and ``eval`` are scored for the manifest. Needs torch.

    Args:
        parts: folder of examples and members, from which an interrupted run resumes and other families reuse the
            examples; by default a folder beside ``out`` that is removed when the artefact is complete.
        jobs: members that are trained in parallel, by default one per core.
        device: runs the calibration, under its numeric profile.
        plan: ranking of plans.
        preset: also ``fast`` and ``full``, the names of the command line.
        provenance: provenance of the data; by default that of the folder.

    Raises:
        ValueError: the family or preset is unknown, or there are no members, training requests or development requests.
        BadFile: a file cannot be read.
        RuntimeError: a member's training failed; the message says why.
    """
    preset = _COMMAND_PRESETS.get(preset, preset)
    grid = Grid(presets.preset(preset, family).sizes.grid)
    parallel_training.seeds(seed, members)  # refuses an impossible number before the work begins
    with parts_folder(out, parts) as kept:
        stored = gathering.gathered(directory, kept / "examples", grid, span(progress, 0, _GATHERED))
        ensemble = train(
            family,
            stored,
            kept / family,
            members=members,
            seed=seed,
            preset=preset,
            jobs=jobs,
            progress=span(progress, _GATHERED, _TRAINED),
        )
        artefact = built(
            ensemble,
            stored,
            out,
            plan=plan,
            provenance=read_provenance(directory) if provenance is None else provenance,
            device=replace(device, threads=jobs or os.cpu_count() or 1),
            progress=span(progress, _TRAINED, 1),
        )
    progress(1.0, artefact.tag)
    return artefact


def train(
    family: str,
    stored: Mapping[str, Path],
    folder: Path,
    *,
    members: int,
    seed: int,
    preset: str,
    jobs: int | None = None,
    progress: Progress = ignore,
) -> Ensemble:
    """Return the trained ensemble; finished members in ``folder`` are reused.

    Args:
        stored: folders of the examples of the splits ``train`` and ``dev`` (``gathering.gathered``).

    Raises:
        ValueError, RuntimeError: see ``train_artefact``.
    """
    settings = presets.preset(preset, family)
    if missing := [name for name in (TRAIN, DEV) if name not in stored]:
        raise ValueError(f"training needs the splits {TRAIN} and {DEV}; missing: {', '.join(missing)}")
    parts = _parts(stored, Grid(settings.sizes.grid))
    for split, part in zip((TRAIN, DEV), parts, strict=True):
        if not len(part):
            raise ValueError(f"no in-domain request of the split {split} has a future that is observed to its end")
    fingerprint = " ".join(part.fingerprint for part in parts)
    seeds = parallel_training.seeds(seed, members)
    checkpoints.claim_members(folder, settings, examples=fingerprint)
    parallel_training.train_members(
        partial(train_member, stored, folder, settings, fingerprint),
        [member for member in seeds if checkpoints.finished(folder, member) is None],
        jobs=jobs,
        progress=progress,
    )
    return assembled(family, folder, settings, seeds=seeds, preset=preset, seed=seed, requests=len(parts[0]))


def train_member(
    stored: Mapping[str, Path],
    folder: Path,
    settings: Settings,
    fingerprint: str,
    seed: int,
    tell: Progress,
) -> None:
    """Train one member and store it in ``folder`` (``checkpoints.finished``).

    Raises:
        ValueError, FloatingPointError: see ``training.train``.
    """
    from models.tasks.motion.training import member as training

    training.train(
        *_parts(stored, Grid(settings.sizes.grid)),
        settings,
        seed,
        folder=folder,
        fingerprint=fingerprint,
        progress=lambda state: tell(state.share, str(state)),
    )


def assembled(
    family: str,
    folder: Path,
    settings: Settings,
    *,
    seeds: Sequence[int],
    preset: str,
    seed: int,
    requests: int,
) -> Ensemble:
    """Return the ensemble of finished members of a folder. Needs torch.

    Args:
        seed: seed of the frozen masks.
        requests: number of training requests, recorded in the manifest.

    Raises:
        ValueError: a member is not finished there.
    """
    import torch

    from models.tasks.motion.networks.network import Network
    from models.training.loop import loaded

    trained = checkpoints.finished_members(folder, seeds)
    sizes, schedule = settings.sizes, settings.schedule
    return Ensemble(
        family=family,
        networks=tuple(loaded(Network(sizes), member) for member in trained),
        seeds=tuple(seeds),
        training={
            "seed": seed,
            "preset": preset,
            "encoder": sizes.encoder,
            "decoder": sizes.decoder,
            "channels": " ".join(map(str, sizes.channels)),
            "hidden": sizes.hidden,
            "dropout": sizes.dropout,
            "requests": requests,
            "batch": settings.batch,
            "schedule": f"AdamW at {schedule.rate:g}, {schedule.length} {schedule.unit}, {schedule.warmup} of warm-up",
            "conditioned_on": settings.conditioning,
            "dev_nll_of_members_nats": ", ".join(f"{member.score:.2f}" for member in trained),
            "torch": str(torch.__version__),
        },
        samples=SAMPLES if sizes.dropout else 1,
        sample_seed=seed if sizes.dropout else None,
    )


def built(
    ensemble: Ensemble,
    stored: Mapping[str, Path],
    out: Path,
    *,
    plan: Recipe = RANKED,
    provenance: Provenance = UNSTATED,
    device: Device = CPU,
    progress: Progress = ignore,
) -> Artefact:
    """Write the artefact of an ensemble that was trained on stored examples, calibrated as in ``train_artefact``.

    Needs torch.
    """
    from models.tasks.motion.artefact import build

    examples = {name: Examples.load(place, plan.grid) for name, place in stored.items()}
    return build.build(
        ensemble,
        plan,
        out,
        train=shares.training(examples[TRAIN]),
        choosing=shares.choosing(examples[DEV]),
        calibration=shares.calibrating(examples[DEV]),
        judge=shares.judging(examples),
        provenance=provenance,
        device=device,
        progress=progress,
    )


def _parts(stored: Mapping[str, Path], grid: Grid) -> tuple[Examples, Examples]:
    """Return the requests for training, and those that choose weights."""
    return shares.training(Examples.load(stored[TRAIN], grid)), shares.choosing(Examples.load(stored[DEV], grid))
