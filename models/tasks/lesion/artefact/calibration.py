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
class ComparedScan:
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


def compare(scan: Scan, truth: Mask, prediction: Segmentation) -> ComparedScan:
    """Compare a segmentation with its truth, both on the scan's grid [x, y, z]."""
    brain = scan.brain
    doubts = prediction.maps.get("rmi", prediction.maps["total"])
    curve = segmentation_retention.voxel_curve(truth, prediction.mask, doubts, brain)
    return ComparedScan(
        scores={
            "ndsc": segmentation.ndsc(truth, prediction.mask),
            "dice": segmentation.dice(truth, prediction.mask),
            "lesion_f1": segmentation.lesion_f1(truth, prediction.mask),
            "voxel_r_aac": segmentation_retention.voxel_r_aac(curve),
        },
        predictive=replace(prediction.predictive(), probability=(), mask=()),
        burden=prediction.burden,
        true_count=listed(truth).count,
        true_ml=float(np.count_nonzero(truth)) * scan.voxel_mm3 / 1000,
        appearance=dict(prediction.appearance),
        brain_voxels=int(np.count_nonzero(brain)),
        wrong_voxels=int(np.count_nonzero((truth != prediction.mask) & brain)),
        voxel_doubts=np.asarray(doubts[brain][::STRIDE], np.float32),
        lesion_doubts=_lesion_doubts(prediction),
        lesion_wrong=_lesion_wrong(truth, prediction),
    )


def factor(served: Sequence[ComparedScan], other: Sequence[ComparedScan], *, ensemble: bool) -> float:
    """Return the median ratio of the served ensemble's uncertainty to another ensemble's on the same scans.

    Neither ensemble was trained on these scans. Return 1 without scans, or if the median is 0.
    """
    ratios = [
        _own(scan, ensemble=ensemble) / own
        for scan, two in zip(served, other, strict=True)
        if (own := _own(two, ensemble=ensemble)) > 0
    ]
    return float(np.median(ratios)) or 1.0 if ratios else 1.0


def levelled(scans: Sequence[ComparedScan], by: float, *, ensemble: bool) -> list[ComparedScan]:
    """Return the scans with the head's own uncertainty multiplied by ``by``; all else is unchanged."""
    name = _OWN[ensemble]
    return [
        replace(scan, predictive=replace(scan.predictive, **{name: np.float32(by) * getattr(scan.predictive, name)}))
        for scan in scans
    ]


def _own(scan: ComparedScan, *, ensemble: bool) -> float:
    return float(getattr(scan.predictive, _OWN[ensemble])[0])


def calibration(scans: Sequence[ComparedScan], *, ensemble: bool) -> Calibration:
    """Return the head's calibration: retention and expected error (1 - nDSC) by all measures, in-domain references."""
    measures = MEASURES[ensemble]
    own = LESIONS.own_measure(ensemble)
    errors = 1 - np.array([scan.scores["ndsc"] for scan in scans])
    return building.calibrate_errors(
        LESIONS,
        _joined([scan.predictive for scan in scans]),
        errors,
        ensemble=ensemble,
        reference=(own, *(name for name in measures if name != own)),
        others=tuple(name for name in measures if name != own),
    )


def filled(recipe: Recipe, scans: Sequence[ComparedScan]) -> Recipe:
    """Return the recipe with its fields that depend on in-domain scans filled in."""
    return msgspec.structs.replace(
        recipe,
        typical=building.typical([scan.appearance for scan in scans]),
        volume=burden.fit([scan.burden.volume_ml for scan in scans], [scan.true_ml for scan in scans]),
        count=burden.fit([scan.burden.count for scan in scans], [float(scan.true_count) for scan in scans]),
        voxel_trust=voxel_trust(scans),
        lesion_trust=lesion_trust(scans),
    )


def voxel_trust(scans: Sequence[ComparedScan]) -> float:
    """Return the uncertainty that is exceeded by as many voxels as are wrong, over all brains together.

    It is the quantile q(1 - wrong / voxels) of the uncertainty: a reviewer who knew the wrong voxels would look at as
    many.
    """
    wrong, voxels = sum(scan.wrong_voxels for scan in scans), sum(scan.brain_voxels for scan in scans)
    doubts = np.concatenate([scan.voxel_doubts for scan in scans])
    return building.significant(np.quantile(doubts, 1 - wrong / voxels))


def lesion_trust(scans: Sequence[ComparedScan]) -> float | None:
    """Return the same quantile for predicted lesions, None without lesions.

    A lesion without a voxel of a true lesion is wrong.
    """
    doubts = np.concatenate([scan.lesion_doubts for scan in scans])
    wrong = np.concatenate([scan.lesion_wrong for scan in scans])
    return building.significant(np.quantile(doubts, 1 - wrong.mean())) if len(doubts) else None


def quality(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the number of scans, mean scores, and the standard error of the mean nDSC; four significant digits.

    Scores that a scan does not have are left out of their mean; a standard error needs two scans.
    """
    figures = {"scans": float(len(scores))}
    for name in scores[0]:
        values = np.array([row[name] for row in scores])
        known = values[np.isfinite(values)]
        figures[name] = building.significant(np.mean(known), 4) if len(known) else math.nan
        if name == "ndsc" and len(known) > 1:
            figures["ndsc_se"] = building.significant(np.std(known, ddof=1) / math.sqrt(len(known)), 2)
    return figures


def _lesion_doubts(prediction: Segmentation) -> NDArray[np.float64]:
    doubts = [
        1 - lesion.mean_probability if lesion.structural_uncertainty is None else lesion.structural_uncertainty
        for lesion in prediction.lesions
    ]
    return np.array(doubts, np.float64)


def _lesion_wrong(truth: Mask, prediction: Segmentation) -> Mask:
    """Return whether each lesion misses all true ones, in the order of the table; lesions are matched by centroid."""
    from scipy import ndimage

    if not prediction.lesions:
        return np.zeros(0, bool)
    labels = components(prediction.mask)
    numbers = np.arange(1, labels.max() + 1)
    hits = np.bincount(labels[truth], minlength=len(numbers) + 1)[1:]
    index = np.array(ndimage.center_of_mass(prediction.mask, labels, numbers))
    places = index @ prediction.affine[:3, :3].T + prediction.affine[:3, 3]
    apart = np.array([lesion.centroid_mm for lesion in prediction.lesions])[:, None] - places[None]
    return np.asarray(hits[(apart**2).sum(axis=2).argmin(axis=1)] == 0)


def _joined(units: Sequence[Volumes]) -> Volumes:
    """Join predictives of one unit each to one predictive, without volumes."""

    def column(name: str) -> NDArray[np.float32] | None:
        values = [getattr(unit, name) for unit in units]
        return None if values[0] is None else np.concatenate(values)

    entropy = column("entropy")
    assert entropy is not None
    return Volumes((), (), entropy, column("expected_entropy"), column("epkl"), column("structural"))
