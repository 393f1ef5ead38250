"""Reader of predicted segmentations with voxel uncertainties for ``demur evaluate``; a unit is a scan."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.assessment import segmentation, segmentation_retention
from models.assessment.convention import Convention
from models.assessment.figures import Rules
from models.evaluation.unit_errors import BadFile, ErrorColumn, ErrorOptions, Mask, UnitErrors, ordered
from models.tasks.lesion.data import scans, volumes
from models.tasks.lesion.data.scans import Scan
from models.uncertainty.voxels import scan_structural_uncertainty

OPTIONS = frozenset({"ground_truth"})
"""Options of ``ErrorOptions`` that apply besides error, limit, groups and convention."""

SCORES = ("ndsc", "dice", "lesion_f1")
STRUCTURAL = "scan_structural_uncertainty"


@dataclass(frozen=True)
class ScanFigures:
    """Scores and measures of one scan, without its volumes."""

    scores: dict[str, float]
    voxel_r_aac: float
    measures: dict[str, float]
    thresholded: bool
    """True if the segmentation was thresholded here from probabilities."""
    isotropic: bool
    aligned: bool
    """True if prediction and ground truth have the same affine."""
    digest: bytes
    """Hash of the ground truth."""


def read(path: Path, options: ErrorOptions) -> UnitErrors:
    """Read a folder of official file names (``scans``); the companion ``ground_truth`` may hold truths and brain masks.

    Errors are 1 - score over the whole volume. Measures are means of a voxel uncertainty over the brain mask, or over
    the volume if there is no mask; if there are members' probabilities, the scan's structural uncertainty comes first.
    ``voxel_r_aac`` ranks the same voxels by the first voxel uncertainty (RMI if present).

    Raises:
        BadFile: the message names the file.
    """
    companion = options.companions.get("ground_truth")
    predicted = scans.find(path, None if companion is None else Path(companion))
    predicted, judged, left_out = _with_ndsc(predicted, [_judge(scan, options.convention) for scan in predicted.scans])
    figures = {name: np.array([row.scores[name] for row in judged]) for name in SCORES}
    columns = {f"{name}_error": ErrorColumn(1 - values, "1", None) for name, values in figures.items()}
    figures["voxel_r_aac"] = np.array([row.voxel_r_aac for row in judged])

    def own(mask: Mask | None) -> dict[str, float]:
        part = slice(None) if mask is None else mask
        exist = {name: values[part][np.isfinite(values[part])] for name, values in figures.items()}
        means = {name: float(np.mean(values)) if len(values) else math.nan for name, values in exist.items()}
        return means | {f"{name}_sd": float(np.std(exist[name])) if len(exist[name]) else math.nan for name in figures}

    known = [scan.shifted for scan in predicted.scans]
    return UnitErrors(
        task="lesion",
        source=str(path),
        errors=ordered(options, columns, str(path)),
        measures={name: np.array([row.measures[name] for row in judged]) for name in judged[0].measures},
        shifted=None if None in known else np.array(known, bool),
        groups={"folder": np.array([scan.folder for scan in predicted.scans])},
        rules=Rules(options.convention),
        own=own,
        own_units={name: "1" for score in figures for name in (score, f"{score}_sd")},
        members=len(predicted.scans[0].members) or None,
        labels=hashlib.sha256(b"".join(row.digest for row in judged)).hexdigest(),
        notes=left_out + _notes(predicted, judged),
    )


def _with_ndsc(
    predicted: scans.Scans, judged: list[ScanFigures]
) -> tuple[scans.Scans, list[ScanFigures], tuple[str, ...]]:
    """Return the scans whose nDSC exists, and a note about the others: a truth of only lesion voxels has no nDSC."""
    kept = [place for place, row in enumerate(judged) if math.isfinite(row.scores["ndsc"])]
    if len(kept) == len(judged):
        return predicted, judged, ()
    lost = [scan for place, scan in enumerate(predicted.scans) if place not in kept]
    if not kept:
        raise BadFile(f"{lost[0].truth} marks every voxel as lesion: it has no nDSC, and no other scan is there")
    note = f"{', '.join(scan.id for scan in lost[:5])}: every voxel is lesion, so that no nDSC exists; left out"
    return (
        replace(predicted, scans=tuple(predicted.scans[place] for place in kept)),
        [judged[place] for place in kept],
        (note,),
    )


def _judge(scan: Scan, convention: Convention) -> ScanFigures:
    """Read and score one scan; memory is a few volumes, independent of the number of members and measures."""
    truth, lesions = volumes.mask(scan.truth)
    if scan.segmentation is not None:
        volume, predicted = volumes.mask(scan.segmentation, truth)
    else:
        assert scan.probability is not None
        volume, predicted = volumes.segmentation(scan.probability, truth)
    brain = _brain(scan, truth)
    measures: dict[str, float] = {}
    if scan.members:
        measures[STRUCTURAL] = _structural(scan, predicted, truth)
    area = float("nan")
    for number, (name, path) in enumerate(scan.maps.items()):
        values = _uncertainty(path, truth, brain)
        measures[f"mean_{name}"] = float(np.mean(values[brain], dtype=np.float64))
        if number == 0:
            curve = segmentation_retention.voxel_curve(lesions, predicted, values, brain, convention=convention)
            area = segmentation_retention.voxel_r_aac(curve)
    return ScanFigures(
        scores={
            "ndsc": segmentation.ndsc(lesions, predicted, convention=convention),
            "dice": segmentation.dice(lesions, predicted),
            "lesion_f1": segmentation.lesion_f1(lesions, predicted, convention=convention),
        },
        voxel_r_aac=area,
        measures=measures,
        thresholded=scan.segmentation is None,
        isotropic=truth.is_isotropic,
        aligned=volume.lies_as(truth),
        digest=hashlib.sha256(f"{scan.id} {lesions.shape}".encode() + np.packbits(lesions).tobytes()).digest(),
    )


def _brain(scan: Scan, truth: volumes.Volume) -> Mask:
    if scan.mask is None:
        return np.ones(truth.values.shape, bool)
    _, brain = volumes.mask(scan.mask, truth)
    if not brain.any():
        raise BadFile(f"{scan.mask} is empty; a brain mask is 1 where the brain is")
    return brain


def _structural(scan: Scan, predicted: Mask, truth: volumes.Volume) -> float:
    """Return the structural uncertainty of the members' segmentations, thresholded as the ensemble's."""
    if len(scan.members) < 2:
        raise BadFile(f"{scan.members[0]} is the only member of its scan; structural uncertainty needs two")
    masks = [volumes.segmentation(path, truth)[1] for path in scan.members]
    return scan_structural_uncertainty(predicted, masks)


def _uncertainty(path: Path, truth: volumes.Volume, brain: Mask) -> NDArray[np.floating]:
    values = volumes.read(path, truth).values
    if wrong := int(np.count_nonzero(~np.isfinite(values[brain]))):
        raise BadFile(f"{path} is not finite in {wrong} voxels of the brain; an uncertainty is a finite number")
    return values if values.dtype.kind == "f" else values.astype(np.float32)


def _notes(predicted: scans.Scans, judged: Sequence[ScanFigures]) -> tuple[str, ...]:
    def of(what: list[bool]) -> str:
        ids = [scan.id for scan, true in zip(predicted.scans, what, strict=True) if true]
        more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
        return f"{', '.join(ids[:5])}{more}" if len(ids) < len(judged) or len(ids) == 1 else "all scans"

    remarks = {
        f"segmented here of probabilities from {volumes.THRESHOLD}, components of at most "
        f"{segmentation.SMALL_VOXELS} voxels dropped": [row.thresholded for row in judged],
        "no brain mask, so measures and voxel_r_aac are of the whole volume": [
            scan.mask is None for scan in predicted.scans
        ],
        "lesions fill the voxels that voxel_r_aac is about, so that the scan has none": [
            math.isnan(row.voxel_r_aac) for row in judged
        ],
        "voxels are not of 1 mm; lesions are counted in voxels": [not row.isotropic for row in judged],
        "prediction and ground truth have different affines; voxels are compared by index": [
            not row.aligned for row in judged
        ],
    }
    known = [scan.shifted is None for scan in predicted.scans]
    if any(known) and not all(known):
        remarks["no folder says whether shifted, so no scan counts as either"] = known
    notes = tuple(f"{text}: {of(which)}" for text, which in remarks.items() if any(which))
    if predicted.unpredicted:
        few = ", ".join(predicted.unpredicted[:5])
        notes += (f"{len(predicted.unpredicted)} ground truths have no prediction and are left out: {few}",)
    return notes
