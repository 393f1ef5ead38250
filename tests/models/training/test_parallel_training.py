"""Members train in processes: all of them, a few at a time, and one that fails says why."""

import os
import time
from functools import partial
from pathlib import Path

import pytest

from models.training import parallel_training
from models.training.checkpoints import Checkpoints
from models.workbench import Progress

pytestmark = pytest.mark.long


def write(folder: Path, seed: int, tell: Progress) -> None:
    tell(0.5, f"half of {seed}")
    (folder / f"{seed}").write_text(str(os.getpid()))


def fail(seed: int, tell: Progress) -> None:
    if seed == 2:
        raise FloatingPointError("the loss is nan")
    time.sleep(600)  # longer than a test may take


def leave(seed: int, tell: Progress) -> None:
    os._exit(3)


def test_every_member_trains_in_a_process_of_its_own(tmp_path: Path) -> None:
    shares: list[float] = []
    parallel_training.train_members(
        partial(write, tmp_path), [4, 5, 6], jobs=2, progress=lambda done, what: shares.append(done)
    )
    processes = {(tmp_path / str(seed)).read_text() for seed in (4, 5, 6)}
    assert len(processes) == 3
    assert str(os.getpid()) not in processes
    assert shares == sorted(shares)


def test_a_member_that_fails_says_why_and_stops_the_others() -> None:
    with pytest.raises(RuntimeError, match="member 2: FloatingPointError: the loss is nan"):
        parallel_training.train_members(fail, [1, 2], jobs=2)


def test_a_process_that_vanishes_is_named() -> None:
    with pytest.raises(RuntimeError, match="member 7: its process ended with code 3"):
        parallel_training.train_members(leave, [7])


def test_a_state_lasts_until_the_result_is_there(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path, 3)
    assert kept.state() is None
    assert kept.finished() is None
    kept.save({"step": 1})
    kept.save({"step": 2})
    assert kept.state() == {"step": 2}
    kept.finish({"steps": 5})
    assert kept.state() is None
    assert Checkpoints(tmp_path, 3).finished() == {"steps": 5}
    assert Checkpoints(tmp_path, 4).finished() is None
    assert [path.name for path in tmp_path.iterdir()] == ["member-3.pt"]
