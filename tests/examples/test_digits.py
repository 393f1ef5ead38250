"""The example of a task of one's own: trained, served on all protocols, labelled, seen by the monitor, documented."""

import base64
import re
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from digits import digits_pb2
from digits.answer import TABLE
from digits.entry import ENTRY
from digits.spec import DIGIT
from models.artefact import Artefact
from services.contract_tests import Example, Refusal, TaskContract
from services.contract_tests.served import artefact_served
from services.runtime.registry import with_plugins
from tests.distributions import PROJECT, declared, install, python
from tests.services.tasks.live import judged

pytest.importorskip("sklearn", reason="training needs the train extra")
pytest.importorskip("onnx", reason="training needs the train extra")
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


@pytest.fixture(scope="module")
def example(unseen: tuple[np.ndarray, np.ndarray]) -> Example:
    images, labels = (array[:50] for array in unseen)
    message = digits_pb2.DigitsPredictRequest(images=images.tobytes())
    return Example(json={"images": images.tolist()}, message=message, labels=labels.tolist())


def test_members_are_good_and_unlike_each_other(artefact: Artefact) -> None:
    assert artefact.manifest.quality["test"]["error_rate"] < 0.08
    assert "Quality" in artefact.path("MODEL_CARD.md").read_text()


class TestContract(TaskContract):
    entry, table = ENTRY, TABLE
    wrong_label = 10
    refusals: ClassVar = {
        "too much ink": Refusal({"images": [[[17] * 8] * 8]}, field="pixel_0_0", code="out_of_range"),
        "half images": Refusal({"images": [[[0] * 8] * 4] * 2}, field="images", code="wrong_shape"),
        "seven rows": Refusal(
            {"images": [[[0] * 8] * 7]},
            field="images",
            code="wrong_shape",
            message=digits_pb2.DigitsPredictRequest(images=bytes(56)),
        ),
    }


BAD: dict[str, tuple[Any, str]] = {"nothing": ([], "no_rows"), "text": ("seven", "not_a_body")}


@pytest.mark.parametrize("case", BAD)
async def test_bad_images_are_refused(artefact: Artefact, case: str) -> None:
    images, code = BAD[case]
    async with artefact_served(artefact, "digits", entry=ENTRY) as (_, _, http):
        response = await http.post("/v1/predict", json={"images": images})
    assert (response.status_code, response.json()["error"]["code"]) == (422, code)


async def test_most_images_are_read_and_some_deferred(artefact: Artefact, unseen: Any) -> None:
    images, labels = (array[:50] for array in unseen)
    async with artefact_served(artefact, "digits", entry=ENTRY, target_retention=0.8) as (_, _, http):
        answers = (await http.post("/v1/predict", json={"images": images.tolist()})).json()["answers"]
    assert np.mean([answer["digit"] != label for answer, label in zip(answers, labels, strict=True)]) < 0.12
    assert 0 < sum(answer["deferred"] for answer in answers) < 30


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


def test_an_installed_package_adds_its_task(tmp_path: Path) -> None:
    """``demur serve`` knows it, ``demur up`` does not start it, and its settings have its name and port."""
    install(tmp_path, *declared(EXAMPLE / "pyproject.toml"))
    program = (
        "from services.runtime.settings import Settings\nfrom services.tasks import STARTED, TENANTS\n"
        "print('digits' in TENANTS, 'digits' in STARTED, Settings.read({}, task='digits').ports)\n"
    )
    ran = python(["-c", program], tmp_path, EXAMPLE.parent)
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
    quoted = re.findall(
        r"\(\.\./((?:examples/digits|tests/examples)/[^)]+)\)[^\n]*:\n\n```\w+\n(.*?)```", guide, re.DOTALL
    )
    for file, block in quoted:
        assert block in (PROJECT / file).read_text(), f"{file} does not hold:\n{block}"
    shown = {file for file, _ in quoted}
    named = {
        path.relative_to(PROJECT).as_posix() for path in EXAMPLE.iterdir() if path.suffix in (".py", ".proto", ".toml")
    }
    apart = {"__init__.py", "digits_pb2.py", "digits_pb2_grpc.py"}
    assert shown - {"tests/examples/test_digits.py"} == {name for name in named if Path(name).name not in apart}
