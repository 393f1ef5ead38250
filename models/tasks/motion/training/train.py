"""How an ensemble is trained from stored examples, and becomes an artefact."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from models import checkpoints, side_by_side
from models.artefact import Artefact
from models.building import UNSTATED, Provenance
from models.executors.device import CPU, Device
from models.tasks.motion.artefact.ensemble import Ensemble
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.data import gathering
from models.tasks.motion.data.examples import Examples
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.networks.settings import SAMPLES
from models.tasks.motion.training import presets, shares
from models.tasks.motion.training.presets import Settings
from models.tasks.motion.training.shares import DEV, TRAIN

Progress = Callable[[float, str], None]
RANKED = Recipe()
"""Plans ranked by the mean over members (MA), as Shifts 1.0 found best."""
_GATHERED, _TRAINED = 0.05, 0.9  # shares of the time that have gone by then


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
    provenance: Provenance = UNSTATED,
    progress: Progress = lambda done, what: None,
    device: Device = CPU,
) -> Artefact:
    """Trains a family on an official folder and writes the calibrated artefact.

    In-domain requests of the split ``train`` train, those of ``dev`` choose weights and calibrate, all others of
    ``dev`` and ``eval`` are judged for the manifest. Needs torch.

    Args:
        parts: where examples and members are kept, so that a run that was cut off goes on, and other families find the
            examples; by default a folder beside ``out`` that is removed when the artefact is there.
        jobs: members that are trained side by side, by default one a core.
        device: computes what is calibrated, under its numeric profile.
        plan: how plans are ranked.

    Raises:
        ValueError: unknown family or preset, no members, or no requests to train on or to choose weights by.
        BadFile: a file that cannot be read.
        RuntimeError: a member's training failed; the message says why.
    """
    grid = Grid(presets.preset(preset, family).sizes.grid)
    side_by_side.seeds(seed, members)  # refuses what cannot be before the work begins
    kept = parts or out.with_name(f"{out.name}.parts")
    stored = gathering.gathered(directory, kept / "examples", grid, lambda done, what: progress(_GATHERED * done, what))
    ensemble = train(
        family,
        stored,
        kept / family,
        members=members,
        seed=seed,
        preset=preset,
        jobs=jobs,
        progress=lambda done, what: progress(_GATHERED + (_TRAINED - _GATHERED) * done, what),
    )
    found = built(
        ensemble,
        stored,
        out,
        plan=plan,
        provenance=provenance,
        device=replace(device, threads=jobs or os.cpu_count() or 1),
        progress=lambda done, what: progress(_TRAINED + (1 - _TRAINED) * done, what),
    )
    if parts is None:
        shutil.rmtree(kept, ignore_errors=True)
    progress(1.0, found.tag)
    return found


def train(
    family: str,
    stored: Mapping[str, Path],
    folder: Path,
    *,
    members: int,
    seed: int,
    preset: str,
    jobs: int | None = None,
    progress: Progress = lambda done, what: None,
) -> Ensemble:
    """The trained ensemble; finished members are kept in ``folder``, and found again.

    Args:
        stored: where the examples of the splits ``train`` and ``dev`` lie (``gathering.gathered``).

    Raises:
        ValueError, RuntimeError: see ``train_artefact``.
    """
    from models.tasks.motion.training import member

    settings = presets.preset(preset, family)
    if missing := [name for name in (TRAIN, DEV) if name not in stored]:
        raise ValueError(f"training needs the splits {TRAIN} and {DEV}; missing: {', '.join(missing)}")
    parts = _parts(stored, Grid(settings.sizes.grid))
    for split, part in zip((TRAIN, DEV), parts, strict=True):
        if not len(part):
            raise ValueError(f"no in-domain request of the split {split} has a future that is observed to its end")
    fingerprint = " ".join(part.fingerprint for part in parts)
    every = side_by_side.seeds(seed, members)
    checkpoints.claimed(folder, settings, fingerprint)
    side_by_side.train_members(
        partial(train_member, stored, folder, settings, fingerprint),
        [one for one in every if member.finished(folder, one) is None],
        jobs=jobs or os.cpu_count() or 1,
        progress=progress,
    )
    return assembled(family, folder, settings, seeds=every, preset=preset, seed=seed, requests=len(parts[0]))


def train_member(
    stored: Mapping[str, Path],
    folder: Path,
    settings: Settings,
    fingerprint: str,
    seed: int,
    tell: Callable[[float, str], None],
) -> None:
    """Trains one member; it lies in ``folder`` afterwards (``training.finished``).

    Raises:
        ValueError, FloatingPointError: as ``training.train``.
    """
    from models.tasks.motion.training import member

    member.train(
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
    """The ensemble of finished members of a folder. Needs torch.

    Args:
        seed: of frozen masks.
        requests: that the members were trained on; for the record.

    Raises:
        ValueError: a member is not finished there.
    """
    import torch

    from models.tasks.motion.training import member

    found = {one: member.finished(folder, one) for one in seeds}
    if missing := [one for one, trained in found.items() if trained is None]:
        raise ValueError(f"{folder} has no finished member of seed {missing[0]}")
    trained = [one for one in found.values() if one is not None]
    sizes, schedule = settings.sizes, settings.schedule
    return Ensemble(
        family=family,
        networks=tuple(one.network(settings) for one in trained),
        seeds=tuple(one.seed for one in trained),
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
            "dev_nll_of_members_nats": ", ".join(f"{one.dev_nll:.2f}" for one in trained),
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
    progress: Progress = lambda done, what: None,
) -> Artefact:
    """The artefact of an ensemble that was trained on stored examples; calibrated and judged as ``train_artefact``.

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
    """What trains, and what chooses weights."""
    return shares.training(Examples.load(stored[TRAIN], grid)), shares.choosing(Examples.load(stored[DEV], grid))
