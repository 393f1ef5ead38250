"""Fifteen measured rows of the Shifts ship through the running service, over both protocols."""

import csv
from pathlib import Path

import httpx
import numpy as np
import pytest

import demur
from tests.e2e.conftest import Installation


@pytest.fixture(scope="module")
def rows(test_data: Path) -> list[dict[str, str]]:
    path = test_data / "power" / "shifts_real_rows.csv"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with path.open() as file:
        return list(csv.DictReader(file))


def test_http_and_grpc_agree_on_real_rows(served: Installation, rows: list[dict[str, str]]) -> None:
    with demur.connect(served.grpc) as client:
        names = [feature.name for feature in client.vessel.describe().features]
        columns = {name: [float(row[name]) for row in rows] for name in names}
        answer = client.vessel.predict(columns)
    body = httpx.post(f"{served.http}/v1/predict", json={"columns": columns}).raise_for_status().json()
    power = body["power"]
    for field in ("mean", "total", "data", "knowledge", "uncertainty"):
        np.testing.assert_array_equal(np.float32(power[field]), getattr(answer, field), err_msg=field)
    assert power["deferred"] == answer.deferred.tolist()
    assert power["shifted"] == [list(reasons) for reasons in answer.shift_reasons]
    assert (power["policy"], body["model"]) == (answer.policy, answer.model)
    assert set(power["prediction_ids"]).isdisjoint(answer.prediction_ids)


def test_a_ship_never_seen_is_predicted_in_its_order_of_magnitude(
    served: Installation, rows: list[dict[str, str]]
) -> None:
    """The reference model knows a simulated ship; what it says of this one is a sanity check, not a claim."""
    measured = np.array([float(row["power"]) for row in rows])
    with demur.connect(served.grpc) as client:
        names = [feature.name for feature in client.vessel.describe().features]
        answer = client.vessel.predict({name: [float(row[name]) for row in rows] for name in names})
    assert np.abs(answer.mean - measured).mean() < 4000
    assert np.corrcoef(answer.mean, measured)[0, 1] > 0.9
