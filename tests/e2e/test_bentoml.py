"""`bentoml serve`, which serves what `demur serve` does, in BentoML's own two processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil
import pytest

import demur
from tests.e2e.conftest import PROJECT
from tests.ports import free_ports


@pytest.mark.long
def test_bentoml_serves_the_same_service(tmp_path: Path) -> None:
    http_port, grpc_port = free_ports(2)
    settings = {
        "DEMUR_TASK": "vessel",
        "DEMUR_HOME": str(tmp_path / "home"),
        "DEMUR_HTTP_PORT": str(http_port),
        "DEMUR_GRPC_PORT": str(grpc_port),
    }
    command = [sys.executable, "-m", "bentoml", "serve", "services.app.bento:Demur", "--working-dir", str(PROJECT)]
    log, url = tmp_path / "log", f"http://127.0.0.1:{http_port}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(http_port)],
            cwd=PROJECT,
            env=os.environ | settings,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        while not _ready(url):
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        family = psutil.Process(process.pid).children(recursive=True)
        assert family, "BentoML supervises the process that serves"
        assert httpx.get(f"{url}/livez").text == "\n"
        assert httpx.post(f"{url}/readyz").json()["error"]["code"] == "method_not_allowed"
        assert httpx.get(f"{url}/docs.json").json()["error"]["code"] == "no_route", "BentoML's own routes are removed"
        with demur.connect(f"127.0.0.1:{grpc_port}") as client:
            assert client.vessel.describe().model.startswith("vessel-dnn-10:")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, log.read_text()
        assert not [member for member in family if member.is_running() and member.status() != psutil.STATUS_ZOMBIE]
    finally:
        process.kill()
        process.wait()


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False
