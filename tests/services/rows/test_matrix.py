"""Every framework, kind of target and kind of column: built, served over all protocols, and held to its promises.

Answers over JSON, gRPC and tensors equal the framework's own predictions; of rows that neither training nor calibration
saw, as many are deferred as was asked for, and intervals hold as often as they say.
"""

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

import demur
from demur.v1 import common_pb2, rows_pb2
from demur.v1.rows_pb2_grpc import RowsServiceStub
from models.artefact import Artefact
from services.contract_tests.served import artefact_served
from tests.models.rows.frameworks import EMPTY, FRAMEWORKS, Framework, labels_for, trained
from tests.models.rows.worlds import CLASSES, Columns, Kind, world

ROWS = 4096
"""Rows of calibration, and as many held out."""
SAME = 0.999
"""Least share of rows that equal the framework's predictions; values at the threshold of a tree may not."""
TOLERANCE = 1e-5
RETENTION = 0.9
CELLS = [
    pytest.param(framework, kind, columns, marks=[] if (row + place + column) % 3 == 0 else [pytest.mark.slow])
    for row, framework in enumerate(FRAMEWORKS)
    for place, kind in enumerate(get_args(Kind))
    for column, columns in enumerate(get_args(Columns))
    if (framework, columns) not in EMPTY and (framework, kind) not in EMPTY
]
"""Those that are not slow have each framework, and each kind of target with each kind of column."""


def own_predictions(framework: Framework, model: Any, kind: Kind, frame: Any) -> NDArray[np.float64]:
    """Return what the framework predicts: means [n], or probabilities [n, C]."""
    if framework == "torch":
        import torch

        with torch.no_grad():
            outputs = [network(torch.from_numpy(frame.to_numpy(np.float32, copy=True))).double() for network in model]
        if kind == "regression":
            return np.asarray(np.mean([output[:, 0].numpy() for output in outputs], axis=0))
        return np.asarray(np.mean([output.softmax(dim=1).numpy() for output in outputs], axis=0))
    if framework == "quantile":
        return np.asarray(model.predict(frame))[:, 1]
    return np.asarray(model.predict(frame) if kind == "regression" else model.predict_proba(frame), np.float64)


def tempered(probabilities: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    powers = np.maximum(probabilities, 1e-7) ** (1 / temperature) if temperature != 1 else probabilities
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def lists(frame: Any) -> dict[str, list[Any]]:
    """Return the columns of a frame for JSON: texts, numbers, and None for missing ones."""
    return {name: [None if value != value else value for value in frame[name].astype(object)] for name in frame.columns}


def named(frame: Any) -> common_pb2.Rows:
    columns = [
        common_pb2.NamedColumn(name=name, texts=list(frame[name].astype(str)))
        if frame[name].dtype.kind not in "fiu"
        else common_pb2.NamedColumn(name=name, values=frame[name].to_numpy(np.float32))
        for name in frame.columns
    ]
    return common_pb2.Rows(named=common_pb2.NamedColumns(columns=columns))


def tensors(frame: Any) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "datatype": "FP32" if frame[name].dtype.kind in "fiu" else "BYTES",
            "shape": [len(frame)],
            "data": values,
        }
        for name, values in lists(frame).items()
    ]


@pytest.mark.long
@pytest.mark.parametrize(("framework", "kind", "columns"), CELLS)
async def test_it_answers_what_the_framework_predicts_and_keeps_its_promises(
    framework: Framework, kind: Kind, columns: Columns, tmp_path: Path
) -> None:
    frame, labels = world(ROWS, kind, columns, seed=1)
    model = trained(framework, kind, columns, frame, labels_for(framework, kind, labels))
    calibration, truth = world(ROWS, kind, columns, seed=2)
    held_out, held_labels = world(ROWS, kind, columns, seed=3)
    outputs = ("logits",) if framework == "torch" and kind != "regression" else ()
    built = demur.build(
        model,
        calibration,
        labels_for(framework, kind, truth),
        name="made",
        target="label",
        outputs=outputs,
        retention=RETENTION,
        home=tmp_path,
        out=tmp_path / "artefact",
    )
    artefact: Artefact = built.stored.built.artefact
    async with artefact_served(artefact, "made") as (_, channel, http):
        response = await http.post("/v1/predict", json={"columns": lists(held_out), "purpose": "explore"})
        assert response.status_code == 200, response.text
        json = response.json()["label"]
        stub = RowsServiceStub(channel)
        message = await stub.Predict(
            rows_pb2.RowsPredictRequest(rows=named(held_out), purpose=common_pb2.PURPOSE_EXPLORE, plain=True)
        )
        described = await stub.Describe(common_pb2.DescribeRequest())
        inferred = await http.post("/v2/models/made/infer", json={"inputs": tensors(held_out)})
        assert inferred.status_code == 200, inferred.text
    own = own_predictions(framework, model, kind, held_out)
    plan = built.stored.built.heads[0]
    deferred = np.array(json["deferred"])
    assert abs(deferred.mean() - (1 - RETENTION)) <= 0.02, f"{deferred.mean():.3f} deferred"
    answer = message.heads["label"]
    by_name = {output["name"]: output for output in inferred.json()["outputs"]}
    if kind == "regression":
        mean = np.array(json["mean"])
        scale = np.abs(own) + np.median(np.abs(own))
        assert np.mean(np.abs(mean - own) <= TOLERANCE * scale) >= SAME
        assert np.array_equal(np.array(answer.gaussian.plain_mean, np.float32), mean.astype(np.float32))
        assert np.array_equal(np.array(by_name["prediction"]["data"], np.float32), mean.astype(np.float32))
        (head,) = described.heads
        place = list(head.intervals.levels).index(np.float32(0.9))
        inside = np.abs(held_labels - mean) <= head.intervals.multipliers[place] * np.sqrt(json["total"])
        assert 0.88 <= inside.mean() <= 0.92, f"90 % intervals hold {inside.mean():.3f}"
        return
    probabilities = np.array(json["probabilities"])
    expected = tempered(own, plan.choice.chosen.temperature) if framework != "torch" else probabilities
    assert np.mean(np.abs(probabilities - expected).max(axis=1) <= TOLERANCE) >= SAME
    flat = np.array(answer.categorical.plain_probabilities, np.float32).reshape(len(probabilities), -1)
    assert np.array_equal(flat, probabilities.astype(np.float32))
    assert np.array_equal(np.array(by_name["probabilities"]["data"], np.float32), flat.reshape(-1))
    assert tuple(plan.head.class_names) == CLASSES[kind] or framework in ("xgboost", "torch")
    classes = np.array(labels_for(framework, kind, held_labels))
    names = [plan.head.class_names.index(str(label)) for label in classes]
    accuracy = np.mean(np.array(json["class"]) == names)
    answered = np.mean(np.array(json["class"])[~deferred] == np.array(names)[~deferred])
    assert answered > accuracy


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_empty_cells_have_a_reason(framework: Framework) -> None:
    assert all(reason for (name, _), reason in EMPTY.items() if name == framework)
