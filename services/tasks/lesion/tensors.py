"""Scans over the Open Inference Protocol: NIfTI files in; mask, maps and figures out, as arrays."""

import numpy as np

from models.tasks.lesion.artefact.recipe import Recipe
from services.ledger.contract import Portion
from services.tasks.lesion import presentation
from services.tasks.lesion.answer import AFFINE, HEAD, SCAN, VOLUMES
from services.tasks.lesion.request import INPUTS, NAME, ScanRequest
from services.tasks.lesion.task import ScanResult, offered
from services.transport.binding import OipBinding, TensorInputs, TensorOutputs, TensorSpec
from services.transport.oip.answer_tensors import TensorWriter, specs
from services.transport.oip.decided import decided, parameters
from services.transport.oip.request_parameters import text

_WRITE = TensorWriter(SCAN)


def binding(recipe: Recipe, *, ensemble: bool) -> OipBinding:
    """Return the OIP binding of scans.

    Args:
        ensemble: whether there are several members, so that uncertainty has parts.
    """
    has = ("ensemble",) if ensemble else ()
    fields = (*(VOLUMES[name] for name in offered(recipe, ensemble=ensemble)), AFFINE, *SCAN)
    return OipBinding(
        inputs=tuple(
            TensorSpec(name, "BYTES", (1,), "", description, optional=name != "flair")
            for name, description in INPUTS.items()
        ),
        outputs=tuple(specs(fields, repeated=False, unit="scan", has=has)),
        read=read,
        answer=answer,
        parameters={"name": NAME},
        files=True,
    )


def read(inputs: TensorInputs) -> ScanRequest:
    """Read a request from tensors.

    Raises:
        InvalidInput: the name is not a text.
    """
    files = {name: bytes(values[0]) for name, values in inputs.tensors.items()}
    maps = tuple(name for name, field in VOLUMES.items() if field.tensor_name in inputs.output_names)
    name = text("name", inputs.parameters.get("name", ""))
    return ScanRequest(
        files["flair"], files.get("t1", b""), files.get("brain_mask", b""), maps or ("mask",), name, arrays=True
    )


def answer(answers: list[Portion], output_names: frozenset[str]) -> TensorOutputs:
    """Return volumes and figures of a scan; empty, NaN or -1 if the policy withholds them."""
    (portion,) = answers
    payload: ScanResult = portion.payload
    segmentation = payload.segmentation
    empty = np.empty((0, 0, 0), np.float32)
    hidden = presentation.hidden(portion)
    volumes = {
        VOLUMES[name].tensor_name: empty.astype(values.dtype) if hidden else values
        for name, values in payload.arrays.items()
    }
    tensors = {
        **volumes,
        AFFINE.name: np.asarray(segmentation.affine, np.float64),
        **_WRITE([presentation.scan(portion)], output_names),
        **decided([portion], HEAD),
    }
    outputs = parameters([portion], (HEAD,)) | {"resampled": segmentation.resampled}
    return TensorOutputs(tensors, outputs | ({"name": payload.name} if payload.name else {}))
