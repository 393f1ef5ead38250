"""How an ensemble is trained from folders of scans, and becomes an artefact."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from models.artefact import Artefact
from models.building import UNSTATED, Provenance
from models.executors.device import CPU, Device
from models.tasks.lesion.artefact import build
from models.tasks.lesion.artefact.build import Fold
from models.tasks.lesion.artefact.ensemble import Ensemble
from models.tasks.lesion.artefact.recipe import Channel, Recipe
from models.tasks.lesion.data import examples
from models.tasks.lesion.data.examples import Files
from models.tasks.lesion.networks import settings as sizes_of
from models.tasks.lesion.networks.settings import Settings, UNetSizes
from models.tasks.lesion.training import parallel
from models.tasks.lesion.training.held_out import HeldOut, held_out

if TYPE_CHECKING:
    from models.tasks.lesion.training.member import Trained

Progress = Callable[[float, str], None]
_TRAINING = 0.85  # share of the time


def train_artefact(
    family: str,
    data: Mapping[str, Sequence[Files]],
    out: Path,
    *,
    members: int,
    seed: int,
    preset: str,
    channels: tuple[Channel, ...] = ("flair",),
    jobs: int | None = None,
    provenance: Provenance = UNSTATED,
    progress: Progress = lambda done, what: None,
    device: Device = CPU,
) -> Artefact:
    """Trains a family on ``data["train"]``, tunes its threshold on ``data["dev_in"]`` and writes the artefact.

    ``dev_in`` selects (weights of each member, the threshold of voxels) and never calibrates. ``data["calibration"]``
    does, else training scans, by ensembles that have not seen them (``held_out``); all other scans are judged for the
    manifest. What is finished lies beside ``out`` until the artefact is there, so that a run that was cut off goes on.
    Needs torch and monai.

    Args:
        jobs: members that are trained side by side, by default one a core.
        device: computes what is calibrated, under its numeric profile.

    Raises:
        ValueError: unknown family or preset, no members, or no scans to train on or to choose weights by.
        BadFile: a scan that cannot be read.
        RuntimeError: a member's training failed; the message says why.
    """
    parts = out.with_name(f"{out.name}.parts")
    given = tuple(data.get("calibration", ()))
    plan = HeldOut(tuple(data.get("train", ())), share=given) if given else held_out(data.get("train", ()))
    rests = [tuple(scan for scan in plan.train if scan not in fold) for fold in plan.folds]
    names = ["", *(f"fold {number} of {len(rests)}, " for number in range(1, len(rests) + 1))]
    ensembles = [
        train(
            family,
            {**data, parallel.TRAIN: scans},
            parts / (f"fold-{number}" if number else ""),
            members=members,
            seed=seed,
            preset=preset,
            channels=channels,
            jobs=jobs,
            progress=_part(number, len(names), name, progress),
        )
        for number, (name, scans) in enumerate(zip(names, (plan.train, *rests), strict=True))
    ]
    ensemble, *others = ensembles
    used = {"train", "calibration"}
    found = build.build(
        ensemble,
        Recipe(channels=channels, window=ensemble.window),
        out,
        train=plan.train,
        tune=data["dev_in"],
        calibration=plan.share,
        folds=[Fold(one, fold) for one, fold in zip(others, plan.folds, strict=True)],
        judge={name: cases for name, cases in data.items() if name not in used},
        provenance=provenance,
        threads=jobs or os.cpu_count() or 1,
        device=device,
        progress=lambda done, what: progress(_TRAINING + (1 - _TRAINING) * done, what),
    )
    shutil.rmtree(parts, ignore_errors=True)
    progress(1.0, found.tag)
    return found


def _part(number: int, count: int, name: str, progress: Progress) -> Progress:
    """The progress of one of ``count`` trainings of like length."""
    return lambda done, what: progress(_TRAINING * (number + done) / count, f"{name}{what}")


def train(
    family: str,
    data: Mapping[str, Sequence[Files]],
    parts: Path,
    *,
    members: int,
    seed: int,
    preset: str,
    channels: tuple[Channel, ...] = ("flair",),
    jobs: int | None = None,
    progress: Progress = lambda done, what: None,
) -> Ensemble:
    """The trained ensemble; prepared scans and finished members are kept in ``parts``, and found again.

    Raises:
        ValueError, BadFile, RuntimeError: see ``train_artefact``.
    """
    settings = sizes_of.preset(preset, family, len(channels))
    if members < 1:
        raise ValueError(f"an ensemble needs at least one member, got {members}")
    if missing := [name for name in (parallel.TRAIN, parallel.DEV) if not data.get(name)]:
        raise ValueError(f"training needs scans of train and dev_in; missing: {', '.join(missing)}")
    store(data, parts / "scans", Recipe(channels=channels, window=(settings.window,) * 3))
    seeds = tuple(seed * 1000 + member for member in range(members))
    parallel.train_members(
        parts / "scans", parts / "members", settings, seeds, jobs=jobs or os.cpu_count() or 1, progress=progress
    )
    from models.tasks.lesion.training import member as training

    trained = [training.finished(parts / "members", one) for one in seeds]
    found = [one for one in trained if one is not None]
    return assembled(family, found, settings, channels=channels, seed=seed, preset=preset)


def store(data: Mapping[str, Sequence[Files]], folder: Path, recipe: Recipe) -> None:
    """Prepared scans of train and dev_in as files; those that are there are left alone.

    Raises:
        BadFile: a scan that cannot be read.
    """
    for split in (parallel.TRAIN, parallel.DEV):
        for number, case in enumerate(sorted(data[split], key=lambda one: (one.id, str(one.flair)))):
            place = folder / split / f"{number:04d}-{case.id}"
            if not place.exists():
                part = place.with_name(f".{place.name}.part")
                examples.example(case, recipe).save(part)
                part.rename(place)


def assembled(
    family: str,
    trained: Sequence[Trained],
    settings: Settings,
    *,
    channels: tuple[Channel, ...] = ("flair",),
    seed: int,
    preset: str,
) -> Ensemble:
    """The ensemble of finished members; ``seed`` is that of the frozen masks. Needs torch and monai."""
    import torch

    from models.tasks.lesion.artefact import export

    sizes = settings.sizes
    told = {name: str(value) if isinstance(value, tuple) else value for name, value in vars(sizes).items()}
    return export.exported(
        family,
        [one.network(settings) for one in trained],
        sizes,
        seeds=tuple(one.seed for one in trained),
        channels=channels,
        window=(settings.window,) * 3,
        training={
            "seed": seed,
            "preset": preset,
            "network": "unet" if isinstance(sizes, UNetSizes) else "unetr",
            **told,
            "steps": sum(stage.steps for stage in settings.stages),
            "crops": "; ".join(f"{stage.steps} steps of {stage.batch} x {stage.edge}^3" for stage in settings.stages),
            "dev_ndsc_of_members": ", ".join(f"{one.dev_ndsc:.3f}" for one in trained),
            "torch": str(torch.__version__),
        },
        sample_seed=seed,
    )
