"""Real scans, and an artefact's scores and decisions on them, offline."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import artefact as artefacts
from models.assessment import segmentation
from models.assessment.segmentation_retention import voxel_curve, voxel_r_aac
from models.imaging import nifti
from models.tasks.lesion.artefact import recipe
from models.tasks.lesion.artefact.recipe import Channel, Recipe
from models.tasks.lesion.data.image import Scan, read_scan
from models.tasks.lesion.inference import members
from models.tasks.lesion.inference.segment import Members, segment
from models.tasks.lesion.inference.segmentation import Segmentation
from models.tasks.lesion.pictures.slices import PLANES, View, bounds, crossing, upright
from models.tasks.lesion.spec import LESIONS
from services.policy.decision import Decision, Policy, Shift, Verdict, decide
from services.runtime.settings import TASK_DEFAULTS
from studies.served import default_policy

ATTRIBUTION = (
    "Images: Ž. Lesjak, F. Pernuš, B. Likar, Ž. Špiclin, University of Ljubljana, CC BY; Neuroinformatics 2017, "
    "10.1007/s12021-017-9348-7 (cross-sectional) and 2016 (longitudinal)."
)


@dataclass(frozen=True)
class Real:
    """Real scan with its files."""

    name: str
    flair: Path
    t1: Path | None
    truth: Path | None
    """Consensus of several raters; None for raw clinical scans."""

    def read(self, channels: tuple[Channel, ...]) -> Scan | None:
        """Read the scan as a request without a brain mask; None if a channel is missing.

        Raises:
            BadImage: a file is not a readable image.
        """
        files = {"flair": self.flair, "t1": self.t1}
        if any(files[name] is None for name in channels):
            return None
        return read_scan(
            {name: path.read_bytes() for name, path in files.items() if path and name in channels}, channels
        )

    def lesions(self) -> NDArray[np.bool_] | None:
        """Return the lesion mask on the scan's grid; None for raw clinical scans."""
        return None if self.truth is None else np.asarray(nifti.read(self.truth.read_bytes()).values == 1)


def scans(source: Path) -> tuple[Real, ...]:
    """Return scans with lesion masks, then raw clinical ones."""
    cases = []
    for place in sorted((source / "ljubljana_cross_sectional").glob("patient*")):
        files = (place / name for name in ("FLAIR.nii.gz", "T1.nii.gz", "lesion_mask.nii.gz"))
        cases.append(Real(place.name, *files))
    for place in sorted((source / "ljubljana_longitudinal_raw").glob("patient*")):
        for flair in sorted(place.glob("*_FLAIR.nii.gz")):
            study = flair.name.removesuffix("_FLAIR.nii.gz")
            t1 = place / f"{study}_T1W.nii.gz"
            cases.append(Real(f"raw {place.name} {study}", flair, t1 if t1.exists() else None, None))
    return tuple(cases)


Mask = NDArray[np.bool_]

AXIAL = PLANES[0]
WHY = {Shift.OUTSIDE_TRAINING_RANGE: "remarks", Shift.KNOWLEDGE_ABOVE_REFERENCE: "knowledge"}


@dataclass(frozen=True)
class Opened:
    """Loaded artefact."""

    name: str
    recipe: Recipe
    members: Members
    policy: Policy
    """Policy of a service with default settings."""


@dataclass(frozen=True)
class Panel:
    """Axial slice through the lesion with the largest uncertainty, [up, right]."""

    flair: NDArray[Any]
    prediction: Mask
    truth: Mask | None
    uncertainty: NDArray[np.float32]
    """Uncertainty, nats."""
    size_mm: tuple[float, float]
    """Width and height, mm."""
    window: tuple[float, float, float, float]
    """Extent of the head: left, right, lower and upper end, mm."""


@dataclass(frozen=True)
class Result:
    """Result of one scan."""

    name: str
    spacing: str
    said: Answer
    scores: dict[str, float] | None
    """Scores ``ndsc``, ``dice``, ``lesion_f1``, ``r_aac``, ``true_ml``; None without a ground truth."""
    panel: Panel
    seconds: float


@dataclass(frozen=True)
class Answer:
    """Result of a scan without its volumes."""

    uncertainty: float
    """Uncertainty of the scan, by the head's measure."""
    count: int
    volume_ml: float
    volume_interval: tuple[float, float] | None
    knowledge: float | None
    """Mean mutual information over the brain, nats."""
    remarks: tuple[str, ...]
    decision: str
    """Decision: ``answered``, or ``deferred`` with the reason, uncertainty or shift alone."""
    shifted: str
    """Reasons that the scan counts as shifted; empty if it does not."""


