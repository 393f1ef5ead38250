"""A slow volume: one quantum a slice, progress between them, one answer with a mask as payload; a single model."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.calibration import Calibration, RetentionTable
from models.head import Head
from models.predictive import Gaussian
from services.ledger.contract import Portion
from services.policy.decision import Shift
from services.request.contract import Description, Done, Progress, Step, Units, Work
from services.runtime.errors import InvalidInput
from services.transport.binding import FormBinding, FormField, OipBinding, Options, TensorOutputs, TensorSpec
from services.transport.oip.decided import decided, decided_specs, parameters
from services.transport.served_model import Parts, ServedModel
from tests.contract.toys import wire
from tests.contract.toys.toy import STEP_SECONDS, Body, Probe, Refusal, Toy

BURDEN = Head("burden", "gaussian", "ml", "volume, ml", "squared_error", "ml²", None, "variance", "variance", None)
POISON = 66.0
"""An intensity on which the model raises."""


class Task:
    """Counts voxels above 50 slice by slice; the uncertainty is the share of voxels near 50."""

    name = "volume"
    heads = (BURDEN,)

    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    def expand(self, slices: list[Any]) -> Units[NDArray[np.float32]]:
        try:
            voxels = np.array(slices, np.float32)
        except (TypeError, ValueError) as error:
            raise InvalidInput("slices must be lists of numbers of one length", code="wrong_shape") from error
        wrong = np.argwhere((voxels < 0) | (voxels > 100))
        if len(wrong):
            value = float(voxels[tuple(wrong[0])])
            raise InvalidInput(
                f"an intensity of {value:g} in slice {wrong[0][0]} is outside 0 to 100",
                code="out_of_range",
                field="slices",
                value=f"{value:g}",
                unit="HU",
                allowed="[0, 100]",
                index=int(wrong[0][0]),
            )
        strange = np.nanmax(voxels, initial=0) > 90
        return Units(
            payload=voxels,
            count=1,
            seconds=STEP_SECONDS * len(voxels),
            nbytes=voxels.nbytes * 4,
            shifts=np.array([Shift.OUTSIDE_TRAINING_RANGE if strange else 0], np.uint8),
        )

    def run(self, units: Units[NDArray[np.float32]]) -> Work:
        voxels = units.payload
        masks: list[NDArray[np.bool_]] = []
        for index, plane in enumerate(voxels):
            masks.append((yield Step(lambda plane=plane: self._segment(plane), STEP_SECONDS)))
            yield Progress((index + 1) / len(voxels), "slices")
        mask = np.array(masks)
        near = np.where(np.isnan(voxels).any(), np.nan, (np.abs(voxels - 50) < 5).mean())
        statistics = Gaussian(np.array([mask.sum()], np.float32), np.array([near], np.float32))
        yield Done(0, 1, {"burden": statistics}, [mask.astype(int).tolist()])

    def collapse(self, units: Units[NDArray[np.float32]], portion: Portion) -> Portion:
        return portion

    def _segment(self, plane: NDArray[np.float32]) -> NDArray[np.bool_]:
        self._probe.quantum(float(plane[0]))
        if (plane == POISON).any():
            raise RuntimeError("secret text of the model")
        return plane > 50


def says(predictive: Any, index: int) -> Any:
    assert predictive.varm is None
    return float(predictive.mean[index])


def read(body: Any) -> tuple[list[Any], Options]:
    return _slices(body), wire.wishes(body, ("burden",))


def _slices(body: Any) -> list[Any]:
    return wire.must_be_body(body, "slices")


def read_form(fields: Mapping[str, bytes]) -> tuple[list[Any], Options]:
    wishes = {name: fields[name].decode() for name in ("purpose",) if name in fields}
    return read({"slices": wire.JSON.decode(fields["slices"]), **wishes})


def files(answers: list[Portion]) -> dict[str, bytes]:
    """The masks; none where the policy keeps predictions to itself."""
    return {
        f"mask-{number}.json": wire.JSON.encode(portion.payload)
        for number, portion in enumerate(answers)
        if not portion.verdicts["burden"].hidden.any()
    }


def tell(answers: list[Portion], output_names: frozenset[str]) -> TensorOutputs:
    """The volume, and its mask unless the policy hides it."""
    (portion,) = answers
    hidden = bool(portion.verdicts["burden"].hidden.any())
    mask = np.array(portion.payload[0], np.uint8)
    tensors = {
        "burden_says": np.where(hidden, np.nan, portion.predictives["burden"].mean).astype(np.float32),
        "mask": mask[:0] if hidden else mask,
        **decided([portion], "burden"),
    }
    return TensorOutputs(tensors, parameters([portion], ("burden",)))


OIP = OipBinding(
    inputs=(TensorSpec("slices", "FP32", (-1, -1), "HU", optional=False),),
    outputs=(
        TensorSpec("burden_says", "FP32", (1,), "ml"),
        TensorSpec("mask", "UINT8", (-1, -1), default=False),
        *decided_specs(item="volume"),
    ),
    read=lambda request: request.tensors["slices"],
    answer=tell,
)


def build(parts: Parts, probe: Probe) -> ServedModel:
    description = Description("volume", "toy-volume:1", None, (BURDEN,), 1)
    frames = wire.Frames(_slices, says, ("burden",), itemised=True)
    form = FormBinding(
        {"slices": FormField("slices as JSON", file=True, required=True), "purpose": FormField("why")}, read_form
    )
    return wire.tenant(parts.pipeline(Task(probe)), description, read, says, OIP, frames, form, files)


def volume(*slices: list[Any], **wishes: Any) -> Body:
    return {"slices": list(slices), **wishes}


TOY = Toy(
    name="volume",
    calibrations={"burden": Calibration(RetentionTable("variance", 400, (0.5, 0.95), (0.0, 0.3)), {})},
    build=build,
    good=volume([10, 60, 80], [10, 20, 80]),
    items=1,
    doubtful=volume([51, 49, 80], [50, 20, 80]),
    unknowable=volume([None, 1]),
    strange=volume([95, 1]),
    refusals=(
        Refusal(
            volume([1, 2], [3, 101]),
            {
                "code": "out_of_range",
                "field": "slices",
                "value": "101",
                "unit": "HU",
                "index": 1,
                "allowed": "[0, 100]",
            },
        ),
        Refusal(volume([1, 2], [3]), {"code": "wrong_shape"}),
    ),
    failing=volume([1, 2], [3, POISON]),
    fails_alone=False,
    slow=volume(*[[20.0 + index, 80.0] for index in range(20)]),
    quanta=20,
    good_quanta=2,
    strict={"burden": -0.1},
)
