"""Ships that ask a running service what power they need, and people who measure it when they are asked."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpx
import numpy as np

from models.tasks.vessel.data.table import NAMES
from simulators.vessel.dataset import Table, simulate

ROWS = 25
"""Of one call."""


@cache
def splits(scale: float = 0.05) -> dict[str, Table]:
    """The canonical partition."""
    return simulate(scale, 0)


class Ships:
    """Calls of rows drawn from one split of the simulator, at a steady rate, from a thread of their own."""

    def __init__(self, url: str, split: str = "eval_in", rate: float = 20.0) -> None:
        """
        Args:
            rate: calls a second.
        """
        self.split = split
        self.calls = 0
        self._url, self._rate = url, rate
        self._random = np.random.default_rng(0)
        self._tables = splits()
        self._stop = threading.Event()
        self.error: Exception | None = None

    def run(self) -> None:
        start, sent = time.monotonic(), 0
        with httpx.Client(base_url=self._url, timeout=20) as client:
            while not self._stop.is_set():
                try:
                    client.post("/v1/predict", json={"rows": self._rows()}).raise_for_status()
                except Exception as error:
                    self.error = error
                    return
                self.calls += 1
                sent += 1
                self._stop.wait(max(0.0, start + sent / self._rate - time.monotonic()))

    def stop(self) -> None:
        self._stop.set()

    def _rows(self) -> list[dict[str, float]]:
        table = self._tables[self.split]
        chosen = self._random.integers(0, len(table), ROWS)
        return [dict(zip(NAMES, row, strict=True)) for row in table.features[chosen].tolist()]


class Crew:
    """Answers the service's requests for labels: knows the power of a row, not what was predicted or decided."""

    def __init__(self, url: str) -> None:
        self.labels = 0
        self.error: Exception | None = None
        self._url = url
        self._stop = threading.Event()
        self._known = {
            row.tobytes(): power
            for table in splits().values()
            for row, power in zip(table.features, table.power.tolist(), strict=True)
        }

    def run(self) -> None:
        with httpx.Client(base_url=self._url, timeout=20) as client:
            while not self._stop.is_set():
                try:
                    if not self._work(client):
                        self._stop.wait(0.2)
                except Exception as error:
                    self.error = error
                    return

    def stop(self) -> None:
        self._stop.set()

    def _work(self, client: httpx.Client) -> int:
        body = client.post("/v1/requests/claim", json={"count": 100}).raise_for_status().json()
        claimed = body["requests"]
        for request in claimed:
            answer = {"lease": request["lease"], "value": self._measure(request["input"])}
            client.post(f"/v1/requests/{request['request']}/submit", json=answer).raise_for_status()
            self.labels += 1
        return len(claimed)

    def _measure(self, given: Any) -> float:
        row = {column["name"]: column["value"] for column in given["columns"]}
        return self._known[np.array([row[name] for name in NAMES], np.float32).tobytes()]


@contextmanager
def working(*workers: Ships | Crew) -> Iterator[None]:
    """They work during the block.

    Raises:
        AssertionError: one of them was refused.
    """
    threads = [threading.Thread(target=worker.run) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.stop()
        for thread in threads:
            thread.join()
    for worker in workers:
        assert worker.error is None, worker.error
