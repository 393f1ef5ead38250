"""Scans over the Open Inference Protocol: NIfTI files in; mask and maps as arrays on the scan's grid, and figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.inference.segmentation import Segmentation
from models.tasks.lesion.spec import LESIONS
from services.ledger.contract import Portion
from services.tasks.lesion import words
from services.tasks.lesion.task import Found, ScanRequest, offered
from services.transport.binding import Given, OipBinding, TensorSpec, Told
from services.transport.oip.decided import decided, decided_specs, parameters, remarks, remarks_spec
from services.transport.oip.wishes import text

_FILE = "NIfTI-1 or NIfTI-2 file, plain or gzipped"
_GRID = "on the grid of the scan, x, y, z"
_VOLUMES = {
    "mask": TensorSpec("mask", "UINT8", (-1, -1, -1), "", f"1: lesion, {_GRID}; empty where the policy withholds it"),
    "probability": TensorSpec("probability_map", "FP32", (-1, -1, -1), "", f"of lesion, {_GRID}", default=False),
    "total": TensorSpec("total_map", "FP32", (-1, -1, -1), "nats", f"entropy, {_GRID}", default=False),
    "data": TensorSpec("data_map", "FP32", (-1, -1, -1), "nats", f"mean entropy of members, {_GRID}", default=False),
    "knowledge": TensorSpec(
        "knowledge_map", "FP32", (-1, -1, -1), "nats", f"mutual information, {_GRID}", default=False
    ),
    "rmi": TensorSpec("rmi_map", "FP32", (-1, -1, -1), "nats", f"reverse mutual information, {_GRID}", default=False),
    "advice": TensorSpec("advice_map", "UINT8", (-1, -1, -1), "", f"1: look at this voxel, {_GRID}", default=False),
}
_SCALARS = {
    "total": ("nats", "mean entropy over the brain"),
    "data": ("nats", "mean of the members' entropies over the brain"),
    "knowledge": ("nats", "mean mutual information over the brain"),
    "rmi": ("nats", "mean reverse mutual information over the brain"),
    "structural": ("", "one minus the members' mean Dice with the mask"),
    "volume": ("mm³", "of all lesions"),
    "brain_volume": ("ml", "of the brain as used"),
    "look_at_voxels": ("", "share of brain voxels that are worth looking at"),
}
_FACTS = {"volume": "volume_mm3", "brain_volume": "brain_ml"}
"""What scalars are called elsewhere, where that is another name."""
_OF_ENSEMBLES = ("data", "knowledge", "rmi", "structural", "lesion_structural")
_INTERVALS = {"count_interval": "lesions", "volume_interval": "mm³"}
_LESIONS = (
    TensorSpec("lesion_volumes", "FP32", (-1,), "mm³", "of each lesion, largest first"),
    TensorSpec("lesion_centroids", "FP64", (-1, 3), "mm", "x, y, z by the affine"),
    TensorSpec("lesion_probabilities", "FP32", (-1,), "", "mean over the lesion's voxels"),
    TensorSpec("lesion_structural", "FP32", (-1,), "", "structural uncertainty"),
    TensorSpec("lesion_look_at", "INT8", (-1,), "", "1: look at it, 0: trust it, -1: no advice"),
)


def binding(recipe: Recipe, *, ensemble: bool) -> OipBinding:
    """``ensemble``: whether there are several members, so that uncertainty has parts."""
    volumes = [_VOLUMES[name] for name in offered(recipe, ensemble=ensemble)]
    scalars = [TensorSpec(name, "FP32", (1,), unit, told) for name, (unit, told) in _SCALARS.items()]
    intervals = [TensorSpec(name, "FP32", (2,), unit, "90 %, lower and upper") for name, unit in _INTERVALS.items()]
    outputs = (
        *volumes,
        TensorSpec("affine", "FP64", (4, 4), "mm", "from indices of voxels to millimetres, as in the file"),
        TensorSpec("lesion_count", "INT32", (1,), "lesions", "-1 where the policy withholds it"),
        *intervals,
        *scalars,
        *_LESIONS,
        *decided_specs(item="scan"),
        remarks_spec("looks_raw, thick_slices, bias_field, noisy and others"),
    )
    absent = () if ensemble else _OF_ENSEMBLES
    return OipBinding(
        inputs=tuple(
            TensorSpec(name, "BYTES", (1,), "", told, optional=name != "flair")
            for name, told in (
                ("flair", f"FLAIR image, {_FILE}"),
                ("t1", f"T1-weighted image on the grid of flair, {_FILE}; where the model wants it"),
                ("brain_mask", f"where the brain is, 0 and 1 on the grid of flair, {_FILE}"),
            )
        ),
        outputs=tuple(spec for spec in outputs if spec.name not in absent),
        read=read,
        answer=answer,
        parameters={"name": "the caller's own name of the scan, answered as it came; never stored"},
        files=True,
    )


def read(given: Given) -> ScanRequest:
    """
    Raises:
        InvalidInput: a name that is no text.
    """
    files = {name: bytes(values[0]) for name, values in given.tensors.items()}
    maps = tuple(name for name, spec in _VOLUMES.items() if spec.name in given.wanted)
    name = text("name", given.parameters.get("name", ""))
    return ScanRequest(
        files["flair"], files.get("t1", b""), files.get("brain_mask", b""), maps or ("mask",), name, arrays=True
    )


def answer(answers: list[Portion], wanted: frozenset[str]) -> Told:
    """Volumes and figures of a scan; NaN, -1 and nothing where the policy withholds them."""
    (portion,) = answers
    found: Found = portion.payload
    one = found.segmentation
    hidden = words.hidden(portion)
    empty = np.empty((0, 0, 0), np.float32)
    volumes = {
        _VOLUMES[name].name: empty.astype(values.dtype) if hidden else values for name, values in found.arrays.items()
    }
    facts = words.facts(portion)
    tensors = {
        **volumes,
        "affine": np.asarray(one.affine, np.float64),
        "lesion_count": np.array([facts.get("count", -1)], np.int32),
        **{name: _interval(facts.get(name)) for name in _INTERVALS},
        **{name: np.array([facts.get(_FACTS.get(name, name), np.nan)], np.float32) for name in _SCALARS},
        **_lesions(one, hidden=hidden),
        **decided([portion], LESIONS.name),
        "remarks": remarks([one.remarks]),
    }
    told = parameters([portion], (LESIONS.name,)) | {"resampled": one.resampled}
    return Told(tensors, told | ({"name": found.name} if found.name else {}))


def _lesions(one: Segmentation, *, hidden: bool) -> dict[str, NDArray[Any]]:
    lesions = () if hidden else one.lesions
    advice = [-1 if lesion.look_at is None else int(lesion.look_at) for lesion in lesions]
    structural = [np.nan if (u := lesion.structural_uncertainty) is None else u for lesion in lesions]
    return {
        "lesion_volumes": np.array([lesion.volume_mm3 for lesion in lesions], np.float32),
        "lesion_centroids": np.array([lesion.centroid_mm for lesion in lesions], np.float64).reshape(-1, 3),
        "lesion_probabilities": np.array([lesion.mean_probability for lesion in lesions], np.float32),
        "lesion_structural": np.array(structural, np.float32),
        "lesion_look_at": np.array(advice, np.int8),
    }


def _interval(told: Mapping[str, float] | None) -> NDArray[np.float32]:
    return np.array([np.nan, np.nan] if told is None else [told["lower"], told["upper"]], np.float32)
