"""How an ensemble is trained from stored examples, and becomes an artefact."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from models import side_by_side
from models.artefact import Artefact
from models.building import UNSTATED, Provenance
from models.tasks.motion import gathering, presets, shares
from models.tasks.motion.ensemble import Ensemble
from models.tasks.motion.examples import Examples
from models.tasks.motion.grid import Grid
from models.tasks.motion.presets import Settings
from models.tasks.motion.recipe import Recipe
from models.tasks.motion.settings import SAMPLES
from models.tasks.motion.shares import DEV, TRAIN

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
) -> Artefact:
    """Trains a family on an official folder and writes the calibrated artefact.

    In-domain requests of the split ``train`` train, those of ``dev`` choose weights and calibrate, all others of
    ``dev`` and ``eval`` are judged for the manifest. Needs torch.

    Args:
        parts: where examples and members are kept, so that a run that was cut off goes on, and other families find the
            examples; by default a folder beside ``out`` that is removed when the artefact is there.
        jobs: members that are trained side by side, by default one a core.
        plan: how plans are ranked.

    Raises:
        ValueError: unknown family or preset, no members, or no requests to train on or to choose weights by.
        BadFile: a file that cannot be read.
        RuntimeError: a member's training failed; the message says why.
    """
    from models.tasks.motion import build

    settings = presets.preset(preset, family)
    grid = Grid(settings.sizes.grid)
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
    examples = {name: Examples.load(place, grid) for name, place in stored.items()}
    found = build.build(
        ensemble,
        plan,
        out,
        train=shares.training(examples[TRAIN]),
        choosing=shares.choosing(examples[DEV]),
        calibration=shares.calibrating(examples[DEV]),
        judge=shares.judging(examples),
        provenance=provenance,
        threads=jobs or os.cpu_count() or 1,
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
    settings = presets.preset(preset, family)
    if members < 1:
        raise ValueError(f"an ensemble needs at least one member, got {members}")
    if missing := [name for name in (TRAIN, DEV) if name not in stored]:
        raise ValueError(f"training needs the splits {TRAIN} and {DEV}; missing: {', '.join(missing)}")
    parts = _parts(stored, settings)
    for part, one in zip(("train", "dev"), parts, strict=True):
        if not len(one):
            raise ValueError(
                f"no in-domain request of the split {part} is observed in all its future: none can be used"
            )
    seeds = tuple(seed * 1000 + member for member in range(members))
    fingerprint = " ".join(one.fingerprint for one in parts)
    side_by_side.train_members(
        partial(train_member, stored, folder, settings, fingerprint),
        seeds,
        jobs=jobs or os.cpu_count() or 1,
        progress=progress,
    )
    return assembled(family, folder, settings, seeds=seeds, preset=preset, seed=seed, requests=len(parts[0]))


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
    from models.tasks.motion import training

    training.train(
        *_parts(stored, settings),
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
    seeds: tuple[int, ...],
    preset: str,
    seed: int,
    requests: int,
) -> Ensemble:
    """The ensemble of the finished members of a folder; ``seed`` is that of frozen masks. Needs torch."""
    import torch

    from models.tasks.motion import training

    trained = [found for one in seeds if (found := training.finished(folder, one)) is not None]
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


def _parts(stored: Mapping[str, Path], settings: Settings) -> tuple[Examples, Examples]:
    """What trains, and what chooses weights."""
    grid = Grid(settings.sizes.grid)
    return shares.training(Examples.load(stored[TRAIN], grid)), shares.choosing(Examples.load(stored[DEV], grid))
