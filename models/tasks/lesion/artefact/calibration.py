"""Calibration of an ensemble on labelled scans: the head's calibration, and the recipe's limits and intervals.

Each scan is segmented as in serving and compared with its lesions; only a few numbers and samples of it are kept.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from models import building
from models.assessment import segmentation, segmentation_retention
from models.assessment.components import components, listed
from models.calibration import Calibration
from models.predictive import Volumes
from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.data.image import Scan
from models.tasks.lesion.inference import burden
from models.tasks.lesion.inference.segmentation import Segmentation
from models.tasks.lesion.spec import LESIONS

Mask = NDArray[np.bool_]
Float32 = NDArray[np.float32]

STRIDE = 4
"""Step between the brain voxels that are sampled for quantiles."""
MEASURES = {True: ("entropy", "data_entropy", "mi", "epkl", "rmi"), False: ("entropy",)}
"""Means over the brain that a policy may defer by, beside the structural uncertainty; the key is True for ensembles."""

_OWN = {True: "structural", False: "entropy"}
"""Source of the head's own measure; the key is True for ensembles."""


@dataclass(frozen=True)
class Found:
    """A calibration scan that was segmented and compared with its truth."""

    scores: dict[str, float]
    """Scores by name: ``ndsc``, ``dice``, ``lesion_f1``, ``voxel_r_aac``."""
    predictive: Volumes
    """Predictive of one unit, without its volumes."""
    burden: burden.Burden
    true_count: int
    true_ml: float
    appearance: dict[str, float]
    brain_voxels: int
    wrong_voxels: int
    """Number of brain voxels that were misclassified: missed lesion and false lesion."""
    voxel_doubts: Float32
    """Uncertainty of every ``STRIDE``-th voxel of the brain, nats: rmi; for single models, entropy."""
    lesion_doubts: NDArray[np.float64]
    """Structural uncertainty of each predicted lesion, 0 to 1; for single models, one minus mean probability."""
    lesion_wrong: Mask
    """Mask of the predicted lesions that contain no voxel of a true lesion."""


def compare(scan: Scan, truth: Mask, said: Segmentation) -> Found:
    """Compare a segmentation with its truth, both on the scan's grid [x, y, z]."""
    brain = scan.brain
    doubts = said.maps.get("rmi", said.maps["total"])
    curve = segmentation_retention.voxel_curve(truth, said.mask, doubts, brain)
    return Found(
        scores={
            "ndsc": segmentation.ndsc(truth, said.mask),
            "dice": segmentation.dice(truth, said.mask),
            "lesion_f1": segmentation.lesion_f1(truth, said.mask),
            "voxel_r_aac": segmentation_retention.voxel_r_aac(curve),
        },
        predictive=replace(said.predictive(), probability=(), mask=()),
        burden=said.burden,
        true_count=listed(truth).count,
        true_ml=float(np.count_nonzero(truth)) * scan.voxel_mm3 / 1000,
        appearance=dict(said.appearance),
        brain_voxels=int(np.count_nonzero(brain)),
        wrong_voxels=int(np.count_nonzero((truth != said.mask) & brain)),
        voxel_doubts=np.asarray(doubts[brain][::STRIDE], np.float32),
        lesion_doubts=_lesion_doubts(said),
        lesion_wrong=_lesion_wrong(truth, said),
    )


def factor(served: Sequence[Found], other: Sequence[Found], *, ensemble: bool) -> float:
    """Return the median ratio of the served ensemble's uncertainty to another ensemble's on the same scans.

    Neither ensemble was trained on these scans. Return 1 without scans, or if the median is 0.
    """
    ratios = [
        _own(one, ensemble=ensemble) / own
        for one, two in zip(served, other, strict=True)
        if (own := _own(two, ensemble=ensemble)) > 0
    ]
    return float(np.median(ratios)) or 1.0 if ratios else 1.0


def levelled(found: Sequence[Found], by: float, *, ensemble: bool) -> list[Found]:
    """Return the scans with the head's own uncertainty multiplied by ``by``; all else is unchanged."""
    name = _OWN[ensemble]
    return [
        replace(one, predictive=replace(one.predictive, **{name: np.float32(by) * getattr(one.predictive, name)}))
        for one in found
    ]


