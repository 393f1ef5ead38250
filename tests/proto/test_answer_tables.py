"""The messages of answers have the fields that the tasks' tables declare, and no others."""

from typing import Any

import pytest

from demur.v1 import common_pb2, lesion_pb2, motion_pb2, translation_pb2
from models.head import Head
from services.contract_tests.proto import differences
from services.tasks.lesion import answer as lesion
from services.tasks.motion import answer as motion
from services.tasks.translation import answer as translation
from services.transport import head_answer
from services.transport.answer import AnswerField

GAUSSIAN = Head("power", "gaussian", "kW", "power, kW", "squared_error", "kW²", 1.0, "tvar", "variance", "varm")
CATEGORICAL = Head("rain", "categorical", "1", "class", "error", "1", 1.0, "entropy", "entropy", "mi")
TABLES: dict[str, tuple[tuple[AnswerField, ...], Any]] = {
    "motion": (motion.ANSWER, motion_pb2.MotionPredictResponse),
    "lesion": (lesion.ANSWER, lesion_pb2.LesionPredictResponse),
    "translation": (translation.ANSWER, translation_pb2.TranslationPredictResponse),
    "gaussian": (head_answer.fields(GAUSSIAN), common_pb2.GaussianHead),
    "categorical": (head_answer.fields(CATEGORICAL), common_pb2.CategoricalHead),
}
ENUMS = {("LesionFile", "map")}
"""Fields whose text in the table is a number in the message."""


@pytest.mark.parametrize("task", TABLES)
def test_messages_are_those_of_the_tables(task: str) -> None:
    fields, kind = TABLES[task]
    assert list(differences(fields, kind.DESCRIPTOR, ENUMS)) == []


def test_the_comparison_can_fail() -> None:
    fields, kind = TABLES["motion"]
    assert list(differences(fields[1:], kind.DESCRIPTOR)) == ["MotionPredictResponse.model is in the message only"]
    other = (AnswerField("levels", dtype="string", shape=("levels",)), AnswerField("multipliers", shape=("levels",)))
    assert list(differences(other, common_pb2.Intervals.DESCRIPTOR)) == ["Intervals.levels is not string"]
