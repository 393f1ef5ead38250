"""Result of segmenting a scan: volumes on its own grid, lesions, and the statistics that decisions use."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.imaging.nifti import Affine
from models.input_warning import InputWarning
from models.predictive import Volumes
from models.tasks.lesion.inference.burden import Burden
from models.tasks.lesion.inference.lesions import Lesion

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Means:
    """Mean uncertainties of the brain's voxels, nats; a single member has only ``total``."""

    total: float
    data: float | None = None
    knowledge: float | None = None
    rmi: float | None = None


@dataclass(frozen=True)
class Segmentation:
    """Result for a scan; volumes [x, y, z] are on the scan's own grid."""

    affine: Affine
    space: int
    mask: Mask
    maps: Mapping[str, NDArray[Any]]
    """Maps by name: ``probability``, ``total``; for ensembles ``data``, ``knowledge`` and ``rmi`` (float32, nats, 0
    outside the brain); if the recipe gives advice, ``advice`` (uint8, 1: review this voxel).
    """
    lesions: tuple[Lesion, ...]
    """Lesions, largest first."""
    burden: Burden
    means: Means
    structural: float | None
    """One minus the mean Dice of the members with the ensemble's mask, 0 to 1; None for a single model."""
    look_at_voxels: float | None
    """Share of the brain's voxels that are marked for review; None without advice."""
    brain_ml: float
    resampled: bool
    """True if the image was interpolated for the networks."""
    appearance: Mapping[str, float]
    remarks: tuple[InputWarning, ...]

    @property
    def impossible(self) -> bool:
        """True if the lesion volume exceeds the brain's; intervals of ln(1 + volume) are centred at the volume."""
        return self.burden.volume_ml.value > self.brain_ml

    def predictive(self) -> Volumes:
        """Return the statistics of one unit, without the probabilities, which are large and not needed."""
        means = self.means
        data, epkl = means.data, None
        if means.rmi is not None and data is not None:
            epkl = means.rmi + means.total - data
        return Volumes(
            probability=(),
            mask=[self.mask],
            entropy=np.array([means.total], np.float32),
            expected_entropy=None if data is None else np.array([data], np.float32),
            epkl=None if epkl is None else np.array([epkl], np.float32),
            structural=None if self.structural is None else np.array([self.structural], np.float32),
            affines=[self.affine],
        )
