"""The contract of tabular inputs."""

from dataclasses import replace

import numpy as np
import pytest

from models.schema import Feature, Schema

SPEED = Feature("speed", "m/s", 0, 20, "Speed.")
WAVE = Feature("wave", "m", 0.1, 15, "Waves.", nullable=True)


def test_a_schema_knows_order_limits_and_gaps() -> None:
    schema = Schema.of([SPEED, WAVE])
    assert (len(schema), schema.names, schema.position) == (2, ("speed", "wave"), {"speed": 0, "wave": 1})
    assert schema.lower.dtype == schema.upper.dtype == np.float32
    assert schema.lower.tolist() == [0, np.float32(0.1)]
    assert schema.nullable.tolist() == [False, True]


def test_the_hash_is_of_names_order_and_units_only() -> None:
    schema = Schema.of([SPEED, WAVE])
    assert schema.hash == Schema.of([replace(SPEED, upper=30, description="Other."), WAVE]).hash
    others = {
        Schema.of(features).hash
        for features in (
            [WAVE, SPEED],
            [SPEED],
            [replace(SPEED, unit="kn"), WAVE],
            [replace(SPEED, name="sog"), WAVE],
        )
    }
    assert len(others | {schema.hash}) == 5
    assert len(schema.hash) == 16
    assert schema.hash == "".join(schema.hash.split())


@pytest.mark.parametrize("features", [[], [SPEED, SPEED], [SPEED, replace(SPEED, unit="kn")]])
def test_a_schema_without_features_or_with_doubled_names_is_none(features: list[Feature]) -> None:
    with pytest.raises(ValueError, match="at least one feature and no doubled names"):
        Schema.of(features)


SOIL = Feature("soil", "°C", -90, 70, "Soil.", True, sentinels=(-9999.0, -999.9))
FLAG = Feature("flag", "1", 0, 1, "Flag.", values=(0.0, 1.0))


def test_sentinels_and_possible_values_are_known_by_column() -> None:
    schema = Schema((SPEED, SOIL, FLAG), ("time", "place"))
    assert [(position, float(value)) for position, value in schema.sentinels] == [
        (1, -9999.0),
        (1, float(np.float32(-999.9))),
    ]
    ((position, values),) = schema.enumerated
    assert (position, values.dtype, values.tolist()) == (2, np.float32, [0, 1])
    assert schema.metadata == ("time", "place")
    assert Schema.of([SPEED]).sentinels == Schema.of([SPEED]).enumerated == ()


def test_metadata_are_no_part_of_the_hash_and_no_features() -> None:
    plain = Schema((SPEED, SOIL))
    assert Schema((SPEED, replace(SOIL, sentinels=())), ("time",)).hash == plain.hash
    assert len(Schema((SPEED, SOIL), ("time",))) == 2
    with pytest.raises(ValueError, match=r"doubled: \['soil'\]"):
        Schema((SPEED, SOIL), ("soil",))
