"""The ensembles that are measured: an artefact's, or the released layout with random weights."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch

from models import nifti
from models.artefact import read
from models.executors.onnx import OnnxGraph, Provider
from models.tasks.lesion import members as ensembles
from models.tasks.lesion import networks
from models.tasks.lesion import recipe as recipes
from models.tasks.lesion.export import export
from models.tasks.lesion.members import Members
from models.tasks.lesion.recipe import Recipe
from models.tasks.lesion.settings import RELEASED

SHAPE = (182, 218, 182)
"""Voxels of 1 mm: the MNI grid."""
FULL = "full size, random weights"
MEMBERS = 5
LESION_SHARE = 0.002
"""Of voxels that random weights call lesion."""


def opened(name: str, *, provider: Provider = "cpu", threads: int = 1) -> tuple[Members, Recipe]:
    """The members and recipe of an artefact's folder, or of ``FULL``."""
    if name != FULL:
        artefact = read(Path(name))
        return ensembles.members(artefact, provider=provider, threads=threads), recipes.read(artefact)
    graphs = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(MEMBERS):
            path = Path(folder) / f"{seed}.onnx"
            path.write_bytes(_full(seed))
            graphs.append(OnnxGraph(path, provider=provider, threads=threads))
    return Members(graphs), Recipe()


def _full(seed: int) -> bytes:
    recipe = Recipe()
    torch.manual_seed(seed)
    member = networks.Plain(networks.folded(networks.network(RELEASED, recipe.window[0]))).eval()
    with torch.no_grad():  # few voxels are lesions, as in heads
        said = member(torch.randn(1, len(recipe.channels), *recipe.window))
        last = [parameter for name, parameter in member.named_parameters() if name.endswith("bias")][-1]
        last -= torch.quantile(said.flatten()[::7], 1 - LESION_SHARE)
    return export(member, len(recipe.channels), recipe.window)


def scan_file() -> bytes:
    """A head of noise, brighter where lesions may be, as a NIfTI file."""
    draw = np.random.default_rng(0)
    places = np.indices(SHAPE, np.float32) / np.array(SHAPE, np.float32)[:, None, None, None] - 0.5
    inside = (places**2).sum(axis=0) < 0.16
    values = np.where(inside, 100 + 10 * draw.standard_normal(SHAPE, np.float32), 0).astype(np.float32)
    return nifti.write(values, np.diag([1.0, 1.0, 1.0, 1.0]))
