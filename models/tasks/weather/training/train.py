"""What ``demur train weather`` does: labelled files to a calibrated artefact, for every family."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from models.artefact import Artefact
from models.building import Labelled, Provenance
from models.executors.device import CPU, Device
from models.tasks.weather.artefact import build
from models.tasks.weather.artefact.ensemble import FAMILIES, VIRTUAL, Ensemble, join
from models.tasks.weather.data.features import SCHEMA
from models.tasks.weather.data.table import Table
from models.tasks.weather.spec import HEADS, PRECIPITATION, TEMPERATURE
from models.tasks.weather.training import boosting

Progress = Callable[[float, str], None]
NETWORK_ROWS = 40_000
"""Rows that the fast recipe of networks is trained on."""


def train_artefact(
    family: str,
    data: Mapping[str, Labelled],
    out: Path,
    *,
    members: int,
    seed: int,
    preset: str,
    provenance: Provenance,
    progress: Progress,
    device: Device = CPU,
) -> Artefact:
    """Trains a family on ``data`` (train, dev_in, and what else is to be judged) and writes the artefact.

    Finished members lie beside ``out`` until the artefact is there, so that a run that was cut off goes on.

    Args:
        device: computes what is calibrated, under its numeric profile.

    Raises:
        ValueError: unknown family or preset, or no members.
        FloatingPointError: training diverged.
    """
    if family not in FAMILIES:
        raise ValueError(f"family {family!r} is unknown; use one of {', '.join(FAMILIES)}")
    parts = out.with_name(f"{out.name}.parts")
    ensemble = trained(family, data, parts, members=members, seed=seed, preset=preset, progress=_within(progress, 0.9))
    found = build.build(
        ensemble,
        data,
        out,
        schema=SCHEMA,
        provenance=provenance,
        device=device,
        progress=lambda done, what: progress(0.9 + 0.1 * done, f"judging {what}"),
    )
    shutil.rmtree(parts, ignore_errors=True)
    progress(1.0, found.tag)
    return found


def labelled(table: Table) -> Labelled:
    """A table as rows with labels of both heads."""
    labels: dict[str, NDArray[Any]] = {TEMPERATURE.name: table.temperature, PRECIPITATION.name: table.precipitation}
    return Labelled(table.features, labels, table.time)


def trained(
    family: str,
    data: Mapping[str, Labelled],
    parts: Path,
    *,
    members: int,
    seed: int,
    preset: str,
    progress: Progress,
) -> Ensemble:
    """The ensemble; ``combined`` has so many members of each kind."""
    if family == "combined":
        trees = trained(
            "catboost", data, parts, members=members, seed=seed, preset=preset, progress=_within(progress, 0.4)
        )
        rest = partial(_later, progress, 0.4)
        networks = trained("ft_transformer", data, parts, members=members, seed=seed, preset=preset, progress=rest)
        return join(trees, networks)
    if family in ("catboost", "catboost_virtual"):
        return boosting.train(
            data,
            HEADS,
            SCHEMA,
            parts / f"{family}-{seed}-{preset}",
            members=members,
            seed=seed,
            settings=boosting.PRESETS[preset],
            virtual=family == "catboost_virtual",
            progress=lambda state: progress(state.share, str(state)),
        )
    from models.tasks.weather.transformer import fit  # needs torch

    return fit.ensemble(
        data,
        SCHEMA,
        parts / f"networks-{seed}-{preset}",
        members=members,
        seed=seed,
        preset=preset,
        samples=VIRTUAL if family == "ft_mcdp" else 1,
        most_rows=NETWORK_ROWS if preset == "fast" else None,
        progress=progress,
    )


def _within(progress: Progress, share: float) -> Progress:
    return lambda done, what: progress(share * done, what)


def _later(progress: Progress, start: float, done: float, what: str) -> None:
    progress(start + (1 - start) * done, what)
