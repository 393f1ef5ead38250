"""Fields of an answer about a scan: its figures and lesions, and its volumes."""

from collections.abc import Mapping
from typing import Any

from models.tasks.lesion.spec import LESIONS
from services.transport.answer import DEFERRAL, ORIGIN_OF_ALL, AnswerField, input_warnings, records, text

HEAD = LESIONS.name
MM3_PER_ML = 1000.0
_ABSENT: Mapping[str, Any] = {"dtype": "float64", "datatype": "FP32", "missing": "absent"}
_OF_ENSEMBLES: Mapping[str, Any] = {**_ABSENT, "needs": "ensemble"}
_GRID = ("x", "y", "z")
_SHARE = {"minimum": 0, "maximum": 1}
_INTERVAL = (
    AnswerField("level", "Coverage.", dtype="float64", limits=_SHARE),
    AnswerField("lower", "In the unit of the figure.", dtype="float64"),
    AnswerField("upper", "In the unit of the figure.", dtype="float64"),
)


def _interval(name: str, unit: str) -> AnswerField:
    return AnswerField(
        name,
        "Interval of 90 %, lower and upper.",
        unit,
        "record",
        missing="absent",
        datatype="FP32",
        fields=_INTERVAL,
        pair=("lower", "upper"),
        title="Interval",
    )


LESION = (
    AnswerField("label", "From 1, largest first.", dtype="uint32", limits={"minimum": 1}, tensor=""),
    AnswerField(
        "volume_mm3", "Volume, the largest lesion first.", "mm³", "float64", tensor="lesion_volumes", datatype="FP32"
    ),
    AnswerField("centroid_mm", "x, y, z by the affine.", "mm", "float64", (3,), finite=True, tensor="lesion_centroids"),
    AnswerField(
        "mean_probability",
        "Mean over the lesion's voxels.",
        dtype="float64",
        tensor="lesion_probabilities",
        datatype="FP32",
    ),
    AnswerField(
        "structural_uncertainty",
        "One minus the members' mean IoU with it, 0 to 1; absent for single models.",
        tensor="lesion_structural",
        **_OF_ENSEMBLES,
    ),
    AnswerField(
        "look_at",
        "true: look at it; false: trust it; absent without advice. In tensors 1, 0 and -1.",
        dtype="bool",
        missing="absent",
        tensor="lesion_look_at",
        datatype="INT8",
        fill=-1,
    ),
)
SCAN = (
    AnswerField(
        "count",
        "Number of lesions; in tensors -1 where the policy withholds it.",
        dtype="uint32",
        missing="absent",
        tensor="lesion_count",
        datatype="INT32",
        fill=-1,
        unit="lesions",
    ),
    _interval("count_interval", "lesions"),
    _interval("volume_interval", "mm³"),
    AnswerField("total", "Mean entropy over the brain.", "nats", **_ABSENT),
    AnswerField("data", "Mean of the members' entropies over the brain.", "nats", **_OF_ENSEMBLES),
    AnswerField("knowledge", "Mean mutual information over the brain.", "nats", **_OF_ENSEMBLES),
    AnswerField("rmi", "Mean reverse mutual information over the brain.", "nats", **_OF_ENSEMBLES),
    AnswerField("structural", "One minus the members' mean Dice with the mask, 0 to 1.", **_OF_ENSEMBLES),
    AnswerField("volume_mm3", "Volume of all lesions.", "mm³", tensor="volume", **_ABSENT),
    AnswerField("brain_ml", "Volume of the brain as used.", "ml", tensor="brain_volume", **_ABSENT),
    AnswerField("look_at_voxels", "Share of brain voxels that are worth looking at, 0 to 1.", **_ABSENT),
    AnswerField(
        "resampled",
        "Whether the image was interpolated to voxels of 1 mm.",
        dtype="bool",
        missing="absent",
        tensor="",
    ),
    records("lesions", "Largest first.", LESION, missing="absent", title="Lesion"),
    DEFERRAL,
    input_warnings("looks_raw, thick_slices, bias_field, noisy"),
)
"""Fields of ``LesionAnswer``. If the policy withholds the prediction, only decision and warnings have values."""
ORIGINS = (*ORIGIN_OF_ALL, text("name", "The caller's own, echoed."))
ANSWER = (
    *ORIGINS,
    AnswerField("answer", dtype="record", fields=SCAN, flat=True, tensor=""),
    records(
        "files",
        "Gzipped NIfTI files.",
        (text("map", "Name of the volume."), AnswerField("content", dtype="bytes", tensor="")),
        json="",
    ),
)
VOLUMES = {
    field.name: field
    for field in (
        AnswerField(
            "mask", "1: lesion, on the grid of the scan; empty where the policy withholds it.", "", "uint8", _GRID
        ),
        AnswerField("probability", "Probability of lesion.", shape=_GRID, tensor="probability_map", default=False),
        AnswerField("total", "Entropy.", "nats", shape=_GRID, tensor="total_map", default=False),
        AnswerField("data", "Mean entropy of the members.", "nats", shape=_GRID, tensor="data_map", default=False),
        AnswerField("knowledge", "Mutual information.", "nats", shape=_GRID, tensor="knowledge_map", default=False),
        AnswerField("rmi", "Reverse mutual information.", "nats", shape=_GRID, tensor="rmi_map", default=False),
        AnswerField("advice", "1: look at this voxel.", "", "uint8", _GRID, tensor="advice_map", default=False),
    )
}
"""Volumes [x, y, z] on the grid of the scan by the name of their map; JSON and messages have them as files."""
AFFINE = AnswerField("affine", "From indices of voxels to millimetres, as in the file.", "mm", "float64", (4, 4))
