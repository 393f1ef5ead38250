"""Members trained in parallel, each in its own process with one thread."""

import multiprocessing
import os
import queue
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from typing import Any

from models.training.progress import ignore
from models.workbench import Progress

_POLL_SECONDS = 1.0


def seeds(seed: int, members: int) -> tuple[int, ...]:
    """Return the seeds of members.

    Raises:
        ValueError: no members.
    """
    if members < 1:
        raise ValueError(f"an ensemble needs at least one member, got {members}")
    return tuple(seed * 1000 + member for member in range(members))


def train_members(
    train: Callable[[int, Progress], None],
    seeds: Sequence[int],
    *,
    jobs: int | None = None,
    progress: Progress = ignore,
) -> None:
    """Train the members of all seeds, ``jobs`` at a time.

    Args:
        train: function that trains the member of a seed and stores it; a module's function, with arguments filled in by
            ``functools.partial``, because it is sent to new processes.
        jobs: number of processes; by default one per core.

    Raises:
        RuntimeError: a member's process failed; the message says why. The others are stopped.
    """
    jobs = jobs or os.cpu_count() or 1
    context = multiprocessing.get_context("spawn")
    reports: Any = context.Queue()
    waiting, shares = list(seeds), dict.fromkeys(seeds, 0.0)
    running: dict[int, BaseProcess] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                seed = waiting.pop(0)
                running[seed] = context.Process(target=_run, args=(train, seed, reports), daemon=True)
                running[seed].start()
            for seed, share, line in _received(reports):
                if share is None:
                    raise RuntimeError(f"member {seed}: {line}")
                shares[seed] = share
                progress(sum(shares.values()) / len(shares), line)
            for seed, process in list(running.items()):
                if process.exitcode is not None:
                    del running[seed]
                    for _, share, line in _received(reports, wait=False):
                        if share is None:
                            raise RuntimeError(f"member {seed}: {line}")
                    if process.exitcode:
                        raise RuntimeError(f"member {seed}: its process ended with code {process.exitcode}")
                    shares[seed] = 1.0
    finally:
        for process in running.values():
            process.terminate()
            process.join()


def _run(train: Callable[[int, Progress], None], seed: int, reports: Any) -> None:
    try:
        import torch

        torch.set_num_threads(1)
        train(seed, lambda share, line: reports.put((seed, share, line)))
    except Exception as error:
        reports.put((seed, None, f"{type(error).__name__}: {error}"))


def _received(reports: Any, *, wait: bool = True) -> list[tuple[int, float | None, str]]:
    received = []
    try:
        received.append(reports.get(timeout=_POLL_SECONDS if wait else 0.05))
        while True:
            received.append(reports.get_nowait())
    except queue.Empty:
        return received
