"""Import of released baselines: a folder ``rip-bc-k_5-plan_ma-scene_ma`` of ``model-seed-S-epoch-E.pt``. Needs torch.

A file is a bare dictionary of weights. It is read without running code that it may contain; the decoder follows from
the names of the weights, the sizes from their shapes.
"""

import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from torch import Tensor

from models import state_files
from models.artefact import Artefact, ArtefactError
from models.building import Provenance
from models.executors.device import CPU, Device
from models.tasks.motion.artefact.ensemble import Ensemble
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.data import folders, gathering
from models.tasks.motion.networks.network import Network
from models.tasks.motion.networks.settings import RELEASED_BC, RELEASED_DIM, Decoder, Sizes
from models.tasks.motion.training import shares
from models.tasks.motion.training.shares import DEV

PROVENANCE = Provenance(
    description="released Shifts vehicle motion baseline; training data not included",
    licence="see the licence that came with the models",
)
MOST_SCENES = 1000
"""Largest number of scenes of development data, evenly spaced; enough for thresholds."""
_MEMBER = re.compile(r"model-seed-(\d+)-epoch-(\d+)\.pt")
_FOLDER = re.compile(r"rip-(?P<decoder>\w+)-k_(?P<count>\d+)-plan_(?P<plan>\w+)-scene_(?P<scene>\w+)")
_LARGEST_BYTES = 1 << 28
_CELLS: Mapping[str, Decoder] = {"_decoder.": "bc", "_flow._decoder.": "dim"}
"""Decoder by the prefix of its recurrent weights' names."""


def import_released(directory: Path, out: Path, data: Path | None = None, *, device: Device = CPU) -> Artefact:
    """Make an artefact of released members; in-domain development requests of ``data``, if given, calibrate it.

    The folder's name gives the operators; the default is the mean over members (MA).

    Raises:
        ArtefactError: there is no member, a member is damaged, contains code or has another layout, or the folder's
            name contradicts its files.
        BadFile: data cannot be read, or have no development split.
    """
    from models.tasks.motion.artefact import build

    folder = _folder(directory)
    ensemble = load_released(folder)
    plan = _plan(folder, ensemble)
    with tempfile.TemporaryDirectory(prefix="demur-") as scratch:
        dev = None
        if data is not None:
            dev = gathering.stored(folders.split(data, DEV), Path(scratch) / DEV, plan.grid, most_scenes=MOST_SCENES)
        return build.build(
            ensemble,
            plan,
            out,
            calibration=None if dev is None else dev.take(~dev.shifted),
            judge={} if dev is None else shares.judging({DEV: dev}),
            provenance=PROVENANCE,
            device=device,
        )


def load_released(folder: Path) -> Ensemble:
    """Return the members in the order of their seeds.

    Raises:
        ArtefactError: see ``import_released``.
    """
    paths: dict[int, Path] = {}
    for path in sorted(folder.iterdir()):
        if (match := _MEMBER.fullmatch(path.name)) is not None:
            if (seed := int(match[1])) in paths:
                raise ArtefactError(f"{path} and {paths[seed]} are both the member of seed {seed}; keep one epoch")
            paths[seed] = path
    if not paths:
        raise ArtefactError(f"{folder}: no model-seed-S-epoch-E.pt")
    members = [read(paths[seed]) for seed in sorted(paths)]
    all_sizes = {member.sizes for member in members}
    if len(all_sizes) > 1:
        raise ArtefactError(f"{folder}: members of different sizes ({', '.join(map(str, all_sizes))})")
    return Ensemble(
        family=members[0].sizes.decoder,
        networks=tuple(members),
        seeds=tuple(sorted(paths)),
        training={
            "origin": "released Shifts vehicle motion baseline",
            "files": ", ".join(paths[seed].name for seed in sorted(paths)),
        },
    )


def read(path: Path) -> Network:
    """Return a released member.

    Raises:
        ArtefactError: see ``import_released``.
    """
    state = state_files.read(path, _LARGEST_BYTES)
    network = Network(_sizes(path, state))
    state_files.fill(network, state, path, f"{network.sizes.decoder.upper()} network")
    network.eval()
    return network


def _sizes(path: Path, state: Mapping[str, Tensor]) -> Sizes:
    decoders = [decoder for start, decoder in _CELLS.items() if any(name.startswith(start) for name in state)]
    if len(decoders) != 1:
        raise ArtefactError(
            f"{path}: neither a behavioural cloning network (_decoder.weight_hh) nor a deep imitative model "
            "(_flow._decoder.weight_hh) of the released layout"
        )
    if decoders[0] == "bc":
        return replace(RELEASED_BC, hidden=_length(path, state, "_decoder.weight_hh"))
    return replace(
        RELEASED_DIM,
        hidden=_length(path, state, "_flow._decoder.weight_hh"),
        locscale=_length(path, state, "_flow._locscale._model.2.weight"),
    )


def _length(path: Path, state: Mapping[str, Tensor], name: str) -> int:
    """Return the number of columns of a matrix."""
    matrix = state.get(name)
    if matrix is None or matrix.ndim != 2 or not matrix.shape[1]:
        shape = "missing" if matrix is None else f"of the shape {list(matrix.shape)}"
        raise ArtefactError(f"{path}: {name} is {shape}; a matrix is needed")
    return int(matrix.shape[1])


def _folder(directory: Path) -> Path:
    """Return the folder of members: the given one, or the only released one in it."""
    inside = sorted(path for path in directory.iterdir() if path.is_dir() and _FOLDER.fullmatch(path.name))
    if any(_MEMBER.fullmatch(path.name) for path in directory.iterdir()) or not inside:
        return directory
    if len(inside) > 1:
        raise ArtefactError(f"{directory}: name one of {', '.join(path.name for path in inside)}")
    return inside[0]


def _plan(folder: Path, ensemble: Ensemble) -> Recipe:
    """Return the recipe with the operators in a folder's name.

    Raises:
        ArtefactError: the name has another decoder or number of members, or an unknown operator.
    """
    match = _FOLDER.fullmatch(folder.resolve().name)
    if match is None:
        return Recipe()
    if match["decoder"] != ensemble.family or int(match["count"]) != len(ensemble):
        raise ArtefactError(
            f"{folder}: the name says {match['count']} members of {match['decoder']}, the files are {len(ensemble)} of "
            f"{ensemble.family}; add what is missing, or rename the folder"
        )
    named: dict[str, Any] = {"plan_operator": match["plan"].upper(), "request_operator": match["scene"].upper()}
    try:
        return msgspec.convert(named, Recipe)
    except msgspec.ValidationError as error:
        raise ArtefactError(f"{folder}: the name tells an operator that is none: {error}") from error
