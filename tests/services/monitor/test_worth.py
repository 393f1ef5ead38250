"""The worth of labels that are waited for."""

import numpy as np
import pytest

from tests.services.monitor.conftest import Scene
from tests.services.monitor.simulated import simulate
from tests.services.monitor.test_http import Served


@pytest.fixture
def served(quick_scene: Scene) -> Served:
    book = quick_scene.book()
    stream = simulate(3000, 5, rate=0.2)
    first, now = book.decide(stream), float(stream.time[-1]) + 1
    audits = np.flatnonzero(stream.audited)
    labelled = np.concatenate([audits[::2], np.flatnonzero(stream.deferred)[::2]])
    book.label((first + labelled).tolist(), stream.error[labelled].tolist(), now)
    book.beat(now)
    served = Served(quick_scene.watch(now))
    served.routes.publish(served.watch.monitor.snapshot)
    return served


def test_audits_are_worth_something_for_the_answered_part_and_deferred_units_nothing(served: Served) -> None:
    document = served.get("/v1/worth?figure=answered_error").json()
    worth = {stratum["decision"]: stratum for stratum in document["strata"]}
    assert worth["answer"]["narrowing"] > 0
    assert worth["answer"]["propensity"] == [0.2, 0.2]
    assert worth["defer"]["narrowing"] == 0
    assert worth["defer"]["waiting"] > 100
    assert 0 < worth["answer"]["narrowing_share"] < 0.1
    kinds = served.get("/v1/worth/kinds").json()
    assert kinds.keys() == {"answer", "defer"}
    assert kinds["answer"] == pytest.approx(served.get("/v1/worth").json()["strata"][0]["narrowing_share"])
    assert kinds["defer"] == 0


def test_a_label_narrows_the_mean_error_by_about_its_worth(served: Served) -> None:
    document = served.get("/v1/worth?figure=mean_error").json()
    narrowing = [unit["narrowing"] for unit in document["units"]]
    assert narrowing == sorted(narrowing, reverse=True)
    assert document["waiting"] == sum(stratum["waiting"] for stratum in document["strata"])
    first = [unit for unit in document["units"] if unit["narrowing"] == narrowing[0]]
    assert [unit["time"] for unit in first] == sorted(unit["time"] for unit in first), "the oldest first"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/worth?figure=f1_auc", 422, "unknown_figure"),
        ("/v1/worth?window=7m", 404, "no_window"),
    ],
)
def test_other_figures_and_windows_are_refused(served: Served, path: str, status: int, code: str) -> None:
    answer = served.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
