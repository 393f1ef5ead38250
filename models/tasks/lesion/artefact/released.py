"""Import of released U-Net baselines: ``seed1/Best_model_finetuning.pth``, ``seed2/…``. Needs torch and monai.

A file is a bare dictionary of weights. It is read without running code that it may contain; widths and the number of
modalities follow from the shapes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor, nn

from models import state_files
from models.artefact import Artefact, ArtefactError
from models.building import Provenance
from models.executors.device import CPU, Device
from models.tasks.lesion.artefact.ensemble import Ensemble
from models.tasks.lesion.artefact.export import exported
from models.tasks.lesion.artefact.recipe import Channel, Recipe
from models.tasks.lesion.networks import architectures
from models.tasks.lesion.networks.settings import UNetSizes

if TYPE_CHECKING:
    from models.tasks.lesion.data.official import Case

FILE = "Best_model_finetuning.pth"
WINDOW = (96, 96, 96)
PROVENANCE = Provenance(
    description="released Shifts white-matter lesion baseline; training data not included",
    licence="see the licence that came with the models",
)
_SEED = re.compile(r"seed_?(\d+)")
_CHANNELS: Mapping[int, tuple[Channel, ...]] = {1: ("flair",), 2: ("flair", "t1")}
_LARGEST_BYTES = 1 << 30


def import_released(
    directory: Path, out: Path, data: Mapping[str, Sequence[Case]] | None = None, *, device: Device = CPU
) -> Artefact:
    """Make an artefact of released members; ``data["dev_in"]``, if given, calibrates it.

    Volumes keep their stored orientation and the threshold is 0.35, as released.

    Raises:
        ArtefactError: there is no member, or a member is damaged, contains code or is not a U-Net of the released
            layout.
    """
    from models.tasks.lesion.artefact import build

    ensemble = load_released(directory)
    recipe = Recipe(channels=ensemble.channels, orientation="", window=WINDOW)
    calibration = (data or {}).get("dev_in", ())
    return build.build(ensemble, recipe, out, calibration=calibration, provenance=PROVENANCE, device=device)


def load_released(directory: Path) -> Ensemble:
    """Return the members in the order of their seeds.

    Raises:
        ArtefactError: see ``import_released``.
    """
    paths: dict[int, Path] = {}
    for path in sorted(directory.glob(f"*/{FILE}")):
        if (match := _SEED.fullmatch(path.parent.name)) is not None:
            if (seed := int(match[1])) in paths:
                raise ArtefactError(f"{path} and {paths[seed]} are both member {seed}; keep one")
            paths[seed] = path
    if not paths:
        raise ArtefactError(f"{directory}: no seed1/{FILE}, seed2/{FILE} …")
    members = {seed: read(paths[seed]) for seed in sorted(paths)}
    all_sizes = {sizes for sizes, _ in members.values()}
    if len(all_sizes) > 1:
        raise ArtefactError(f"{directory}: members of different sizes ({', '.join(map(str, all_sizes))})")
    (sizes,) = all_sizes
    return exported(
        "unet",
        [network for _, network in members.values()],
        sizes,
        seeds=tuple(members),
        channels=_CHANNELS[sizes.inputs],
        window=WINDOW,
        training={"origin": "released Shifts white-matter lesion baseline"},
    )


def read(path: Path) -> tuple[UNetSizes, nn.Module]:
    """Return a released member and its sizes.

    Raises:
        ArtefactError: see ``import_released``.
    """
    state = state_files.read(path, _LARGEST_BYTES)
    sizes = _sizes(path, state)
    network = architectures.network(sizes, WINDOW[0])
    state_files.fill(network, state, path, "U-Net")
    return sizes, network.eval()


def _sizes(path: Path, state: Mapping[str, Tensor]) -> UNetSizes:
    """Return the channels of each level and the number of modalities, derived from the shapes."""
    channels, inputs, prefix = [], None, "model."
    while (weight := state.get(f"{prefix}0.conv.weight")) is not None and weight.ndim == 5:
        inputs = weight.shape[1] if inputs is None else inputs
        channels.append(weight.shape[0])
        prefix += "1.submodule."
    bottom = state.get(f"{prefix}conv.weight")
    if inputs is None or bottom is None or bottom.ndim != 5:
        missing = f"{prefix}conv.weight" if channels else "model.0.conv.weight"
        raise ArtefactError(f"{path}: no U-Net of the released layout: {missing} is missing or has no five axes")
    if inputs not in _CHANNELS:
        raise ArtefactError(f"{path}: takes {inputs} modalities; 1 (FLAIR) or 2 (FLAIR and T1) are served")
    try:
        return UNetSizes((*channels, bottom.shape[0]), inputs)
    except ValueError as error:
        raise ArtefactError(f"{path}: {error}") from error
