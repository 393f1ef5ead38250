"""Measured ensembles: an artefact's, or the released layout with random weights."""

import tempfile
from pathlib import Path

import numpy as np
import torch

from models.artefact import read
from models.executors.device import CPU, Device
from models.executors.onnx import OnnxGraph
from models.imaging import nifti
from models.tasks.lesion.artefact import recipe as recipes
from models.tasks.lesion.artefact.export import export
from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.inference import members as ensembles
from models.tasks.lesion.inference.members import Members
from models.tasks.lesion.networks import architectures
from models.tasks.lesion.networks.settings import RELEASED
from simulators.lesion import template
from simulators.lesion.scan import draw
from simulators.lesion.sites import SITES

SHAPE = (182, 218, 182)
"""Voxels of 1 mm in the MNI grid."""
FULL = "full size, random weights"
MEMBERS = 5
LESION_SHARE = 0.002
"""Share of voxels that random weights label as lesion."""


def opened(name: str, *, as_served: bool = True, device: Device = CPU) -> tuple[Members, Recipe]:
    """Return the members and recipe of an artefact's folder, or of ``FULL``.

    Args:
        as_served: if false, open sessions with ONNX Runtime's defaults, each with its own arena and memory pattern.
    """
    if name != FULL:
        artefact = read(Path(name))
        return ensembles.members(artefact, device=device, shared_arena=as_served), recipes.read(artefact)
    graphs = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(MEMBERS):
            path = Path(folder) / f"{seed}.onnx"
            path.write_bytes(_full(seed))
            graphs.append(OnnxGraph(path, device, shared_arena=as_served))
    return Members(graphs), Recipe()


def _full(seed: int) -> bytes:
    recipe = Recipe()
    torch.manual_seed(seed)
    member = architectures.Plain(architectures.folded(architectures.network(RELEASED, recipe.window[0]))).eval()
    with torch.no_grad():  # few voxels are lesions, as in real brains
        logits = member(torch.randn(1, len(recipe.channels), *recipe.window))
        last = [parameter for name, parameter in member.named_parameters() if name.endswith("bias")][-1]
        last -= torch.quantile(logits.flatten()[::7], 1 - LESION_SHARE)
    return export(member, len(recipe.channels), recipe.window)


def scan_file() -> bytes:
    """Return a simulated patient of an in-domain site on the MNI grid, as a NIfTI file."""
    flair = draw(np.random.default_rng(0), template.load(), SITES["site_a"]).flair
    room = [(whole - own) // 2 for whole, own in zip(SHAPE, flair.shape, strict=True)]
    pad = [(free, whole - own - free) for free, whole, own in zip(room, SHAPE, flair.shape, strict=True)]
    return nifti.write(np.pad(flair, pad), np.diag([1.0, 1.0, 1.0, 1.0]))
