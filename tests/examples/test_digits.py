"""The example of a task of one's own: trained, served on all protocols, labelled, seen by the monitor, documented."""

import base64
import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from demur.v1 import common_pb2
from digits import digits_pb2, digits_pb2_grpc
from digits.answer import TABLE
from digits.entry import ENTRY
from digits.spec import DIGIT
from models.artefact import Artefact
from services.runtime.registry import with_plugins
from tests.proto.test_answer_tables import differences
from tests.services.served import artefact_served
from tests.services.tasks.live import judged

pytest.importorskip("sklearn", reason="training needs the train extra")
pytest.importorskip("onnx", reason="training needs the train extra")
PROJECT = Path(__file__).parents[2]
EXAMPLE = PROJECT / "examples" / "digits"
MOST_LINES = 150


@pytest.fixture(scope="module")
def artefact(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    from digits.train import train

    return train(tmp_path_factory.mktemp("digits"))


@pytest.fixture(scope="module")
def unseen() -> tuple[np.ndarray, np.ndarray]:
    """Images [n, 8, 8] that nothing was trained on, and their digits."""
    from digits.train import tables

    table = tables()["test"]
    return table.features.reshape(-1, 8, 8).astype(np.uint8), table.labels[DIGIT.name]


def test_members_are_good_and_unlike_each_other(artefact: Artefact) -> None:
    assert artefact.manifest.quality["test"]["error_rate"] < 0.08
    assert "Quality" in artefact.path("MODEL_CARD.md").read_text()


async def test_all_protocols_answer_alike(artefact: Artefact, unseen: Any) -> None:
    images, labels = unseen
    images, labels = images[:50], labels[:50]
    async with artefact_served(artefact, "digits", entry=ENTRY, target_retention=0.8) as (_, channel, http):
        response = await http.post("/v1/predict", json={"images": images.tolist()})
        assert response.status_code == 200, response.text
        over_http = response.json()["answers"]
        stub = digits_pb2_grpc.DigitsServiceStub(channel)
        message = await stub.Predict(digits_pb2.DigitsPredictRequest(images=images.tobytes()))
        described = await stub.Describe(common_pb2.DescribeRequest())
        tensor = {"name": "images", "datatype": "UINT8", "shape": images.shape, "data": images.ravel().tolist()}
        response = await http.post("/v2/models/digits/infer", json={"inputs": [tensor]})
        assert response.status_code == 200, response.text
        over_oip = {output["name"]: output["data"] for output in response.json()["outputs"]}
    assert [answer["item"] for answer in over_http] == list(range(50))
    assert np.mean([answer["digit"] != label for answer, label in zip(over_http, labels, strict=True)]) < 0.12
    deferred = [answer["deferred"] for answer in over_http]
    assert 0 < sum(deferred) < 30
    assert message.model == artefact.tag
    assert (
        [answer.digit for answer in message.answers] == [answer["digit"] for answer in over_http] == over_oip["digit"]
    )
    assert over_oip["deferred"] == deferred
    decisions = [answer.deferral.decisions[0] for answer in message.answers]
    assert [decision == common_pb2.DECISION_DEFER for decision in decisions] == deferred
    for field in ("total", "data", "knowledge"):
        expected = pytest.approx([answer[field] for answer in over_http], abs=1e-6)
        assert [getattr(answer, field) for answer in message.answers] == expected
        assert over_oip[field] == expected
    np.testing.assert_allclose(
        np.reshape(over_oip["probabilities"], (50, 10)), [answer["probabilities"] for answer in over_http], atol=1e-6
    )
    assert [head.name for head in described.heads] == ["digit"]


BAD: dict[str, tuple[Any, str]] = {
    "too much ink": ([[[17] * 8] * 8], "out_of_range"),
    "seven rows": ([[[0] * 8] * 7], "wrong_shape"),
    "nothing": ([], "no_rows"),
    "text": ("seven", "not_a_body"),
}


@pytest.mark.parametrize("case", BAD)
async def test_bad_images_are_refused(artefact: Artefact, case: str) -> None:
    images, code = BAD[case]
    async with artefact_served(artefact, "digits", entry=ENTRY) as (_, _, http):
        response = await http.post("/v1/predict", json={"images": images})
    assert (response.status_code, response.json()["error"]["code"]) == (422, code)


async def test_withheld_predictions_are_absent(artefact: Artefact, unseen: Any) -> None:
    images, _ = unseen
    settings = {"withhold": True, "fixed_threshold": -1.0}
    async with artefact_served(artefact, "digits", entry=ENTRY, **settings) as (_, channel, http):
        (answer,) = (await http.post("/v1/predict", json={"images": images[:1].tolist()})).json()["answers"]
        stub = digits_pb2_grpc.DigitsServiceStub(channel)
        (message,) = (await stub.Predict(digits_pb2.DigitsPredictRequest(images=images[:1].tobytes()))).answers
    assert answer["deferred"] is True
    assert not {"digit", "probabilities", "total", "data", "knowledge"} & answer.keys()
    assert not message.HasField("digit")
    assert not message.probabilities


async def test_labels_of_deferred_images_reach_the_monitor(artefact: Artefact, unseen: Any, tmp_path: Path) -> None:
    images, labels = unseen
    settings = {"target_retention": 0.5, "audit_rate": 0.0}
    async with artefact_served(artefact, "digits", tmp_path, entry=ENTRY, **settings) as (_, _, http):
        answers = (await http.post("/v1/predict", json={"images": images.tolist()})).json()["answers"]
        truth = {image.tobytes(): int(label) for image, label in zip(images, labels, strict=True)}
        deferred = [place for place, answer in enumerate(answers) if answer["deferred"]]
        assert len(deferred) > 50
        reply = await http.post("/v1/requests/claim", json={"count": 50})
        assert reply.status_code == 200, reply.text
        claimed = reply.json()["requests"]
        for request in claimed:
            content = base64.b64decode(request["input"]["base64"])
            assert content.startswith(b"P5 8 8 16\n")
            body = {"lease": request["lease"], "value": truth[content.removeprefix(b"P5 8 8 16\n")]}
            reply = await http.post(f"/v1/requests/{request['request']}/submit", json=body)
            assert reply.status_code == 200, reply.text
        states = [
            (await http.get(f"/v1/units/{answers[place]['prediction_id']}/resolution")).json() for place in deferred
        ]
    assert len(claimed) == 50
    resolved = {
        place: state["value"] for place, state in zip(deferred, states, strict=True) if state.get("value") is not None
    }
    assert all(value == labels[place] for place, value in resolved.items())
    assert len(resolved) == 50
    requested = judged("digits", tmp_path)["requested"]
    assert requested.labels == len(claimed)
    assert requested.units == len(images)


async def test_figures_of_a_census_are_those_of_the_labels(artefact: Artefact, unseen: Any, tmp_path: Path) -> None:
    images, labels = unseen
    async with artefact_served(artefact, "digits", tmp_path, entry=ENTRY, census="digit") as (_, _, http):
        answers = (await http.post("/v1/predict", json={"images": images.tolist()})).json()["answers"]
        content = [
            {"unit": answer["prediction_id"], "value": int(label), "source": "census"}
            for answer, label in zip(answers, labels, strict=True)
        ]
        batch = (await http.post("/v1/labels", json={"labels": content})).json()
        assert not batch["rejected"], batch
    census = judged("digits", tmp_path)["census"]
    assert (census.valid, census.units, census.labels) == (True, len(images), len(images)), census.reasons
    wrong = np.mean([answer["digit"] != label for answer, label in zip(answers, labels, strict=True)])
    assert census.figures["mean_error"].estimate == pytest.approx(wrong)


def test_the_message_is_that_of_the_table() -> None:
    assert list(differences(TABLE.answer, digits_pb2.DigitsPredictResponse.DESCRIPTOR)) == []


def test_an_installed_package_adds_its_task(tmp_path: Path) -> None:
    """``demur serve`` knows it, ``demur up`` does not start it, and its settings have its name and port."""
    installed = tmp_path / "demur_digits-0.1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: demur-digits\nVersion: 0.1\n")
    declared = (EXAMPLE / "pyproject.toml").read_text()
    (line,) = re.findall(r'\[project.entry-points."demur.tasks"\]\ndigits = "(.*)"\n', declared)
    (installed / "entry_points.txt").write_text(f"[demur.tasks]\ndigits = {line}\n")
    program = (
        "from services.runtime.settings import Settings\nfrom services.tasks import STARTED, TENANTS\n"
        "print('digits' in TENANTS, 'digits' in STARTED, Settings.read({}, task='digits').ports)\n"
    )
    path = os.pathsep.join([str(tmp_path), str(PROJECT), str(PROJECT / "clients" / "python"), str(EXAMPLE.parent)])
    environment = os.environ | {"PYTHONPATH": path}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.stdout == "True False (3011, 4011)\n", ran.stderr


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("vessel", "digits.entry:ENTRY", "a name of its own"),
        ("digits", "digits.entry:NOTHING", "cannot be loaded"),
        ("digits", "digits.nowhere:ENTRY", "cannot be loaded"),
        ("digits", "digits.spec:DIGIT", "must be a TaskEntry; got Head"),
    ],
)
def test_plugins_that_cannot_be_used_are_named(name: str, value: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        with_plugins({"vessel": ENTRY}, [EntryPoint(name, value, "demur.tasks")])


def test_the_example_is_short() -> None:
    files = [path for path in EXAMPLE.glob("*.py") if path.name != "train.py" and "_pb2" not in path.name]
    lines = {path.name: len(lines_of(path)) for path in [*files, EXAMPLE / "digits.proto"]}
    assert sum(lines.values()) <= MOST_LINES, lines


def lines_of(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if line.strip()]


def test_the_guide_quotes_the_code() -> None:
    """A block behind a link to a file is a part of that file, from the first line of the block to its last."""
    guide = (PROJECT / "docs" / "new-task.md").read_text()
    quoted = re.findall(r"\(\.\./(examples/digits/[^)]+)\)[^\n]*:\n\n```\w+\n(.*?)```", guide, re.DOTALL)
    for file, block in quoted:
        assert block in (PROJECT / file).read_text(), f"{file} does not hold:\n{block}"
    shown = {file for file, _ in quoted}
    named = {
        path.relative_to(PROJECT).as_posix() for path in EXAMPLE.iterdir() if path.suffix in (".py", ".proto", ".toml")
    }
    apart = {"__init__.py", "digits_pb2.py", "digits_pb2_grpc.py"}
    assert shown == {name for name in named if Path(name).name not in apart}
