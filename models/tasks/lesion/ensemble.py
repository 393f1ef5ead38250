"""A trained lesion ensemble before it becomes an artefact, and how one is trained from a folder of scans."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.artefact import Artefact, Executor
from models.building import UNSTATED, Provenance
from models.tasks.lesion import examples, side_by_side
from models.tasks.lesion import settings as sizes_of
from models.tasks.lesion.examples import Files
from models.tasks.lesion.recipe import Channel, Recipe
from models.tasks.lesion.settings import FAMILIES, Settings, UNetSizes
from models.tasks.lesion.spec import LESIONS

__all__ = ["FAMILIES", "Ensemble", "train", "train_artefact"]

Progress = Callable[[float, str], None]
_TRAINING = 0.85  # share of the time


@dataclass(frozen=True)
class Ensemble:
    """Members of one family."""

    family: str
    graphs: tuple[bytes, ...]
    """ONNX, one a member."""
    channels: tuple[Channel, ...]
    window: tuple[int, int, int]
    seeds: tuple[int, ...]
    training: Mapping[str, float | int | str]
    samples: int = 1
    """Frozen masks of each member."""
    sample_seed: int | None = None
    """Of the masks; None for graphs without."""

    @property
    def several(self) -> bool:
        """Whether knowledge uncertainty exists."""
        return len(self.graphs) * self.samples > 1

    @property
    def files(self) -> dict[str, bytes]:
        """File name to content."""
        return {f"member-{number}.onnx": graph for number, graph in enumerate(self.graphs)}

    @property
    def executor(self) -> Executor:
        """How the graphs are run."""
        return Executor(kind="onnx", layout="separate", models={LESIONS.name: tuple(self.files)})


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
) -> Artefact:
    """Trains a family on ``data["train"]``, tunes its threshold on ``data["dev_in"]`` and writes the artefact.

    ``data["calibration"]`` calibrates it (without it, ``dev_in`` does, as far as so few scans allow); all other scans
    are judged for the manifest. What is finished lies beside ``out`` until the artefact is there, so that a run that
    was cut off goes on. Needs torch and monai.

    Args:
        jobs: members that are trained side by side, by default one a core.

    Raises:
        ValueError: unknown family or preset, no members, or no scans to train on or to choose weights by.
        BadFile: a scan that cannot be read.
        RuntimeError: a member's training failed; the message says why.
    """
    from models.tasks.lesion import build

    parts = out.with_name(f"{out.name}.parts")
    ensemble = train(
        family,
        data,
        parts,
        members=members,
        seed=seed,
        preset=preset,
        channels=channels,
        jobs=jobs,
        progress=lambda done, what: progress(_TRAINING * done, what),
    )
    used = {"train", "calibration"}
    found = build.build(
        ensemble,
        Recipe(channels=channels, window=ensemble.window),
        out,
        train=data["train"],
        tune=data["dev_in"],
        calibration=data.get("calibration") or data["dev_in"],
        judge={name: cases for name, cases in data.items() if name not in used},
        provenance=provenance,
        threads=jobs or os.cpu_count() or 1,
        progress=lambda done, what: progress(_TRAINING + (1 - _TRAINING) * done, what),
    )
    shutil.rmtree(parts, ignore_errors=True)
    progress(1.0, found.tag)
    return found


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
    if missing := [name for name in (side_by_side.TRAIN, side_by_side.DEV) if not data.get(name)]:
        raise ValueError(f"training needs scans of train and dev_in; missing: {', '.join(missing)}")
    store(data, parts / "scans", Recipe(channels=channels, window=(settings.window,) * 3))
    seeds = tuple(seed * 1000 + member for member in range(members))
    side_by_side.train_members(
        parts / "scans", parts / "members", settings, seeds, jobs=jobs or os.cpu_count() or 1, progress=progress
    )
    return _exported(family, parts / "members", settings, seeds, channels, seed, preset)


def store(data: Mapping[str, Sequence[Files]], folder: Path, recipe: Recipe) -> None:
    """Prepared scans of train and dev_in as files; those that are there are left alone.

    Raises:
        BadFile: a scan that cannot be read.
    """
    for split in (side_by_side.TRAIN, side_by_side.DEV):
        for number, case in enumerate(sorted(data[split], key=lambda one: (one.id, str(one.flair)))):
            place = folder / split / f"{number:04d}-{case.id}"
            if not place.exists():
                part = place.with_name(f".{place.name}.part")
                examples.example(case, recipe).save(part)
                part.rename(place)


def _exported(
    family: str,
    folder: Path,
    settings: Settings,
    seeds: tuple[int, ...],
    channels: tuple[Channel, ...],
    seed: int,
    preset: str,
) -> Ensemble:
    import torch

    from models.tasks.lesion import export, training

    trained = [training.finished(folder, one) for one in seeds]
    found = [one for one in trained if one is not None]
    sizes = settings.sizes
    told = {name: str(value) if isinstance(value, tuple) else value for name, value in vars(sizes).items()}
    return export.exported(
        family,
        [one.network(settings) for one in found],
        sizes,
        seeds=seeds,
        channels=channels,
        window=(settings.window,) * 3,
        training={
            "seed": seed,
            "preset": preset,
            "network": "unet" if isinstance(sizes, UNetSizes) else "unetr",
            **told,
            "steps": sum(stage.steps for stage in settings.stages),
            "crops": "; ".join(f"{stage.steps} steps of {stage.batch} x {stage.edge}^3" for stage in settings.stages),
            "dev_ndsc_of_members": ", ".join(f"{one.dev_ndsc:.3f}" for one in found),
            "torch": str(torch.__version__),
        },
        sample_seed=seed,
    )
