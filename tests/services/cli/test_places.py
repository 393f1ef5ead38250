"""Run files: who runs where, whatever was left behind."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from services.cli.processes import Running, alive, announce, announced, started

ME = Running("toy", os.getpid(), "127.0.0.1", 3000, 4000, "toy-1:0", started(os.getpid()))


def test_addresses_can_be_used_as_they_are() -> None:
    assert (ME.http, ME.grpc) == ("http://127.0.0.1:3000", "127.0.0.1:4000")
    remote = replace(ME, host="::1")
    assert (remote.http, remote.grpc) == ("http://[::1]:3000", "[::1]:4000")


def test_what_runs_is_found(tmp_path: Path) -> None:
    assert announced(tmp_path) == {}
    announce(tmp_path, ME)
    announce(tmp_path, replace(ME, model="toy-2:0"))
    assert announced(tmp_path) == {"toy": replace(ME, model="toy-2:0")}
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["toy.json"]


def test_another_process_under_the_same_id_is_not_the_service(tmp_path: Path) -> None:
    announce(tmp_path, replace(ME, started=ME.started - 3600))
    assert announced(tmp_path) == {}


@pytest.mark.parametrize("content", [b"", b'{"task": "toy", "pi', b'{"task": "toy", "pid": 1}', b"[]", b"\xff"])
def test_a_run_file_that_cannot_be_read_is_none(tmp_path: Path, content: bytes) -> None:
    announce(tmp_path, ME)
    (tmp_path / "run" / "other.json").write_bytes(content)
    assert announced(tmp_path) == {"toy": ME}


def test_the_dead_are_not_alive() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        since = started(process.pid)
        assert alive(process.pid)
        assert alive(process.pid, since)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not alive(process.pid), "a zombie"
    assert not alive(process.pid, since)
