"""Real scans of multiple sclerosis that figures may be made of: from Ljubljana, defaced by their authors, CC BY.

They lie in ``lesion`` of DEMUR_TEST_DATA (default: ../shared/data beside the repository) and are never copied into the
repository; slices of them that are drawn name their authors.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.imaging import nifti
from models.tasks.lesion.artefact.recipe import Channel
from models.tasks.lesion.data.image import Scan, read_scan

ROOT = Path(__file__).resolve().parents[2]
ATTRIBUTION = (
    "Images: Ž. Lesjak, F. Pernuš, B. Likar, Ž. Špiclin, University of Ljubljana, CC BY; Neuroinformatics 2017, "
    "10.1007/s12021-017-9348-7 (cross-sectional) and 2016 (longitudinal)."
)


@dataclass(frozen=True)
class Real:
    """A scan and its files."""

    name: str
    flair: Path
    t1: Path | None
    truth: Path | None
    """Consensus of several raters; None for raw clinical scans."""

    def read(self, channels: tuple[Channel, ...]) -> Scan | None:
        """As a request without a brain mask; None where a channel is not there.

        Raises:
            BadImage: a file is no such image.
        """
        files = {"flair": self.flair, "t1": self.t1}
        if any(files[name] is None for name in channels):
            return None
        return read_scan(
            {name: path.read_bytes() for name, path in files.items() if path and name in channels}, channels
        )

    def lesions(self) -> NDArray[np.bool_] | None:
        """Where lesions are on the scan's grid."""
        return None if self.truth is None else np.asarray(nifti.read(self.truth.read_bytes()).values == 1)


def folder() -> Path:
    """Where the scans are.

    Raises:
        LookupError: they are not there.
    """
    path = Path(os.environ.get("DEMUR_TEST_DATA", ROOT.parent / "shared" / "data")) / "lesion"
    if not path.is_dir():
        raise LookupError(f"no real scans at {path}; set DEMUR_TEST_DATA to the folder that has a folder 'lesion'")
    return path


def scans(source: Path) -> tuple[Real, ...]:
    """Those with lesion masks, then raw clinical ones."""
    found = []
    for place in sorted((source / "ljubljana_cross_sectional").glob("patient*")):
        files = (place / name for name in ("FLAIR.nii.gz", "T1.nii.gz", "lesion_mask.nii.gz"))
        found.append(Real(place.name, *files))
    for place in sorted((source / "ljubljana_longitudinal_raw").glob("patient*")):
        for flair in sorted(place.glob("*_FLAIR.nii.gz")):
            study = flair.name.removesuffix("_FLAIR.nii.gz")
            t1 = place / f"{study}_T1W.nii.gz"
            found.append(Real(f"raw {place.name} {study}", flair, t1 if t1.exists() else None, None))
    return tuple(found)
