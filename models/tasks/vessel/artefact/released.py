"""Import of the released vessel baseline: ten Monte-Carlo dropout networks with their scaler.

    DIR/member_{1..10}/best_model.pth    state dict: linear{1,2,3}.{weight,bias}
    DIR/stats/means.json, stds.json      per column, with power

Files are read as tensors only; nothing is unpickled. The released code scales ``timeSinceDryDock`` by a fixed divisor
and ignores the stored deviation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from models.artefact import Artefact, ArtefactError
from models.building import Provenance
from models.executors.device import CPU, Device
from models.tasks.vessel.artefact import build
from models.tasks.vessel.artefact.ensemble import DRY_DOCK, DRY_DOCK_DIVISOR, Scaling, TrainedEnsemble
from models.tasks.vessel.data.table import NAMES

if TYPE_CHECKING:
    from models.tasks.vessel.data.table import Table

SHAPES = {"linear1": (50, 10), "linear2": (20, 50), "linear3": (2, 20)}
PASSES = 10
"""Dropout passes per member in the released evaluation."""


def import_released(
    directory: Path,
    out: Path,
    data: Mapping[str, Table] | None = None,
    *,
    sample_seed: int = 0,
    device: Device = CPU,
) -> Artefact:
    """Make an artefact of released weights; ``data["dev_in"]``, if given, calibrates it.

    Raises:
        ArtefactError: a file is missing or does not have the released form; the message names it and the reason.
    """
    ensemble = load_released(directory, sample_seed=sample_seed)
    provenance = Provenance(
        description="weights of the released Shifts vessel baseline; training data not included",
        licence="see the licence that came with the weights",
    )
    return build.build(ensemble, data or {}, out, provenance=provenance, device=device)


def load_released(directory: Path, *, sample_seed: int = 0) -> TrainedEnsemble:
    """Return the released members, with ten frozen dropout masks each instead of ten random passes.

    Raises:
        ArtefactError: see ``import_released``.
    """
    paths = {_number(path): path / "best_model.pth" for path in directory.glob("member_*") if _number(path)}
    if not paths:
        raise ArtefactError(f"{directory}: no folder member_1, member_2 … with a best_model.pth")
    states = [_state(paths[number]) for number in sorted(paths)]
    weights: dict[str, Any] = {}
    for layer in (1, 2, 3):
        weights[f"w{layer}"] = np.stack([state[f"linear{layer}.weight"].T for state in states])
        weights[f"b{layer}"] = np.stack([state[f"linear{layer}.bias"][None, :] for state in states])
    return TrainedEnsemble(
        "mc_dropout",
        scaling(directory / "stats"),
        weights,
        seeds=tuple(sorted(paths)),
        samples=PASSES,
        sample_seed=sample_seed,
        training={"origin": "released Shifts vessel baseline"},
    )


def scaling(stats: Path) -> Scaling:
    """Return the released scaler from means.json and stds.json.

    Raises:
        ArtefactError: a file or a column is missing.
    """
    means, stds = _numbers(stats / "means.json"), _numbers(stats / "stds.json")
    mean = np.array([0.0 if name == DRY_DOCK else means[name] for name in NAMES])
    std = np.array([DRY_DOCK_DIVISOR if name == DRY_DOCK else stds[name] for name in NAMES])
    return Scaling(mean, std, means["power"], stds["power"])


def _number(path: Path) -> int:
    match = re.fullmatch(r"member_(\d+)", path.name)
    return int(match.group(1)) if match else 0


def _state(path: Path) -> dict[str, Any]:
    import torch

    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ArtefactError(f"{path}: not a plain state dict of tensors: {error}") from error
    expected: dict[str, tuple[int, ...]] = {f"{layer}.weight": shape for layer, shape in SHAPES.items()}
    expected |= {f"{layer}.bias": shape[:1] for layer, shape in SHAPES.items()}
    actual = {name: tuple(value.shape) for name, value in loaded.items()} if isinstance(loaded, dict) else None
    if actual != expected:
        raise ArtefactError(f"{path}: needs tensors {expected}, found {actual}")
    return {name: value.numpy().astype(np.float32) for name, value in loaded.items()}


def _numbers(path: Path) -> dict[str, float]:
    try:
        values = {str(name): float(value) for name, value in json.loads(path.read_text()).items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise ArtefactError(f"{path}: not a JSON object of numbers: {error}") from error
    missing = [name for name in (*NAMES, "power") if name not in values and name != DRY_DOCK]
    if missing:
        raise ArtefactError(f"{path}: columns missing: {missing}")
    return values
