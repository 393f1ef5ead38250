"""Contract of the digits example, with a service that breaks it in one place in each class; see test_contract."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from digits import digits_pb2
from digits.answer import TABLE
from digits.entry import ENTRY
from models.artefact import Artefact
from services.contract_tests import Example, Refusal, TaskContract
from services.runtime.task_entry import TaskEntry
from services.transport.served_model import ServedModel

IMAGES = np.random.default_rng(0).integers(0, 17, (6, 8, 8), np.uint8)


@dataclass(frozen=True)
class Broken(TaskEntry):
    """Entry of digits whose served model is changed."""

    change: Callable[[ServedModel], ServedModel] = lambda model: model

    def build(self) -> Any:
        return lambda *parts: self.change(TaskEntry.build(self)(*parts))


def broken(change: Callable[[ServedModel], ServedModel]) -> TaskEntry:
    return Broken(ENTRY.port, ENTRY.served_model, ENTRY.default_model, change=change)


def other_scores_in_tensors(model: ServedModel) -> ServedModel:
    def answer(*arguments: Any) -> Any:
        outputs = model.oip.answer(*arguments)
        return replace(outputs, tensors=outputs.tensors | {"total": outputs.tensors["total"] + 1})

    return replace(model, oip=replace(model.oip, answer=answer))


def other_decisions_in_json(model: ServedModel) -> ServedModel:
    def answer(answers: Any) -> Any:
        written = model.http.answer_json(answers)
        return written | {"answers": [unit | {"decision": "ANSWER"} for unit in written["answers"]]}

    return replace(model, http=replace(model.http, answer_json=answer))


def other_schema(model: ServedModel) -> ServedModel:
    schema = {"type": "object", "required": ["scans"], "properties": {"scans": {"type": "string"}}}
    return replace(model, http=replace(model.http, request_schema=schema))


def crashing(model: ServedModel) -> ServedModel:
    def read(content: bytes) -> Any:
        return model.http.read_json(content) if content.startswith(b'{"images":[[[') else [][0]

    return replace(model, http=replace(model.http, read_json=read))


@pytest.fixture(scope="session")
def artefact(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    from digits.train import train

    return train(tmp_path_factory.mktemp("digits"))


@pytest.fixture(scope="session")
def example() -> Example:
    message = digits_pb2.DigitsPredictRequest(images=IMAGES.tobytes())
    return Example(json={"images": IMAGES.tolist()}, message=message, labels=[0] * len(IMAGES))


class Contract(TaskContract):
    entry, table = ENTRY, TABLE
    refusals: ClassVar = {"ink": Refusal({"images": [[[17] * 8] * 8]}, field="pixel_0_0", code="out_of_range")}


class TestTensors(Contract):
    entry = broken(other_scores_in_tensors)


class TestDecisions(Contract):
    entry = broken(other_decisions_in_json)


class TestSchema(Contract):
    entry = broken(other_schema)


class TestCrash(Contract):
    entry = broken(crashing)


class TestTable(Contract):
    table = replace(TABLE, fields=TABLE.fields[1:])


class TestRefusal(Contract):
    refusals: ClassVar = {"fine": Refusal({"images": IMAGES.tolist()}, field="images", code="wrong_shape")}


class TestLabel(Contract):
    wrong_label = 3
