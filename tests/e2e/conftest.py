"""A whole service as users start it: `demur up` in a directory and on ports of its own."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.ports import free_offset

PROJECT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Installation:
    """A home directory with ports of its own, and the command line on it."""

    home: Path
    offset: int

    def run(self, *words: str, timeout: float = 240, **environment: str) -> subprocess.CompletedProcess[str]:
        """One `demur` command to its end."""
        return subprocess.run(
            [sys.executable, "-m", "services.cli", *words],
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=PROJECT,
            env=self.environment(**environment),
        )

    def environment(self, **more: str) -> dict[str, str]:
        return os.environ | {"DEMUR_HOME": str(self.home), "DEMUR_PORT_OFFSET": str(self.offset)} | more

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{3005 + self.offset}"

    @property
    def monitor(self) -> str:
        return f"http://127.0.0.1:{3000 + self.offset}"

    @property
    def grpc(self) -> str:
        return f"127.0.0.1:{4005 + self.offset}"


@pytest.fixture(scope="package")
def installations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Installation]]:
    """Makes installations; each gets other ports, and is stopped after the last of these tests."""
    made: list[Installation] = []

    def make() -> Installation:
        made.append(Installation(tmp_path_factory.mktemp("home"), free_offset()))
        return made[-1]

    yield make
    for installation in made:
        installation.run("down")


@pytest.fixture(scope="package")
def served(installations: Callable[[], Installation]) -> Installation:
    """The services, up and ready."""
    installation = installations()
    started = installation.run("up", "--detach")
    assert started.returncode == 0, started.stdout + started.stderr
    status = json.loads(installation.run("status", "--json").stdout)
    assert status["services"]["vessel"]["ready"], status
    return installation


@contextmanager
def started(installation: Installation, log: Path, *words: str, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """The process of a `demur` command that runs until it is stopped."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "services.cli", *words],
            cwd=PROJECT,
            env=installation.environment(**settings),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def serving(installation: Installation, log: Path, *options: str, **settings: str) -> Iterator[None]:
    """A vessel service once it is ready."""
    with started(installation, log, "serve", "vessel", *options, **settings) as process:
        until_ready(installation.http, process, log)
        yield


@contextmanager
def monitoring(installation: Installation, log: Path) -> Iterator[None]:
    """The monitor once it is ready."""
    with started(installation, log, "monitor") as process:
        until_ready(installation.monitor, process, log)
        yield


def until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    while True:
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
