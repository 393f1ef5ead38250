"""What makes a row unlike training, and predictions that cannot be, over every protocol of the running service."""

import math
from typing import Any

import httpx
import numpy as np
import pytest

import demur
from examples.predict import USUAL
from simulators.vessel.dataset import simulate
from tests.e2e.conftest import Installation


@pytest.fixture
def client(served: Installation) -> Any:
    with demur.connect(served.grpc) as opened:
        yield opened


def posted(served: Installation, rows: list[dict[str, float]]) -> dict[str, Any]:
    answer = httpx.post(f"{served.http}/v1/predict", json={"rows": rows, "purpose": "explore"})
    return dict(answer.raise_for_status().json())


def test_a_shift_names_its_columns_everywhere(served: Installation, client: demur.Client) -> None:
    rows = [USUAL, USUAL | {"stw": 27.0, "comb_wind_swell_wave_height": 9.0}]
    columns = {name: [row[name] for row in rows] for name in USUAL}
    answer = client.vessel.predict(columns, purpose="explore")
    assert answer.shifted_inputs[0] == ()
    waves, speed = answer.shifted_inputs[1]
    trained = {feature.name: feature for feature in client.vessel.describe().features}
    assert (waves.column, waves.unit, waves.value) == ("comb_wind_swell_wave_height", "m", 9.0)
    assert (speed.column, speed.unit, speed.value) == ("stw", "kn", 27.0)
    for shift in (waves, speed):
        assert (shift.trained_lower, shift.trained_upper) == pytest.approx(
            (trained[shift.column].trained_lower, trained[shift.column].trained_upper)
        )
        assert math.isnan(shift.expected)
    assert waves.deviations > speed.deviations > 0
    assert "training had" in str(speed)

    inputs = posted(served, rows)["shifted_inputs"]
    assert inputs["row"] == [1, 1]
    assert inputs["column"] == ["comb_wind_swell_wave_height", "stw"]
    assert (inputs["unit"], inputs["value"]) == (["m", "kn"], [9.0, 27.0])
    assert inputs["deviations"] == pytest.approx([waves.deviations, speed.deviations])
    assert inputs["expected"] == [None, None]

    request = {
        "inputs": [
            {"name": name, "datatype": "FP32", "shape": [2], "data": values} for name, values in columns.items()
        ],
        "outputs": [{"name": "shifted_inputs"}, {"name": "shifted"}],
        "parameters": {"purpose": "explore"},
    }
    answered = httpx.post(f"{served.http}/v2/models/vessel/infer", json=request).raise_for_status().json()
    by_name = {output["name"]: output["data"] for output in answered["outputs"]}
    assert by_name["shifted_inputs"][0] == "[]"
    assert '"column":"stw"' in by_name["shifted_inputs"][1]


def test_metres_per_second_in_a_column_of_knots_are_noticed_by_the_request(client: demur.Client) -> None:
    """Nearly every speed is within the range of training; so many of them at once are not like training."""
    table = simulate(0.05, 3)["eval_in"]
    columns = {name: table.features[:, position] for position, name in enumerate(USUAL)}
    right = client.vessel.predict(columns, purpose="explore")
    assert flagged(right, "unlikely_inputs") < 0.05
    wrong = client.vessel.predict(columns | {"stw": columns["stw"] * np.float32(0.514444)}, purpose="explore")
    assert flagged(wrong, "outside_training_range") < 0.1
    assert flagged(wrong, "unlikely_inputs") + flagged(wrong, "outside_training_range") > 0.99
    worst = [inputs[0] for inputs in wrong.shifted_inputs if inputs]
    named = sum(shift.column == "stw" for shift in worst)
    assert named > len(worst) / 3  # more often than any other column
    assert all(shift.expected > shift.value for shift in worst if shift.column == "stw" and shift.deviations < -3)


def flagged(answer: demur.Answer, reason: str) -> float:
    """Share of rows with this reason."""
    return float(np.mean([reason in reasons for reasons in answer.shift_reasons]))


def test_what_cannot_be_is_deferred_whatever_the_threshold(served: Installation, client: demur.Client) -> None:
    """A tail wind of a hundred knots would drive the ship: the model extrapolates to negative power."""
    row = USUAL | {"awind_vcomp_provider": -100.0, "stw": 3.0, "diff_speed_overground": -10.0}
    answer = client.vessel.predict(row)
    assert answer.mean[0] < 0
    assert answer.deferred.all()
    assert answer.uncertainty[0] == math.inf
    assert "impossible_prediction" in answer.shift_reasons[0]
    body = posted(served, [row])["power"]
    assert (body["decision"], body["uncertainty"]) == (["DEFER"], [None])
    assert "impossible_prediction" in body["shifted"][0]
    (head,) = client.vessel.describe().heads
    assert (head.lower, head.upper) == (0.0, None)


def test_at_rest_the_reference_model_is_right(client: demur.Client) -> None:
    speeds = np.array([0.0, 1.0, 2.0])
    answer = client.vessel.predict(USUAL | {"stw": speeds, "awind_vcomp_provider": 2.0}, purpose="explore")
    assert ((answer.mean > 0) & (answer.mean < 1_000)).all()
