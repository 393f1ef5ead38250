"""The live comparison against a service and a monitor that are made of arrays."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from models.assessment.errors import squared_error
from models.tasks.weather.spec import HEADS
from services.cli import main as services
from studies.live import PATIENCE_SECONDS
from studies.weather_real import live
from studies.weather_real.data import RealSet
from tests.studies.weather_real.made import made


class Service:
    """Answers 4 °C, less sure the colder the ensemble is; keeps what it was asked and told."""

    def __init__(self, data: RealSet) -> None:
        self.weather = self.labels = self
        self.data, self.rows, self.told, self.asked_first = data, 0, {}, True

    def describe(self) -> Any:
        return SimpleNamespace(features=self.data.schema.features, heads=HEADS)

    def predict(self, rows: np.ndarray, purpose: str) -> Any:
        assert purpose == "decide"
        ids = range(self.rows, self.rows + len(rows))
        self.rows += len(rows)
        unsure = (50 - rows[:, 0]).astype(np.float32)
        temperature = SimpleNamespace(
            mean=np.full(len(rows), 4, np.float32), uncertainty=unsure, deferred=unsure > 50, prediction_ids=ids
        )
        precipitation = SimpleNamespace(
            classes=np.full(len(rows), 6), uncertainty=-unsure, deferred=unsure < 0, prediction_ids=ids
        )
        return SimpleNamespace(model="made", heads={"temperature": temperature, "precipitation": precipitation})

    def census(self, units: range, values: np.ndarray, *, observed: np.ndarray, head: str) -> None:
        assert units.stop <= self.rows, "a label came before its answer"
        assert (np.diff(observed) >= 0).all()
        self.told.setdefault(head, []).extend(zip(units, values.tolist(), strict=True))

    def windows(self) -> list[dict[str, Any]]:
        """A monitor that knows the mean error and nothing else."""
        listed = []
        for head, labels in self.told.items():
            values = np.array([value for _, value in labels])
            error = float(squared_error(values, np.full(len(values), 4.0)).mean()) if head == "temperature" else 0.5
            listed.append(
                {"head": head, "model": "made", "source": "census", "window": "last", "reasons": [], "r_auc": None,
                 "judged": len(labels), "labels": len(labels),
                 "mean_error": {"estimate": error, "low": error, "high": error}}
            )  # fmt: skip
        return [{"head": "power", "model": "made", "source": "census", "window": "last"}, *listed]


def test_all_test_rows_are_asked_and_labelled_in_the_order_of_time() -> None:
    data = made()
    service = Service(data)
    moments = list(live.follow(data, service, service.windows, ["temperature", "precipitation"], steps=4))
    test = data.part(data.split.test)
    assert service.rows == len(test)
    for head, labels in test.labels.items():
        assert service.told[head] == list(enumerate(labels.tolist()))
    assert [moment.units for moment in moments if moment.head == "temperature"] == [50, 100, 150, 200]
    assert moments[-1].shifted == test.shifted.sum()
    assert moments[-1].until == test.time[-1]


def test_offline_figures_are_of_all_units_so_far() -> None:
    data = made()
    service = Service(data)
    *_, last = live.follow(data, service, service.windows, ["temperature"], steps=3)
    test = data.part(data.split.test)
    assert set(last.figures) == {"mean_error"}
    figure = last.figures["mean_error"]
    assert figure.offline == pytest.approx(np.mean((test.labels["temperature"] - 4) ** 2))
    assert figure.live == pytest.approx(figure.offline)


def test_rows_of_one_time_are_not_parted() -> None:
    times = np.repeat([1.0, 2.0, 3.0, 4.0], [5, 1, 10, 4])
    bounds = live._steps(times, 3)
    assert bounds[0] == 0
    assert bounds[-1] == 20
    assert set(bounds) <= {0, 5, 6, 16, 20}
    assert live._steps(np.ones(7), 5) == [0, 7]


def test_a_monitor_that_does_not_see_the_labels_is_reported() -> None:
    data = made()
    service = Service(data)
    waited: list[float] = []
    with pytest.raises(TimeoutError, match="DEMUR_CENSUS=temperature"):
        list(live.follow(data, service, list, ["temperature"], pause=waited.append))
    assert sum(waited) == PATIENCE_SECONDS


def test_a_service_with_another_schema_is_refused() -> None:
    data = made()
    service = Service(data)
    service.describe = lambda: SimpleNamespace(features=data.schema.features[1:], heads=HEADS)  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="2 columns .* has 3"):
        next(live.follow(data, service, service.windows, ["temperature"]))


def test_a_head_without_labels_is_refused() -> None:
    data = made()
    service = Service(data)
    with pytest.raises(ValueError, match="no power here"):
        next(live.follow(data, service, service.windows, ["power"]))


def test_what_is_answered_is_judged_by_itself() -> None:
    sent = live.Sent(
        HEADS[0],
        errors=[np.array([1.0, 4.0]), np.array([9.0, 0.0])],
        uncertainty=[np.array([1, 2], np.float32), np.array([4, 3], np.float32)],
        answered=[np.array([True, True]), np.array([False, True])],
    )
    figures = sent.offline()
    assert figures["mean_error"] == pytest.approx(14 / 4)
    assert figures["error"] == pytest.approx(5 / 4)
    assert figures["answered_error"] == pytest.approx(5 / 3)
    assert figures["r_auc"] == pytest.approx((0 + 1 + 5 + 5 + 14) / 4 / 5)


def test_offline_figures_are_those_of_a_monitor_with_all_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    uncertainty = rng.gamma(2, 1, 500).astype(np.float32)
    errors, answered = uncertainty * rng.chisquare(1, 500), uncertainty <= 4
    words = np.where(answered, "answer", "defer")
    events, labels = tmp_path / "events.csv", tmp_path / "labels.csv"
    rows = [f"{i},{i},{float(u)!r},{word},1" for i, (u, word) in enumerate(zip(uncertainty, words, strict=True))]
    events.write_text("\n".join(["event_id,time,uncertainty,decision,propensity", *rows]))
    labels.write_text("\n".join(["event_id,time,error", *(f"{i},{i},{error:.17g}" for i, error in enumerate(errors))]))
    files = ["--events", str(events), "--labels", str(labels)]
    assert services(["monitor", "replay", *files, "--task", "weather", "--acceptable", "1", "--json"]) == 0
    watched = json.loads(capsys.readouterr().out)
    for name, value in live.Sent(HEADS[0], [errors], [uncertainty], [answered]).offline().items():
        assert watched[name]["estimate"] == pytest.approx(value, rel=1e-9), name
