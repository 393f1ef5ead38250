"""What the .proto files say in words is what the code does."""

import re
from pathlib import Path

import pytest
from google.protobuf.descriptor import FieldDescriptor

from demur.v1 import common_pb2, lesion_pb2, motion_pb2, translation_pb2, vessel_pb2, weather_pb2
from models.tasks.vessel.data.table import FEATURES

PROTO = Path(__file__).parents[2] / "proto" / "demur" / "v1"
SERVICES = Path(__file__).parents[2] / "services"


def test_vessel_columns_with_units_and_ranges() -> None:
    lines = re.findall(
        r"^//   (\S+)\s{2,}(\S+)\s{2,}(\S+) to (\S+)\s", (PROTO / "vessel.proto").read_text(), re.MULTILINE
    )
    documented = [
        (name, unit, float(low.replace(",", "")), float(high.replace(",", ""))) for name, unit, low, high in lines
    ]
    assert documented == [(f.name, f.unit, f.lower, f.upper) for f in FEATURES]


def test_every_error_word_is_in_the_contract() -> None:
    (comment,) = re.findall(r"message ErrorDetail \{\n((?:  //.*\n)+)", (PROTO / "common.proto").read_text())
    documented = set(re.findall(r"(?<=[ ,])[a-z]+(?:_[a-z]+)*(?=[,.])", comment))
    used = set()
    for path in SERVICES.rglob("*.py"):
        used |= set(re.findall(r'code="([a-z_]+)"', path.read_text()))
    assert used - documented - {"error"} == set()


@pytest.mark.parametrize(
    ("message", "number"),
    [
        (common_pb2.StreamAccepted, 5),
        (lesion_pb2.LesionPredictResponse, 6),
        (motion_pb2.MotionPredictResponse, 6),
        (translation_pb2.TranslationPredictResponse, 6),
        (vessel_pb2.VesselPredictResponse, 4),
        (weather_pb2.WeatherPredictResponse, 5),
    ],
)
def test_every_answer_names_model_and_numeric_profile(message: type, number: int) -> None:
    fields = message.DESCRIPTOR.fields_by_name
    assert fields["model"].type == fields["profile"].type == FieldDescriptor.TYPE_STRING
    assert (fields["model"].number, fields["profile"].number) == (1, number)
