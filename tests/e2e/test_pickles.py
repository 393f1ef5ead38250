"""Nothing is unpickled: the content types of BentoML are refused on every route of every service and of the monitor."""

import pickle
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from services.runtime.registry import default_ports
from services.runtime.settings import TASKS
from tests.e2e.conftest import Installation

PICKLE = pickle.dumps({"rows": []})
TYPES = (
    "application/vnd.bentoml+pickle",
    "application/vnd.bentoml+pickle; charset=utf-8",
    "APPLICATION/VND.BENTOML+PICKLE",
    "application/vnd.bentoml+multipart",
    "application/vnd.bentoml.io.numpyndarray+json",
)
OWN_OF_BENTOML = ("/livez", "/readyz", "/healthz", "/docs.json", "/schema.json")
OF_THE_MONITOR = ("/", "/metrics", "/livez", "/readyz", "/v1/live", "/v1/what-if", "/v1/sketch")
VALUES = {"job": "abc", "file": "a", "head": "power", "request": "0" * 32, "unit": "0" * 16 + "-0"}


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=30) as client:
        yield client


def refused(http: httpx.Client, method: str, url: str, kind: str) -> None:
    answer = http.request(method, url, content=PICKLE, headers={"content-type": kind})
    assert answer.status_code == 415, f"{method} {url} with {kind}: {answer.status_code} {answer.text[:200]}"
    if method != "HEAD":
        document = answer.json()  # clients of the Open Inference Protocol read a text there
        assert (document.get("detail") or document["error"])["code"] == "content_type"


@pytest.mark.parametrize("task", TASKS)
def test_every_route_of_a_service_refuses_pickles(served: Installation, http: httpx.Client, task: str) -> None:
    """Whatever the method: also of routes that BentoML itself has, and of those that nobody has."""
    base = f"http://127.0.0.1:{default_ports(task)[0] + served.offset}"
    paths: dict[str, Any] = http.get(f"{base}/v1/openapi.json").json()["paths"]
    assert len(paths) > 15
    for path in [*paths, *OWN_OF_BENTOML, "/v2/models/x/infer", "/v1/nothing"]:
        url = base + path.format(**VALUES)
        for kind in TYPES[:1] if path not in ("/v1/predict", "/v1/labels") else TYPES:
            for method in ("POST", "PUT", "PATCH", "DELETE", *(("GET",) if path in paths else ())):
                if path in OWN_OF_BENTOML and method == "GET":  # which has no body to unpickle
                    continue
                refused(http, method, url, kind)


@pytest.mark.parametrize("task", TASKS)
def test_bodies_of_no_type_that_is_taken_are_refused(served: Installation, http: httpx.Client, task: str) -> None:
    """Each route that takes a body: a type that it does not name is refused before the body is looked at."""
    base = f"http://127.0.0.1:{default_ports(task)[0] + served.offset}"
    document = http.get(f"{base}/v1/openapi.json").json()
    count = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if "requestBody" not in operation:
                continue
            count += 1
            for kind in ("application/x-python-pickle", "application/octet-stream", "text/xml"):
                refused(http, method.upper(), base + path.format(**VALUES), kind)
    assert count >= 12


def test_every_route_of_the_monitor_refuses_pickles(served: Installation, http: httpx.Client) -> None:
    for path in (*OF_THE_MONITOR, "/nothing"):
        for method in ("POST", "PUT", "GET", "DELETE"):
            for kind in TYPES:
                refused(http, method, served.monitor + path, kind)
