"""Real Prometheus and Alertmanager on loopback, and somebody who is paged."""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from tests.deploy import hurried
from tests.deploy.places import FOLDER, RULES
from tests.ports import free_ports
from tests.prometheus import need


class Pager:
    """Takes what Alertmanager sends, and keeps the alerts that fire."""

    def __init__(self) -> None:
        pager = self
        self._lock = threading.Lock()
        self._fired: dict[str, list[dict[str, Any]]] = {"pages": [], "tickets": []}

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                message = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with pager._lock:
                    fired = [alert for alert in message["alerts"] if alert["status"] == "firing"]
                    pager._fired[self.path.strip("/")] += fired
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Tests are quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"127.0.0.1:{self._server.server_port}"

    def fired(self, kind: str = "pages") -> dict[str, dict[str, Any]]:
        """Alerts that were sent so far, by name; the last of each."""
        with self._lock:
            return {alert["labels"]["alertname"]: alert for alert in self._fired[kind]}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Prometheus:
    """Its query interface."""

    def __init__(self, address: str) -> None:
        self._client = httpx.Client(base_url=f"http://{address}", timeout=20)

    def ask(self, query: str) -> list[dict[str, Any]]:
        """The result of an instant query: label sets and values.

        Raises:
            AssertionError: the query failed.
        """
        answer = self._client.get("/api/v1/query", params={"query": query}).json()
        assert answer["status"] == "success", (query, answer)
        result = answer["data"]["result"]
        return result if answer["data"]["resultType"] == "vector" else [{"metric": {}, "value": result}]

    def value(self, query: str) -> float | None:
        """The value of the only series of a result; None where it is empty."""
        series = self.ask(query)
        assert len(series) <= 1, series
        return float(series[0]["value"][1]) if series else None

    def up(self) -> set[str]:
        """Addresses of the targets whose last scrape succeeded."""
        return {series["metric"]["instance"] for series in self.ask("up == 1")}

    def problems(self) -> list[str]:
        """What is wrong with rules that were evaluated."""
        groups = self._client.get("/api/v1/rules").json()["data"]["groups"]
        return [f"{rule['name']}: {rule['lastError']}" for g in groups for rule in g["rules"] if rule.get("lastError")]

    def close(self) -> None:
        self._client.close()


@contextmanager
def watchers(folder: Path, offset: int) -> Iterator[tuple[Prometheus, Pager]]:
    """Both programs with the shipped rules and configurations, hurried, for services whose ports are moved by
    ``offset``; ended with the block."""
    need("prometheus", "prometheus-alertmanager")
    here, there = (f"127.0.0.1:{port}" for port in free_ports(2))
    pager = Pager()
    (folder / "rules").mkdir()
    for path in RULES:
        (folder / "rules" / path.name).write_text(hurried.rules(path.read_text()))
    text = (FOLDER / "prometheus.yml").read_text()
    config = hurried.prometheus(text, offset=offset, alertmanager=there)
    (folder / "prometheus.yml").write_text(config)
    routes = hurried.alertmanager((FOLDER / "alertmanager.yml").read_text(), receiver=pager.address)
    (folder / "alertmanager.yml").write_text(routes)
    commands = (
        ("prometheus-alertmanager", f"--web.listen-address={there}", "--cluster.listen-address="),
        ("prometheus", f"--web.listen-address={here}"),
    )
    processes, client = [], Prometheus(here)
    try:
        for program, *words in commands:
            name = program.removeprefix("prometheus-")
            storage = "--storage.tsdb.path" if name == "prometheus" else "--storage.path"
            command = [program, f"--config.file={folder / name}.yml", f"{storage}={folder / name}", *words]
            with (folder / f"{name}.log").open("wb") as log:
                processes.append(subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL))
        for address in (there, here):
            wait_until(lambda address=address: _ready(address), 60, f"{address} is not ready")  # type: ignore[misc]
        yield client, pager
    finally:
        client.close()
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(60)
        pager.close()


def wait_until(holds: Callable[[], bool], seconds: float, otherwise: str) -> float:
    """Looks again and again; the seconds that it took.

    Raises:
        AssertionError: it does not hold in time.
    """
    start = time.monotonic()
    while not holds():
        assert time.monotonic() - start < seconds, otherwise
        time.sleep(0.1)
    return time.monotonic() - start


def _ready(address: str) -> bool:
    try:
        return httpx.get(f"http://{address}/-/ready", timeout=2).status_code == 200
    except httpx.TransportError:
        return False