def _own(one: Found, *, ensemble: bool) -> float:
    return float(getattr(one.predictive, _OWN[ensemble])[0])


def calibration(found: Sequence[Found], *, ensemble: bool) -> Calibration:
    """Return the head's calibration: retention and expected error (1 - nDSC) by all measures, in-domain references."""
    measures = MEASURES[ensemble]
    own = LESIONS.own_measure(ensemble)
    errors = 1 - np.array([one.scores["ndsc"] for one in found])
    return building.calibrate_errors(
        LESIONS,
        _joined([one.predictive for one in found]),
        errors,
        ensemble=ensemble,
        reference=(own, *(name for name in measures if name != own)),
        others=tuple(name for name in measures if name != own),
    )


def filled(recipe: Recipe, found: Sequence[Found]) -> Recipe:
    """Return the recipe with its fields that depend on in-domain scans filled in."""
    return msgspec.structs.replace(
        recipe,
        typical=building.typical([one.appearance for one in found]),
        volume=burden.fit([one.burden.volume_ml for one in found], [one.true_ml for one in found]),
        count=burden.fit([one.burden.count for one in found], [float(one.true_count) for one in found]),
        voxel_trust=voxel_trust(found),
        lesion_trust=lesion_trust(found),
    )


def voxel_trust(found: Sequence[Found]) -> float:
    """Return the uncertainty that is exceeded by as many voxels as are wrong, over all brains together.

    It is the quantile q(1 - wrong / voxels) of the uncertainty: a reviewer who knew the wrong voxels would look at as
    many.
    """
    wrong, voxels = sum(one.wrong_voxels for one in found), sum(one.brain_voxels for one in found)
    doubts = np.concatenate([one.voxel_doubts for one in found])
    return building.significant(np.quantile(doubts, 1 - wrong / voxels))


def lesion_trust(found: Sequence[Found]) -> float | None:
    """Return the same quantile for predicted lesions, None without lesions.

    A lesion without a voxel of a true lesion is wrong.
    """
    doubts = np.concatenate([one.lesion_doubts for one in found])
    wrong = np.concatenate([one.lesion_wrong for one in found])
    return building.significant(np.quantile(doubts, 1 - wrong.mean())) if len(doubts) else None


def quality(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the number of scans, mean scores, and the standard error of the mean nDSC; four significant digits.

    Scores that a scan does not have are left out of their mean; a standard error needs two scans.
    """
    found = {"scans": float(len(scores))}
    for name in scores[0]:
        values = np.array([one[name] for one in scores])
        known = values[np.isfinite(values)]
        found[name] = building.significant(np.mean(known), 4) if len(known) else math.nan
        if name == "ndsc" and len(known) > 1:
            found["ndsc_se"] = building.significant(np.std(known, ddof=1) / math.sqrt(len(known)), 2)
    return found


def _lesion_doubts(said: Segmentation) -> NDArray[np.float64]:
    doubts = [
        1 - one.mean_probability if one.structural_uncertainty is None else one.structural_uncertainty
        for one in said.lesions
    ]
    return np.array(doubts, np.float64)


def _lesion_wrong(truth: Mask, said: Segmentation) -> Mask:
    """Return whether each lesion misses all true ones, in the order of the table; lesions are matched by centroid."""
    from scipy import ndimage

    if not said.lesions:
        return np.zeros(0, bool)
    labels = components(said.mask)
    numbers = np.arange(1, labels.max() + 1)
    hits = np.bincount(labels[truth], minlength=len(numbers) + 1)[1:]
    index = np.array(ndimage.center_of_mass(said.mask, labels, numbers))
    places = index @ said.affine[:3, :3].T + said.affine[:3, 3]
    apart = np.array([one.centroid_mm for one in said.lesions])[:, None] - places[None]
    return np.asarray(hits[(apart**2).sum(axis=2).argmin(axis=1)] == 0)


def _joined(units: Sequence[Volumes]) -> Volumes:
    """Join predictives of one unit each to one predictive, without volumes."""

    def column(name: str) -> NDArray[np.float32] | None:
        values = [getattr(one, name) for one in units]
        return None if values[0] is None else np.concatenate(values)

    entropy = column("entropy")
    assert entropy is not None
    return Volumes((), (), entropy, column("expected_entropy"), column("epkl"), column("structural"))