def opened(directory: Path) -> Opened:
    """Load an artefact.

    Raises:
        ArtefactError: it is damaged, or of another task.
    """
    artefact = artefacts.read(directory, "lesion")
    policy = default_policy(artefact, LESIONS, defer_on_shift=bool(TASK_DEFAULTS["lesion"]["defer_on_shift"]))
    return Opened(directory.name, recipe.read(artefact), members.members(artefact), policy)


def results(
    model: Opened, scans: Sequence[Real], threads: int, tell: Callable[[str], None] = lambda line: None
) -> list[Result]:
    """Return the results of all scans whose channels are present."""
    judged = []
    for real in scans:
        if (scan := real.read(model.recipe.channels)) is None:
            tell(f"{real.name} has no {' and '.join(model.recipe.channels)}: left out")
            continue
        started = time.perf_counter()
        segmented = segment(scan, model.members, model.recipe, threads)
        seconds = time.perf_counter() - started
        judged.append(_result(real, scan, segmented, model, seconds))
        tell(f"{model.name} {real.name}: {seconds:.0f} s")
    return judged


def _result(real: Real, scan: Scan, segmented: Segmentation, model: Opened, seconds: float) -> Result:
    truth = real.lesions()
    doubts = segmented.maps.get("rmi", segmented.maps["total"])
    odd = np.array([Shift.OUTSIDE_TRAINING_RANGE if segmented.remarks else 0], np.uint8)
    verdict = decide(model.policy, LESIONS, segmented.predictive(), odd)
    interval = segmented.burden.volume_ml_interval
    spacing = np.linalg.norm(segmented.affine[:3, :3], axis=0)
    return Result(
        name=real.name,
        spacing=" × ".join(f"{edge:.2g}" for edge in spacing),
        said=Answer(
            uncertainty=float(verdict.uncertainty[0]),
            count=len(segmented.lesions),
            volume_ml=segmented.burden.volume_ml.value,
            volume_interval=None if interval is None else (interval.lower, interval.upper),
            knowledge=segmented.means.knowledge,
            remarks=tuple(remark.code for remark in segmented.remarks),
            decision=_decision(verdict),
            shifted=", ".join(WHY[bit] for bit in WHY if verdict.shifts[0] & bit),
        ),
        scores=None if truth is None else _scores(truth, segmented, scan, doubts),
        panel=_panel(scan, segmented, truth, doubts),
        seconds=seconds,
    )


def _decision(verdict: Verdict) -> str:
    if verdict.decisions[0] != Decision.DEFER:
        return "answered"
    certain = verdict.uncertainty[0] <= verdict.policy.threshold
    return f"deferred: {'shift' if certain else 'uncertainty'}"


def _scores(truth: Mask, segmented: Segmentation, scan: Scan, doubts: NDArray[Any]) -> dict[str, float]:
    return {
        "ndsc": segmentation.ndsc(truth, segmented.mask),
        "dice": segmentation.dice(truth, segmented.mask),
        "lesion_f1": segmentation.lesion_f1(truth, segmented.mask),
        "r_aac": voxel_r_aac(voxel_curve(truth, segmented.mask, doubts, scan.brain)),
        "true_ml": float(np.count_nonzero(truth)) * scan.voxel_mm3 / 1000,
    }


def _panel(scan: Scan, segmented: Segmentation, truth: Mask | None, doubts: NDArray[Any]) -> Panel:
    volumes = {"flair": scan.channels[0], "prediction": segmented.mask, "uncertainty": doubts}
    if truth is not None:
        volumes["truth"] = truth
    view: View = upright(volumes, segmented.affine)
    index = crossing(view.volumes["prediction"], view.volumes["uncertainty"], view.volumes.get("truth"))[AXIAL.cut]

    def section(name: str) -> NDArray[Any]:
        return view.section(name, AXIAL, index).copy()

    return Panel(
        flair=section("flair"),
        prediction=section("prediction"),
        truth=None if truth is None else section("truth"),
        uncertainty=section("uncertainty"),
        size_mm=view.extent(AXIAL),
        window=view.window(AXIAL, bounds(view.volumes["flair"] != 0, 3 / view.spacing)),
    )
