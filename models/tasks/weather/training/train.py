"""Training of a weather ensemble of any family from labelled rows, to an artefact."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from models.artefact import Artefact
from models.building import Labelled, Provenance
from models.executors.device import CPU, Device
from models.tasks.weather.artefact import build
from models.tasks.weather.artefact.ensemble import FAMILIES, VIRTUAL, Ensemble, join
from models.tasks.weather.data.features import SCHEMA
from models.tasks.weather.spec import HEADS
from models.tasks.weather.training import boosting
from models.training.progress import span
from models.training.training_folder import parts_folder
from models.workbench import Progress

_TRAINED = 0.9  # share of the time that has passed then
_TREES = 0.4  # share of the time for trees in the training of a combined ensemble
NETWORK_ROWS = 40_000
"""Number of training rows of networks in the fast preset."""


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
    """Train a family on ``data`` (train, dev_in, and further tables to evaluate) and write the artefact.

    Finished members are kept beside ``out`` until the artefact is written, so that an interrupted run resumes.

    Args:
        device: runs the calibration, under its numeric profile.

    Raises:
        ValueError: the family or preset is unknown, or there are no members.
        FloatingPointError: training diverged.
    """
    if family not in FAMILIES:
        raise ValueError(f"family {family!r} is unknown; use one of {', '.join(FAMILIES)}")
    with parts_folder(out) as parts:
        ensemble = trained(
            family, data, parts, members=members, seed=seed, preset=preset, progress=span(progress, 0, _TRAINED)
        )
        artefact = build.build(
            ensemble,
            data,
            out,
            schema=SCHEMA,
            provenance=provenance,
            device=device,
            progress=span(progress, _TRAINED, 1, "judging "),
        )
    progress(1.0, artefact.tag)
    return artefact


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
    """Return the trained ensemble; ``combined`` has ``members`` members of each kind."""
    if family == "combined":
        same = partial(trained, data=data, parts=parts, members=members, seed=seed, preset=preset)
        return join(
            same("catboost", progress=span(progress, 0, _TREES)),
            same("ft_transformer", progress=span(progress, _TREES, 1)),
        )
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
