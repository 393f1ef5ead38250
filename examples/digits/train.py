"""Training of the ensemble: three small networks of scikit-learn to one artefact, in a few seconds.

python -m digits.train FOLDER
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from digits.spec import DIGIT, HEADS, INK, SCHEMA
from models import building, card, npz
from models.artefact import Artefact, write
from models.building import CARD, GOLDEN, Labelled, Provenance
from models.executors.graph_members import GraphMembers
from models.executors.onnx import OnnxGraph
from models.executors.reduced import Reduced
from models.manifest import Executor, Manifest
from models.predictive import Categorical
from models.profile import profile

MEMBERS, GRAPH = 3, "members.onnx"
PROVENANCE = Provenance("handwritten digits of the UCI repository, as scikit-learn has them", "CC BY 4.0")
WORDS = card.Words(
    families={"mlp": "Networks with one hidden layer of 32 units each, which differ in their seed."},
    predicts="It predicts which digit an image of 8 x 8 pixels shows, as ten probabilities.",
    not_for="anything but learning how a task is added.",
    figures="The error rate is that of images that were not trained on.",
    units="images",
)


def tables() -> dict[str, Labelled]:
    """Return images for training, for calibration and for a test, in a fixed random order."""
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(pixels))
    parts = np.split(order, [1000, 1400])
    names = ("train", "dev_in", "test")
    return {name: Labelled(pixels[part], {DIGIT.name: labels[part]}) for name, part in zip(names, parts, strict=True)}


def graph(members: list[Any]) -> bytes:
    """Return one graph of all members: ``rows`` [N, 64] to probabilities ``digit`` [M, N, 10]."""
    layers = {
        "w1": np.stack([member.coefs_[0] for member in members]) / INK,
        "b1": np.stack([member.intercepts_[0] for member in members])[:, None],
        "w2": np.stack([member.coefs_[1] for member in members]),
        "b2": np.stack([member.intercepts_[1] for member in members])[:, None],
    }
    nodes = [
        helper.make_node("MatMul", ["rows", "w1"], ["a"]),
        helper.make_node("Add", ["a", "b1"], ["b"]),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("MatMul", ["c", "w2"], ["d"]),
        helper.make_node("Add", ["d", "b2"], ["e"]),
        helper.make_node("Softmax", ["e"], [DIGIT.name], axis=-1),
    ]
    model = helper.make_model(
        helper.make_graph(
            nodes,
            "digits",
            [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["N", len(SCHEMA)])],
            [helper.make_tensor_value_info(DIGIT.name, TensorProto.FLOAT, [len(members), "N", DIGIT.classes])],
            [numpy_helper.from_array(array.astype(np.float32), name) for name, array in layers.items()],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def train(directory: Path) -> Artefact:
    """Train, calibrate, and write the artefact into a folder."""
    data = tables()
    learned = data["train"]
    members = [
        MLPClassifier((32,), learning_rate_init=0.005, tol=0.01, max_iter=500, random_state=seed)
        for seed in range(MEMBERS)
    ]
    for member in members:
        member.fit(learned.features / INK, learned.labels[DIGIT.name])
    content = graph(members)
    directory.mkdir(parents=True, exist_ok=True)
    (path := directory / GRAPH).write_bytes(content)
    reduced = Reduced(GraphMembers(OnnxGraph(path), (DIGIT.name,)), HEADS, ensemble=True)

    def predicted(table: Labelled) -> Categorical:
        prediction = reduced.read(reduced(np.asarray(table.features, np.float32)))[0][DIGIT.name]
        assert isinstance(prediction, Categorical)
        return prediction

    def error_rate(table: Labelled) -> float:
        return float(building.errors_of(predicted(table), table.labels[DIGIT.name]).mean())

    measures = ("entropy", "mi", "confidence")
    calibration = building.calibrate(
        DIGIT,
        predicted(data["dev_in"]),
        data["dev_in"].labels[DIGIT.name],
        ensemble=True,
        reference=measures,
        others=measures[1:],
    )
    rows: NDArray[np.float32] = building.golden_rows([data["dev_in"].features], SCHEMA)
    outputs = (f"{DIGIT.name}.probabilities", f"{DIGIT.name}.expected_entropy")
    golden = {"rows": rows, **dict(zip(outputs, reduced.run({"rows": rows}, outputs), strict=True))}
    executor = Executor(kind="onnx", file=GRAPH)
    manifest = Manifest(
        task="digits",
        family="mlp",
        members=MEMBERS,
        schema=SCHEMA.features,
        schema_hash=SCHEMA.hash,
        executor=executor,
        heads={DIGIT.name: {profile([executor]).name: calibration}},
        training_range=building.training_range(learned.features, SCHEMA),
        golden=GOLDEN,
        golden_tolerance=1e-3,
        sources=building.sources(data, PROVENANCE),
        seeds=tuple(range(MEMBERS)),
        training={"hidden_units": 32, "epochs": max(member.n_iter_ for member in members)},
        quality={name: {"error_rate": error_rate(data[name])} for name in ("dev_in", "test")},
        versions=building.versions("numpy", "scikit-learn"),
        files={},
    )
    text = card.text(manifest, HEADS, WORDS)
    return write(directory, manifest, {GRAPH: content, GOLDEN: npz.encode(golden), CARD: text.encode()})


if __name__ == "__main__":
    print(train(Path(sys.argv[1])).tag)
