"""The numbers of the vessel simulator's data sheet, on few rows."""

import numpy as np
import pytest

from models.tasks.vessel.data.table import NAMES
from simulators.vessel.dataset import Table, simulate
from simulators.vessel.vessel import Vessel
from studies import vessel_simulated

pytestmark = pytest.mark.long

SCALE = 0.002


@pytest.fixture(scope="module")
def noisy() -> Table:
    """Rows as sensors show them."""
    return simulate(SCALE, 1)["dev_in"]


def test_clean_features_are_those_that_the_power_was_computed_from(noisy: Table) -> None:
    """So that the noise of features is measured against the right rows: the same minutes, the same labels."""
    clean = simulate(SCALE, 1, noise=vessel_simulated.CLEAN_FEATURES)["dev_in"]
    assert (noisy.time_id == clean.time_id).all()
    assert (noisy.power == clean.power).all()
    assert Vessel().shaft_power(clean.features) == pytest.approx(clean.clean_power, rel=1e-4)
    changes = vessel_simulated.noise_of_features(clean, noisy)
    assert changes["the others"] < changes["speed and acceleration"] <= 1.05 * changes["all"]
    assert vessel_simulated.noise_of_features(clean, clean)["all"] < 1


def test_noise_of_labels_is_that_of_the_paper(noisy: Table) -> None:
    assert noisy.clean_power is not None
    assert noisy.true_wind is not None
    expected = np.sqrt(((0.025 * noisy.clean_power) ** 2 + (25 * noisy.true_wind) ** 2).mean())
    assert vessel_simulated.noise_of_labels(noisy) == pytest.approx(expected, rel=0.5)


@pytest.mark.slow
def test_the_command_prints_all_numbers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vessel_simulated, "TREES", vessel_simulated.TREES | {"iterations": 5})
    options = ["--scale", str(SCALE), "--seeds", "1", "--generalisation-rows", "100"]
    assert vessel_simulated.main(options) == 0
    page = capsys.readouterr().out
    for name in (*NAMES, "power"):
        assert f"| `{name}` | " in page
    for words in ("labels ", "RMSE of CatBoost", "generalisation ", "Means over 1 seeds", "cpu "):
        assert words in page
    assert "nan" not in page
