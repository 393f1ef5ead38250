"""Writer of simulated scans in the official layout, lightly gzipped, with a provenance note."""

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import provenance
from models.evaluation.files import need
from models.tasks.lesion.data.official import NAMES
from models.workbench import Progress
from simulators.lesion import scan, template
from simulators.lesion.cohort import entries
from simulators.lesion.sites import SITES

SIMULATOR = "simulated by simulators/lesion of Demur from the ICBM 152 (2009a) tissue maps"

LICENCE = (
    "CC0-1.0; of the tissue maps: Copyright (C) 1993-2004 Louis Collins, McConnell Brain Imaging Centre, Montreal "
    "Neurological Institute, McGill University; use, copying, modification and distribution for any purpose and "
    "without fee permitted with this notice; no warranty"
)

_GZIP = 1


def simulate(
    root: Path,
    scale: float,
    seed: int,
    sites: tuple[str, ...] = tuple(SITES),
    progress: Progress | None = None,
    extra: Mapping[str, Mapping[str, int]] | None = None,
) -> list[Path]:
    """Write ``<root>/<site>/<split>/{flair,t1,gt,fg_mask}/<id>_….nii.gz``, scan by scan; see ``cohort.entries``.

    Files that exist already are drawn and written again.

    Returns:
        The written files.

    Raises:
        ValueError: as in ``cohort.entries``.
        ImportError: nilearn or nibabel is not installed.
    """
    scans = list(entries(scale, sites, extra))
    brain = template.load()
    written: list[Path] = []
    for done, entry in enumerate(scans):
        if progress is not None:
            progress(done / len(scans), entry.id)
        drawn = scan.draw(entry.rng(seed), brain, SITES[entry.site])
        volumes = {"flair": drawn.flair, "t1": drawn.t1, "gt": drawn.truth, "fg_mask": drawn.brain}
        folder = root / entry.site / entry.split
        written += [write(folder / kind / NAMES[kind].format(id=entry.id), volume) for kind, volume in volumes.items()]
    root.mkdir(parents=True, exist_ok=True)
    provenance.write(root, f"{SIMULATOR}, seed {seed}, scale {scale:g}", LICENCE)
    if progress is not None:
        progress(1.0, root.name)
    return written


def write(path: Path, values: NDArray[Any]) -> Path:
    """Write a volume [x, y, z] of the simulator's grid as gzipped NIfTI, float32 or uint8, and return its path."""
    nibabel = need("nibabel", "writing NIfTI")
    kind = np.uint8 if values.dtype == bool else np.float32
    image = nibabel.Nifti1Image(values.astype(kind), scan.AFFINE)
    image.header.set_xyzt_units("mm")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(image.to_bytes(), _GZIP, mtime=0))
    return path
