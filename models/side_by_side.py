"""Trains members in processes of their own, one thread each: two cores train two members in the time of one."""

from __future__ import annotations

import multiprocessing
import queue
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from typing import Any

Tell = Callable[[float, str], None]
"""Told the share done, 0 to 1, and a line."""

_POLL_SECONDS = 1.0


def seeds(seed: int, members: int) -> tuple[int, ...]:
    """Of members.

    Raises:
        ValueError: no members.
    """
    if members < 1:
        raise ValueError(f"an ensemble needs at least one member, got {members}")
    return tuple(seed * 1000 + member for member in range(members))


def train_members(
    train: Callable[[int, Tell], None],
    seeds: Sequence[int],
    *,
    jobs: int = 1,
    progress: Tell = lambda done, what: None,
) -> None:
    """Trains the members of all seeds, ``jobs`` at a time.

    Args:
        train: trains the member of a seed, and keeps it somewhere; a function of a module with its first arguments
            filled in (``functools.partial``), because it is sent to new processes.

    Raises:
        RuntimeError: a member's process failed; the message says why. The others are stopped.
    """
    context = multiprocessing.get_context("spawn")
    told: Any = context.Queue()
    waiting, shares = list(seeds), dict.fromkeys(seeds, 0.0)
    running: dict[int, BaseProcess] = {}
    try:
        while waiting or running:
            while waiting and len(running) < max(jobs, 1):
                seed = waiting.pop(0)
                running[seed] = context.Process(target=_run, args=(train, seed, told), daemon=True)
                running[seed].start()
            for seed, share, line in _news(told):
                if share is None:
                    raise RuntimeError(f"member {seed}: {line}")
                shares[seed] = share
                progress(sum(shares.values()) / len(shares), line)
            for seed, process in list(running.items()):
                if process.exitcode is not None:
                    del running[seed]
                    for _, share, line in _news(told, wait=False):
                        if share is None:
                            raise RuntimeError(f"member {seed}: {line}")
                    if process.exitcode:
                        raise RuntimeError(f"member {seed}: its process ended with code {process.exitcode}")
                    shares[seed] = 1.0
    finally:
        for process in running.values():
            process.terminate()
            process.join()


def _run(train: Callable[[int, Tell], None], seed: int, told: Any) -> None:
    try:
        import torch

        torch.set_num_threads(1)
        train(seed, lambda share, line: told.put((seed, share, line)))
    except Exception as error:
        told.put((seed, None, f"{type(error).__name__}: {error}"))


def _news(told: Any, *, wait: bool = True) -> list[tuple[int, float | None, str]]:
    found = []
    try:
        found.append(told.get(timeout=_POLL_SECONDS if wait else 0.05))
        while True:
            found.append(told.get_nowait())
    except queue.Empty:
        return found
