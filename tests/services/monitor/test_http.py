"""The monitor over HTTP."""

import asyncio

import httpx
import pytest

from models.estimation.sketch import Sketch
from services.monitor.exporter import Exporter
from services.monitor.http import Routes, application
from tests.services.monitor.conftest import Scene
from tests.services.monitor.simulated import label_asked, simulate
from tests.services.monitor.watching import Watch


class Served:
    """The routes over a watch, with its clock."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.routes = Routes(Exporter(), lambda: watch.now)
        self._app = application(self.routes)

    def get(self, path: str, method: str = "GET") -> httpx.Response:
        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://monitor") as client:
                return await client.request(method, path)

        return asyncio.run(asked())


@pytest.fixture
def served(quick_scene: Scene) -> Served:
    now = label_asked(quick_scene.book(), simulate(10_000, rate=0.2))
    return Served(quick_scene.watch(now))


def test_it_is_ready_once_it_has_read_and_as_long_as_it_reads(served: Served) -> None:
    assert served.get("/livez").status_code == 200
    assert served.get("/readyz").json() == {"status": "not ready", "reason": "starting"}
    served.routes.publish(served.watch.at())
    assert served.get("/readyz").status_code == 200
    served.watch.now += 60
    stale = served.get("/readyz")
    assert stale.status_code == 503
    assert "60 s ago" in stale.json()["reason"]


def test_all_windows_are_a_document(served: Served) -> None:
    served.routes.publish(served.watch.at())
    document = served.get("/v1/live").json()
    (window,) = [candidate for candidate in document["windows"] if candidate["window"] == "1h"]
    truth = served.watch.window("1h")
    assert window["valid"] is True
    assert window["r_auc"]["estimate"] == truth.figures["r_auc"].estimate
    assert len(window["error_curve"]["live"]) == len(window["error_curve"]["retention"]) == 101
    assert window["baseline"]["origin"] == "first_day"
    assert document["streams"][0]["error_unit"] == "kW²"
    assert document["ledgers"][0]["caught_up"] is True


def test_what_if_answers_for_any_threshold_with_intervals(served: Served) -> None:
    served.routes.publish(served.watch.at())
    document = served.get("/v1/what-if?task=toy&head=power&threshold=1,2.5&threshold=1e9&window=1h").json()
    rows = document["what_if"]
    assert [row["threshold"] for row in rows] == [1.0, 2.5, 1e9]
    assert rows[2]["retention"] == 1.0
    assert rows[2]["error"]["estimate"] == pytest.approx(served.watch.window("1h").figures["mean_error"].estimate)
    shares = [row["retention"] for row in rows]
    assert shares == sorted(shares)
    for row in rows:
        for name in ("error", "answered_error", "f1"):
            assert row[name]["low"] <= row[name]["estimate"] <= row[name]["high"]


def test_a_window_can_be_had_as_a_sketch(served: Served) -> None:
    served.routes.publish(served.watch.at())
    sketch = Sketch.from_bytes(served.get("/v1/sketch?window=1h").content)
    assert int(sketch.units.sum()) == served.watch.window("1h").units
    assert int(sketch.labels.sum()) == served.watch.window("1h").labels


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("/v1/what-if?head=power", 422, "must be 1 to 256 numbers"),
        ("/v1/what-if?threshold=x", 422, "threshold = x: must be a number"),
        ("/v1/what-if?threshold=nan", 422, "must be a number"),
        ("/v1/what-if?threshold=1&window=3h", 404, "there is no window"),
        ("/v1/what-if?threshold=1&task=other", 404, "task other"),
        ("/v1/nothing", 404, "/v1/nothing"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_words(served: Served, path: str, code: int, words: str) -> None:
    served.routes.publish(served.watch.at())
    refused = served.get(path)
    assert refused.status_code == code
    assert words in refused.json()["error"]["message"]


def test_other_methods_are_refused(served: Served) -> None:
    for method in ("POST", "TRACE"):
        refused = served.get("/v1/live", method)
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")


def test_the_page_and_the_metrics_are_there_before_anything_was_read(served: Served) -> None:
    assert "starting" in served.get("/").text
    assert served.get("/metrics").status_code == 200
