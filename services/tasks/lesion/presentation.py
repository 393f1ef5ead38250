"""Decided scans as records of ``services.tasks.lesion.answer``, for all protocols."""

from collections.abc import Mapping
from typing import Any

from models.tasks.lesion.inference.burden import Interval
from models.tasks.lesion.inference.lesions import Lesion
from services.ledger.contract import Portion
from services.tasks.lesion.answer import HEAD, MM3_PER_ML
from services.tasks.lesion.task import ScanResult


def record(portion: Portion) -> dict[str, Any]:
    """Return the record of a scan, without its files."""
    return {
        "model": portion.model,
        "profile": portion.profile,
        "purpose": portion.purpose,
        "recorded": portion.recorded,
        "name": portion.payload.name,
        "answer": scan(portion),
    }


def scan(portion: Portion) -> dict[str, Any]:
    """Return the figures of a scan; only decision and warnings if the policy withholds predictions."""
    payload: ScanResult = portion.payload
    segmentation = payload.segmentation
    known = {
        "deferral": (portion, HEAD, 0),
        "remarks": [vars(warning) for warning in segmentation.remarks],
    }
    if hidden(portion):
        return known
    burden, means = segmentation.burden, segmentation.means
    return known | {
        "count": round(burden.count.value),
        "count_interval": _interval(burden.count_interval),
        "volume_mm3": burden.volume_ml.value * MM3_PER_ML,
        "volume_interval": _interval(burden.volume_ml_interval, MM3_PER_ML),
        "total": means.total,
        "data": means.data,
        "knowledge": means.knowledge,
        "rmi": means.rmi,
        "structural": segmentation.structural,
        "lesions": [_lesion(label, lesion) for label, lesion in enumerate(segmentation.lesions, 1)],
        "brain_ml": segmentation.brain_ml,
        "resampled": segmentation.resampled,
        "look_at_voxels": segmentation.look_at_voxels,
    }


def files(portion: Portion) -> Mapping[str, bytes]:
    """Return the gzipped NIfTI file of each map by its name; none if the policy withholds the prediction."""
    payload: ScanResult = portion.payload
    return {} if hidden(portion) else payload.files


def hidden(portion: Portion) -> bool:
    """Return whether the policy withholds the prediction."""
    return bool(portion.verdicts[HEAD].hidden[0])


def _lesion(label: int, lesion: Lesion) -> dict[str, Any]:
    return {"label": label} | vars(lesion)


def _interval(interval: Interval | None, scale: float = 1.0) -> dict[str, Any] | None:
    if interval is None:
        return None
    return {"level": interval.level, "lower": interval.lower * scale, "upper": interval.upper * scale}
