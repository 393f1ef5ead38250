"""`demur down` signals the process that holds the lock, and nobody else."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.cli import main
from services.cli.processes import Held, check_free, hold

HOLDER = """
import fcntl, sys, time
file = open(sys.argv[1], "a+")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEMUR_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def holder(home: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock; it writes nothing into it."""
    command = [sys.executable, "-c", HOLDER, str(home / "up.lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_without_a_lock_file_nothing_is_up(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["down"]) == 0
    assert capsys.readouterr().out == "nothing is up\n"


@pytest.mark.parametrize("text", ["{pid}", "no number", ""])
def test_a_lock_file_that_nobody_holds_is_only_a_file(
    home: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """The process id in it may by now be another program's."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as stranger:
        (home / "up.lock").write_text(text.format(pid=stranger.pid))
        assert main(["down", "--seconds", "1"]) == 0
        assert stranger.poll() is None
        stranger.kill()
    assert capsys.readouterr().out == "nothing is up\n"


def test_the_holder_is_stopped(home: Path, holder: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]) -> None:
    (home / "up.lock").write_text(str(holder.pid))
    assert main(["down", "--seconds", "10"]) == 0
    assert holder.wait(60) == -15
    assert capsys.readouterr().out == f"stopped pid {holder.pid}\n"


@pytest.mark.parametrize("text", ["no number", "", "-1", "0", "1", "²"])
def test_a_holder_without_a_process_id_is_left_alone(
    home: Path, holder: subprocess.Popen[str], capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (home / "up.lock").write_text(text)
    assert main(["down"]) == 1
    assert "does not say as which process" in capsys.readouterr().err
    assert holder.poll() is None


def test_the_lock_names_its_holder(home: Path) -> None:
    with hold(home):
        with pytest.raises(Held) as caught:
            check_free(home)
        assert caught.value.pid == os.getpid()
        with pytest.raises(Held), hold(home):
            pass
    check_free(home)
