"""An artefact whose members mark what is bright, the higher the member the pickier: known answers, without training."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from models.artefact import Artefact
from models.building import Provenance
from models.tasks.lesion.artefact.build import build
from models.tasks.lesion.artefact.ensemble import Ensemble
from models.tasks.lesion.artefact.recipe import Channel, Recipe
from tests.models.lesion import heads
from tests.models.lesion.toys import Case

WINDOW = (32, 32, 32)


def graph(member: int, channels: int = 1) -> bytes:
    """Logit difference 4 z - 6 - member / 2 of the first channel, less a tenth of the second."""
    mix = np.array([4.0, -0.4][:channels], np.float32).reshape(1, channels, 1, 1, 1)
    nodes = [
        helper.make_node("Mul", ["window", "mix"], ["mixed"]),
        helper.make_node("ReduceSum", ["mixed", "axis"], ["summed"], keepdims=1),
        helper.make_node("Add", ["summed", "shift"], ["difference"]),
    ]
    constants = {"mix": mix, "axis": np.array([1]), "shift": np.array(-6 - member / 2, np.float32)}
    made = helper.make_graph(
        nodes,
        "bright",
        [helper.make_tensor_value_info("window", TensorProto.FLOAT, ["batch", channels, *WINDOW])],
        [helper.make_tensor_value_info("difference", TensorProto.FLOAT, ["batch", 1, *WINDOW])],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return model.SerializeToString(deterministic=True)


def artefact(
    folder: Path, members: int = 3, channels: tuple[Channel, ...] = ("flair",), *, cases: int = 20
) -> Artefact:
    """Calibrated on heads with more and fewer spots; in some there is a faint one that members disagree on."""
    ensemble = Ensemble(
        family="unet",
        graphs=tuple(graph(member, len(channels)) for member in range(members)),
        channels=channels,
        window=WINDOW,
        seeds=tuple(range(members)),
        training={"steps": 0},
    )
    calibration = [case(folder / "cases", number) for number in range(cases)]
    provenance = Provenance("heads of noise with bright spots", "none")
    return build(ensemble, Recipe(threshold=0.5), folder / "artefact", calibration=calibration, provenance=provenance)


def case(folder: Path, number: int) -> Case:
    """A head with its truth."""
    draw = np.random.default_rng(number)
    spots = heads.SPOTS[: 1 + number % 3]
    image = heads.head(spots=spots) + np.float32(number % 4)
    faint = spots[0] if number % 5 else heads.SPOTS[2]
    places = np.indices(image.shape) - np.reshape(faint, (3, 1, 1, 1))
    ring = ((places**2).sum(axis=0) < 20) & (image > 0)
    image[ring] = np.maximum(image[ring], 120 + 3 * draw.integers(0, 8))
    image[heads.head() == 0] = 0
    folder.mkdir(parents=True, exist_ok=True)
    flair, truth, t1 = (folder / f"{number}_{kind}_isovox.nii.gz" for kind in ("FLAIR", "gt", "T1"))
    flair.write_bytes(heads.packed(image))
    truth.write_bytes(heads.packed((image > 150).astype(np.uint8)))
    t1.write_bytes(heads.packed(np.where(image > 0, 300 - image, 0).astype(np.float32)))
    return Case(str(number), flair, truth, t1)
