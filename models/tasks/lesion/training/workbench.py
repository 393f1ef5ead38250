"""Commands ``demur data lesion`` and ``demur train lesion``: scans out, scans in, with progress."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models import provenance
from models.executors.device import CPU, Device
from models.tasks.lesion.data.official import SPLITS, Case, cases
from models.tasks.lesion.networks.settings import FAMILIES
from models.tasks.lesion.training import train
from models.workbench import Action, Option, Progress
from simulators.lesion import dataset
from simulators.lesion.sites import SITES

if TYPE_CHECKING:
    from models.artefact import Artefact

__all__ = ["ACTIONS", "DATASHEET", "FAMILIES", "PRESETS", "read_files", "train_artefact"]

DATASHEET = "docs/datasheets/lesion-simulator.md"

PRESETS = ("brief", "fast", "full")
"""Besides the usual two, one of some two minutes a member for trials."""
_SETTINGS = {"fast": "small", "full": "paper"}


def train_artefact(
    family: str,
    directory: Path,
    out: Path,
    *,
    members: int,
    seed: int,
    preset: str,
    progress: Progress,
    device: Device = CPU,
) -> Artefact:
    """Train a family on a directory in the official layout and write the calibrated artefact.

    Scans of all sites are taken by their split: ``train`` for training and calibration (``held_out``), ``dev_in`` to
    choose weights and the threshold of voxels by, labelled others for the model card. Needs the ``train`` extra.

    Raises:
        BadFile: files that are doubled, missing or no images.
        ValueError: an unknown family, no members, no scans to train on or to choose weights by.
        RuntimeError: the training of a member failed.
    """
    data = read_files(directory)
    return train.train_artefact(
        family,
        data,
        out,
        members=members,
        seed=seed,
        preset=_SETTINGS.get(preset, preset),
        provenance=provenance.read(directory),
        progress=progress,
        device=device,
    )


def read_files(directory: Path) -> dict[str, list[Case]]:
    """The labelled scans of a directory in the official layout, by split.

    Raises:
        BadFile: see ``official.cases``.
    """
    data: dict[str, list[Case]] = defaultdict(list)
    for case in cases(directory):
        if case.truth is not None:
            data[case.split].append(case)
    return data


def extra(words: list[str]) -> dict[str, dict[str, int]]:
    """Numbers of scans by site and split, from words such as ``site_e:train=10``.

    Raises:
        ValueError: another form, or a site's split twice.
    """
    found: dict[str, dict[str, int]] = {}
    for word in words:
        site, _, rest = word.partition(":")
        split, _, count = rest.partition("=")
        if not count.isdecimal():
            raise ValueError(f"--extra {word!r} is not of the form SITE:SPLIT=COUNT, such as site_e:train=10")
        if split in found.setdefault(site, {}):
            raise ValueError(f"--extra gives {site}:{split} twice")
        found[site][split] = int(count)
    return found


def _simulate(given: Mapping[str, Any], progress: Progress) -> list[Path]:
    return dataset.simulate(
        given["out"], given["scale"], given["seed"], tuple(given["sites"]), progress, extra(given["extra"])
    )


ACTIONS = (
    Action(
        "simulate",
        "draw brains with lesions at the simulated sites, in the official layout",
        (
            Option("--out", "directory for the sites' folders", Path, required=True),
            Option("--scale", "multiplies the canonical numbers of scans, at least one each", float, 1.0),
            Option("--seed", "equal seeds draw equal scans", int, 0),
            Option("--sites", "which sites", str, tuple(SITES), count="+", choices=tuple(SITES), metavar="SITE"),
            Option(
                "--extra",
                f"scans beside the canonical ones, for experiments across sites; splits {', '.join(SPLITS)}",
                str,
                (),
                count="+",
                metavar="SITE:SPLIT=COUNT",
            ),
        ),
        _simulate,
        "simulating",
        DATASHEET,
    ),
)
"""Actions of ``demur data``."""
