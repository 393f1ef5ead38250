"""`demur up` and its relatives, as a person meets them."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from models import artefact
from services.cli import up
from services.cli.processes import Running, announced
from tests.e2e.conftest import PROJECT, Installation, started


def test_a_second_up_names_the_first(served: Installation) -> None:
    second = served.run("up")
    assert second.returncode == 1
    pid = (served.home / "up.lock").read_text()
    assert f"pid {pid}" in second.stderr
    assert served.http in second.stderr


def test_what_up_says_to_try_works(served: Installation) -> None:
    log = (served.home / "up.log").read_text()
    command = log.rpartition("Try:\n")[2].split()
    assert command == [".venv/bin/python", "examples/predict.py", served.grpc]
    tried = subprocess.run([sys.executable, *command[1:]], cwd=PROJECT, capture_output=True, text=True, timeout=240)
    assert tried.returncode == 0, tried.stderr
    assert "full speed into a storm" in tried.stdout


def test_at_the_usual_place_the_example_needs_no_address() -> None:
    vessel = Running("vessel", 1, "127.0.0.1", 3005, 4005, "vessel-dnn-10:0", 0.0)
    assert up._target({"vessel": vessel}) == ""
    assert up._target({"vessel": replace(vessel, host="::1")}) == " '[::1]:4005'"


def test_status(served: Installation) -> None:
    document = json.loads(served.run("status", "--json").stdout)
    vessel = document["services"]["vessel"]
    assert vessel["http"] == served.http
    assert vessel["grpc"] == served.grpc
    assert vessel["ready"] is True
    assert vessel["model"].startswith("vessel-dnn-10:")
    assert "monitor" in document


def test_models(served: Installation) -> None:
    held = json.loads(served.run("models", "list", "--json").stdout)
    assert {model["tag"].partition("-")[0] for model in held} == {
        "lesion",
        "motion",
        "translation",
        "vessel",
        "weather",
    }
    (first, *_) = held
    assert served.run("models", "verify", first["tag"]).returncode == 0
    unknown = served.run("models", "show", "vessel-none:1")
    assert unknown.returncode == 1
    assert "it holds " in unknown.stderr
    assert "vessel-dnn-10:" in unknown.stderr


def test_score_a_file(served: Installation, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    simulated = served.run("data", "vessel", "simulate", "--scale", "0.002", "--out", str(folder), "--json")
    assert simulated.returncode == 0, simulated.stderr
    scored = served.run("score", "vessel", str(folder / "eval_out.csv"), str(tmp_path / "out.csv"), "--json")
    assert scored.returncode == 0, scored.stderr
    counts = json.loads(scored.stdout)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert counts["rows"] == len(lines) - 1 > 0
    assert counts["shifted"] > 0.5 * counts["rows"]  # strong winds, which training never saw
    assert 0 < counts["deferred"] < counts["rows"]


def test_score_keeps_what_was_written_when_it_fails(served: Installation, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    assert served.run("data", "vessel", "simulate", "--scale", "0.02", "--out", str(folder)).returncode == 0
    lines = (folder / "train.csv").read_text().splitlines()
    header, row = lines[0].split(","), lines[6000].split(",")
    assert len(lines) > 9001
    source = tmp_path / "in.csv"
    source.write_text("\n".join(lines))
    same = served.run("score", "vessel", str(source), str(source))
    assert same.returncode == 1
    assert "destroy the input" in same.stderr
    assert source.read_text() == "\n".join(lines)
    for value, words in (("x", "stw = 'x' is not a number"), ("60", "stw = 60 kn")):
        row[header.index("stw")] = value
        source.write_text("\n".join([*lines[:6000], ",".join(row), *lines[6001:]]))
        failed = served.run("score", "vessel", str(source), str(tmp_path / "out.csv"), "--on-error", "fail")
        assert failed.returncode == 1
        assert f"row 5999 (from 0): {words}" in failed.stderr, failed.stderr
        assert "Traceback" not in failed.stderr
        assert len((tmp_path / "out.csv").read_text().splitlines()) == 1 + 5999
        goes_on = served.run("score", "vessel", str(source), str(tmp_path / "out.csv"))
        assert goes_on.returncode == 1
        assert "1 refused" in goes_on.stdout
        written = (tmp_path / "out.csv").read_text().splitlines()
        assert len(written) == len(lines)
        assert words in written[6000]
        assert not (tmp_path / "out.csv.part").exists()


def test_wrong_usage_is_exit_code_2(served: Installation) -> None:
    assert served.run("serve", "weathr").returncode == 2
    assert served.run().returncode == 2


def test_a_corrupt_artefact_is_refused_at_start(installations: Callable[[], Installation], tmp_path: Path) -> None:
    folder = tmp_path / "artefacts" / "vessel"
    artefact.copy(artefact.read(PROJECT / "artefacts" / "vessel" / "dnn-10"), folder / "dnn-10")
    (graph,) = folder.glob("dnn-10/*.onnx")
    content = bytearray(graph.read_bytes())
    content[1000] ^= 1
    graph.write_bytes(content)
    installation = installations()
    refused = installation.run("up", DEMUR_ARTEFACTS=str(tmp_path / "artefacts"))
    assert refused.returncode == 1
    assert "corrupt" in refused.stderr
    assert graph.name in refused.stderr


def test_a_taken_port_is_named(installations: Callable[[], Installation]) -> None:
    installation = installations()
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 3005 + installation.offset))
        squatter.listen()
        refused = installation.run("up")
    assert refused.returncode == 1
    assert f"pid {os.getpid()}" in refused.stderr


def test_a_service_listens_on_its_ports_alone_and_leaves_no_files(
    installations: Callable[[], Installation], tmp_path: Path
) -> None:
    installation = installations()
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with started(installation, tmp_path / "log", "serve", "vessel", TMPDIR=str(temporary)) as process:
        ready = f"{installation.http}/readyz"
        _wait(lambda: process.poll() is not None or _answers(ready), 240)
        service = psutil.Process(process.pid)
        assert service.children(recursive=True) == [], "a service is one process"
        open_ports = {
            connection.laddr.port
            for connection in service.net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        }
        assert open_ports == {3005 + installation.offset, 4005 + installation.offset}, (tmp_path / "log").read_text()
    assert not list(temporary.iterdir())  # nor those of ONNX Runtime's reports to its makers


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except OSError:
        return False


def test_a_service_that_crashes_is_started_again_and_all_die_with_up(
    installations: Callable[[], Installation],
) -> None:
    installation = installations()
    up = subprocess.Popen(
        [sys.executable, "-m", "services.cli", "up"],
        cwd=PROJECT,
        env=installation.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def ready() -> bool:
        return bool(json.loads(installation.run("status", "--json").stdout)["services"]["vessel"]["ready"])

    def up_watches() -> bool:  # what ends while others start ends all
        state = json.loads(installation.run("status", "--json").stdout)
        parts = [*state["services"].values(), state["monitor"], state["review"]]
        return all(part["ready"] for part in parts if part.get("expected", True))

    try:
        _wait(up_watches, 240)
        time.sleep(1)
        crashed = announced(installation.home)["vessel"].pid
        os.kill(crashed, signal.SIGKILL)
        _wait(lambda: "vessel" in announced(installation.home) and ready(), 120)
        assert announced(installation.home)["vessel"].pid != crashed
        assert up.poll() is None
    finally:
        up.send_signal(signal.SIGKILL)
        up.wait()
    _wait(lambda: _refused(3005 + installation.offset) and _refused(4005 + installation.offset), 120)


def _refused(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def _wait(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.2)


def test_a_service_that_cannot_run_its_model_says_why(installations: Callable[[], Installation]) -> None:
    """CUDA is asked for and absent: not ready, with the reason, instead of a silent CPU."""
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has an NVIDIA device")
    refused = installations().run("up", DEMUR_PROVIDER="cuda")
    assert refused.returncode == 1
    assert re.search(r"demur up: \w+ failed to start: ", refused.stderr)
    assert "demur[cuda]" in refused.stderr or "CUDAExecutionProvider was asked for" in refused.stderr


def test_a_damaged_copy_in_the_store_is_replaced(served: Installation) -> None:
    held = json.loads(served.run("models", "list", "--json").stdout)
    first = next(model for model in held if model["tag"].startswith("vessel-"))
    graph = Path(first["path"]) / "ensemble.onnx"
    graph.write_bytes(graph.read_bytes()[:-1])
    assert served.run("models", "verify", first["tag"]).returncode == 1
    name = first["tag"].partition(":")[0].removeprefix("vessel-")
    assert served.run("models", "import", "vessel", str(PROJECT / "artefacts" / "vessel" / name)).returncode == 0
    assert served.run("models", "verify", first["tag"]).returncode == 0
