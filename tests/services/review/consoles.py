"""A service and the review console beside it, as processes of their own."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import demur
from tests.ports import free_offset

PROJECT = Path(__file__).resolve().parents[3]
CSRF = {"x-demur-review": "1"}
SITUATION = {
    "draft_aft_telegram": 12.6,
    "draft_fore_telegram": 12.5,
    "stw": 18.0,
    "diff_speed_overground": 0.0,
    "awind_vcomp_provider": 16.0,
    "awind_ucomp_provider": 5.0,
    "rcurrent_vcomp": 0.1,
    "rcurrent_ucomp": 0.1,
    "comb_wind_swell_wave_height": 1.5,
    "timeSinceDryDock": 1_316_927.0,
}
"""Usual values of the vessel's columns."""
_START_SECONDS = 60.0


@dataclass
class Consoles:
    """Running processes of one home."""

    home: Path
    offset: int
    environment: dict[str, str]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    clients: list[httpx.Client] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{3011 + self.offset}"

    @property
    def vessel(self) -> str:
        """URL of the vessel service."""
        return f"http://127.0.0.1:{3005 + self.offset}"

    def start(self, *words: str) -> None:
        """Start `demur WORDS`; it is known by its last word."""
        log = (self.home / f"{words[-1]}.log").open("ab")
        self.processes[words[-1]] = subprocess.Popen(
            [sys.executable, "-m", "services.cli", *words],
            cwd=PROJECT,
            env=self.environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        log.close()

    def ready(self, url: str, seconds: float = _START_SECONDS) -> None:
        """Wait until a process answers its readiness probe."""
        end = time.monotonic() + seconds
        while True:
            try:
                if httpx.get(f"{url}/readyz").status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            assert time.monotonic() < end, f"{url} is not ready; see {self.home}"
            time.sleep(0.05)

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def client(self, name: str = "anna", token: str = "") -> httpx.Client:
        """A browser's session, as far as cookies go."""
        client = httpx.Client(base_url=self.url, headers=CSRF, timeout=30)
        self.clients.append(client)
        login = client.post("/api/session", json={"token": token} if token else {"name": name})
        assert login.status_code == 200, login.text
        return client

    def situations(self, count: int, seed: int = 0, **options: Any) -> int:
        """Send situations of which many are deferred; return how many."""
        rng = np.random.default_rng(seed)
        columns = {name: np.full(count, value) for name, value in SITUATION.items()}
        columns["awind_vcomp_provider"] = rng.uniform(30, 70, count)
        columns["comb_wind_swell_wave_height"] = rng.uniform(4, 9, count)
        with demur.connect(f"127.0.0.1:{4005 + self.offset}", **options) as client:
            return int((np.asarray(client.vessel.predict(columns).decisions) != 1).sum())


@contextmanager
def consoles(home: Path, services: Sequence[str] = ("vessel",), **settings: str) -> Iterator[Consoles]:
    """Start services and the console; all are killed at the end."""
    offset = free_offset()
    environment = os.environ | {"DEMUR_HOME": str(home), "DEMUR_PORT_OFFSET": str(offset)} | settings
    running = Consoles(home, offset, environment)
    try:
        for service in services:
            running.start("serve", service)
        running.start("review")
        running.ready(running.url)
        for service in services:
            if service == "vessel":
                running.ready(running.vessel)
        yield running
    finally:
        for client in running.clients:
            client.close()
        for name in list(running.processes):
            running.kill(name)
