"""The monitor that `demur up` starts: what was asked of a service, and what labels say of it."""

import json
import time
import urllib.request
from typing import Any

import numpy as np
import pytest

import demur
from examples.predict import USUAL
from tests.e2e.conftest import Installation

ROWS = 2000


def live(served: Installation) -> dict[str, Any]:
    with urllib.request.urlopen(f"{served.monitor}/v1/live", timeout=10) as answer:
        document: dict[str, Any] = json.loads(answer.read())
    return document


def window(document: dict[str, Any], name: str = "1d") -> dict[str, Any]:
    keys = {"task": "vessel", "window": name, "source": "requested"}
    (chosen,) = [entry for entry in document["windows"] if keys.items() <= entry.items()]
    return dict(chosen)


def until(served: Installation, name: str, value: int) -> dict[str, Any]:
    """The window once it has so many units or labels."""
    end = time.monotonic() + 60
    while (state := window(live(served)))[name] != value:
        assert time.monotonic() < end, (name, state[name], value)
        time.sleep(0.3)
    return state


def settled(served: Installation) -> dict[str, Any]:
    """The window once it has all that was asked before this call, such as by other tests."""
    now = time.time()
    state = live(served)
    while min(ledger["complete_until"] for ledger in state["ledgers"]) < now:
        assert time.time() < now + 60, state["ledgers"]
        time.sleep(0.3)
        state = live(served)
    return window(state)


def test_rows_and_labels_arrive_in_the_windows(served: Installation) -> None:
    before = settled(served)
    source = np.random.default_rng(1)
    columns = {name: np.full(ROWS, value) for name, value in USUAL.items()}
    columns["stw"] = source.uniform(10, 20, ROWS)
    columns["awind_vcomp_provider"] = source.normal(15, 15, ROWS)
    with demur.connect(served.grpc) as client:
        answer = client.vessel.predict(columns)
        assert answer.recorded
        after = until(served, "units", before["units"] + ROWS)
        assert after["units"] - after["answered"] == before["units"] - before["answered"] + int(answer.deferred.sum())
        done = 0
        while requests := client.requests.claim(count=100):
            for request in requests:
                client.requests.submit(request, 15_000.0)
                done += 1
        assert done >= int(answer.deferred.sum())
        labelled = until(served, "labels", before["labels"] + done)
    assert labelled["mean_error"]["low"] <= labelled["mean_error"]["estimate"] <= labelled["mean_error"]["high"]
    assert labelled["valid"] is (labelled["reasons"] == [])


def test_status_and_probes_know_it(served: Installation) -> None:
    monitor = json.loads(served.run("status", "--json").stdout)["monitor"]
    assert monitor["ready"] is True
    assert monitor["http"] == served.monitor
    with urllib.request.urlopen(f"{served.monitor}/metrics", timeout=10) as answer:
        assert b"demur_monitor_last_success_timestamp_seconds" in answer.read()
    with urllib.request.urlopen(f"{served.monitor}/", timeout=60) as answer:
        assert b"demur</b> monitor" in answer.read()


def test_a_second_monitor_names_who_has_the_port(served: Installation) -> None:
    second = served.run("monitor")
    assert second.returncode == 1
    assert f"port {3000 + served.offset} is in use by pid" in second.stderr


@pytest.mark.parametrize(("name", "value"), [("WINDOWS", "3x"), ("LEDGERS", "mysql://x"), ("GONE", "xyz")])
def test_settings_that_are_none_are_refused_by_name(installations: Any, name: str, value: str) -> None:
    refused = installations().run("monitor", **{f"DEMUR_MONITOR_{name}": value})
    assert refused.returncode == 1
    assert f"DEMUR_MONITOR_{name}" in refused.stderr
    assert "Traceback" not in refused.stderr
