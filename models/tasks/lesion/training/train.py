"""Training of a lesion ensemble from folders of scans, to an artefact."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from models.artefact import Artefact
from models.building import UNSTATED, Provenance
from models.executors.device import CPU, Device
from models.tasks.lesion.artefact import build
from models.tasks.lesion.artefact.build import Fold
from models.tasks.lesion.artefact.ensemble import Ensemble
from models.tasks.lesion.artefact.recipe import Channel, Recipe
from models.tasks.lesion.data import examples
from models.tasks.lesion.data.examples import Example, Files
from models.tasks.lesion.networks import settings as sizes_of
from models.tasks.lesion.networks.settings import Settings, UNetSizes
from models.tasks.lesion.training.held_out import HeldOut, held_out
from models.training import checkpoints, parallel_training
from models.training.checkpoints import TrainedMember
from models.training.progress import ignore, span
from models.training.training_folder import parts_folder
from models.workbench import Progress

TRAIN, DEV = "train", "dev_in"
_TRAINING = 0.85  # share of the time for training


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
    progress: Progress = ignore,
    device: Device = CPU,
) -> Artefact:
    """Train a family on ``data["train"]``, tune its threshold on ``data["dev_in"]`` and write the artefact.

    ``dev_in`` selects the weights of each member and the threshold of voxels, and never calibrates. Calibration uses
    ``data["calibration"]``, else training scans with ensembles that have not seen them (``held_out``); all other scans
    are scored for the manifest. Finished parts are kept beside ``out`` until the artefact is complete, so that an
    interrupted run resumes. Needs torch and monai.

    Args:
        jobs: members that are trained in parallel, by default one per core.
        device: runs the calibration, under its numeric profile.

    Raises:
        ValueError: the family or preset is unknown, or there are no members, training scans or development scans.
        BadFile: a scan cannot be read.
        RuntimeError: a member's training failed; the message says why.
    """
    calibration = tuple(data.get("calibration", ()))
    plan = HeldOut(tuple(data.get("train", ())), share=calibration) if calibration else held_out(data.get("train", ()))
    rests = [tuple(scan for scan in plan.train if scan not in fold) for fold in plan.folds]
    names = ["", *(f"fold {number} of {len(rests)}, " for number in range(1, len(rests) + 1))]
    part = _TRAINING / len(names)
    used = {"train", "calibration"}
    with parts_folder(out) as parts:
        ensemble, *others = [
            train(
                family,
                {**data, TRAIN: scans},
                parts / (f"fold-{number}" if number else ""),
                members=members,
                seed=seed,
                preset=preset,
                channels=channels,
                jobs=jobs,
                progress=span(progress, part * number, part * (number + 1), name),
            )
            for number, (name, scans) in enumerate(zip(names, (plan.train, *rests), strict=True))
        ]
        artefact = build.build(
            ensemble,
            Recipe(channels=channels, window=ensemble.window),
            out,
            train=plan.train,
            tune=data["dev_in"],
            calibration=plan.share,
            folds=[Fold(other, fold) for other, fold in zip(others, plan.folds, strict=True)],
            judge={name: cases for name, cases in data.items() if name not in used},
            provenance=provenance,
            threads=jobs or os.cpu_count() or 1,
            device=device,
            progress=span(progress, _TRAINING, 1),
        )
    progress(1.0, artefact.tag)
    return artefact


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
    progress: Progress = ignore,
) -> Ensemble:
    """Return the trained ensemble; prepared scans and finished members are kept in ``parts`` and reused.

    Raises:
        ValueError, BadFile, RuntimeError: see ``train_artefact``.
    """
    settings = sizes_of.preset(preset, family, len(channels))
    seeds = parallel_training.seeds(seed, members)
    if missing := [name for name in (TRAIN, DEV) if not data.get(name)]:
        raise ValueError(f"training needs scans of train and dev_in; missing: {', '.join(missing)}")
    store(data, parts / "scans", Recipe(channels=channels, window=(settings.window,) * 3))
    train_members(parts / "scans", parts / "members", settings, seeds, jobs=jobs, progress=progress)
    trained = checkpoints.finished_members(parts / "members", seeds)
    return assembled(family, trained, settings, channels=channels, seed=seed, preset=preset)


def train_members(
    scans: Path,
    folder: Path,
    settings: Settings,
    seeds: Sequence[int],
    *,
    jobs: int | None = None,
    progress: Progress = ignore,
) -> None:
    """Train the members of all seeds in parallel; members that are finished in ``folder`` are kept.

    Args:
        scans: folder of stored examples (``examples.Example``), in subfolders ``train`` and ``dev_in``.

    Raises:
        RuntimeError: a member's process failed; the message says why.
    """
    train = partial(train_member, scans, folder, settings)
    parallel_training.train_members(train, seeds, jobs=jobs, progress=progress)


def train_member(scans: Path, folder: Path, settings: Settings, seed: int, tell: Progress) -> None:
    """Train one member and store it in ``folder`` (``checkpoints.finished``).

    Raises:
        ValueError, FloatingPointError: see ``training.train``.
    """
    from models.tasks.lesion.training import member as training

    train, dev = (
        [Example.load(path) for path in sorted((scans / name).iterdir()) if not path.name.startswith(".")]
        for name in (TRAIN, DEV)
    )
    training.train(train, dev, settings, seed, folder=folder, progress=lambda state: tell(state.share, str(state)))


def store(data: Mapping[str, Sequence[Files]], folder: Path, recipe: Recipe) -> None:
    """Store the prepared scans of train and dev_in; existing files are kept.

    Raises:
        BadFile: a scan cannot be read.
    """
    for split in (TRAIN, DEV):
        for number, case in enumerate(sorted(data[split], key=lambda files: (files.id, str(files.flair)))):
            place = folder / split / f"{number:04d}-{case.id}"
            if not place.exists():
                part = place.with_name(f".{place.name}.part")
                examples.example(case, recipe).save(part)
                part.rename(place)


def assembled(
    family: str,
    trained: Sequence[TrainedMember],
    settings: Settings,
    *,
    channels: tuple[Channel, ...] = ("flair",),
    seed: int,
    preset: str,
) -> Ensemble:
    """Return the ensemble of finished members; ``seed`` is the seed of the frozen masks. Needs torch and monai."""
    import torch

    from models.tasks.lesion.artefact import export
    from models.tasks.lesion.networks import architectures
    from models.training.loop import loaded

    sizes = settings.sizes
    dimensions = {name: str(value) if isinstance(value, tuple) else value for name, value in vars(sizes).items()}
    return export.exported(
        family,
        [loaded(architectures.network(sizes, settings.window), member) for member in trained],
        sizes,
        seeds=tuple(member.seed for member in trained),
        channels=channels,
        window=(settings.window,) * 3,
        training={
            "seed": seed,
            "preset": preset,
            "network": "unet" if isinstance(sizes, UNetSizes) else "unetr",
            **dimensions,
            "steps": sum(stage.steps for stage in settings.stages),
            "crops": "; ".join(f"{stage.steps} steps of {stage.batch} x {stage.edge}^3" for stage in settings.stages),
            "dev_ndsc_of_members": ", ".join(f"{member.score:.3f}" for member in trained),
            "torch": str(torch.__version__),
        },
        sample_seed=seed,
    )
