"""What is said of a decided scan, in plain values: the fields of ``LesionAnswer``, for both protocols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.tasks.lesion.inference.burden import Interval
from models.tasks.lesion.inference.lesions import Lesion
from models.tasks.lesion.spec import LESIONS
from services.ledger.contract import Portion
from services.tasks.lesion.task import Found
from services.transport.http.single import remarked

Facts = dict[str, Any]
MM3_PER_ML = 1000.0


def facts(portion: Portion) -> Facts:
    """What was found, without values that do not exist; remarks only where the policy withholds predictions."""
    found: Found = portion.payload
    remarks = {"remarks": [remarked(remark) for remark in found.segmentation.remarks]}
    if hidden(portion):
        return remarks
    one = found.segmentation
    said: Facts = {
        "count": round(one.burden.count.value),
        "count_interval": _interval(one.burden.count_interval),
        "volume_mm3": one.burden.volume_ml.value * MM3_PER_ML,
        "volume_interval": _interval(one.burden.volume_ml_interval, MM3_PER_ML),
        "total": one.means.total,
        "data": one.means.data,
        "knowledge": one.means.knowledge,
        "rmi": one.means.rmi,
        "structural": one.structural,
        "lesions": [_lesion(label, lesion) for label, lesion in enumerate(one.lesions, 1)],
        "brain_ml": one.brain_ml,
        "resampled": one.resampled,
        "look_at_voxels": one.look_at_voxels,
    }
    return {name: value for name, value in said.items() if value is not None} | remarks


def files(portion: Portion) -> Mapping[str, bytes]:
    """Map name to its gzipped NIfTI file; none where the policy withholds the prediction."""
    found: Found = portion.payload
    return {} if hidden(portion) else found.files


def hidden(portion: Portion) -> bool:
    """Whether the policy keeps the prediction to itself."""
    return bool(portion.verdicts[LESIONS.name].hidden[0])


def _lesion(label: int, lesion: Lesion) -> Facts:
    said = {
        "label": label,
        "volume_mm3": lesion.volume_mm3,
        "centroid_mm": list(lesion.centroid_mm),
        "mean_probability": lesion.mean_probability,
        "structural_uncertainty": lesion.structural_uncertainty,
        "look_at": lesion.look_at,
    }
    return {name: value for name, value in said.items() if value is not None}


def _interval(found: Interval | None, scale: float = 1.0) -> Facts | None:
    if found is None:
        return None
    return {"level": found.level, "lower": found.lower * scale, "upper": found.upper * scale}
