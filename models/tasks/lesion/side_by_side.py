"""Trains members in processes of their own, one thread each: two cores train two members in the time of one."""

from __future__ import annotations

import multiprocessing
import queue
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from models.tasks.lesion.examples import Example
from models.tasks.lesion.settings import Settings

TRAIN, DEV = "train", "dev_in"
_POLL_SECONDS = 1.0


def train_member(scans: Path, folder: Path, settings: Settings, seed: int, tell: Callable[[float, str], None]) -> None:
    """Trains one member with one thread; it lies in ``folder`` afterwards (``training.finished``).

    Args:
        scans: folder of stored examples (``examples.Example``), in subfolders ``train`` and ``dev_in``.
        tell: told the share done, and a line.

    Raises:
        ValueError, FloatingPointError: as ``training.train``.
    """
    import torch

    from models.tasks.lesion import training

    torch.set_num_threads(1)
    data = {
        name: [Example.load(path) for path in sorted((scans / name).iterdir()) if not path.name.startswith(".")]
        for name in (TRAIN, DEV)
    }
    training.train(
        data[TRAIN],
        data[DEV],
        settings,
        seed,
        folder=folder,
        progress=lambda state: tell(state.share, str(state)),
    )


def train_members(
    scans: Path,
    folder: Path,
    settings: Settings,
    seeds: Sequence[int],
    *,
    jobs: int = 1,
    progress: Callable[[float, str], None] = lambda done, what: None,
) -> None:
    """Trains the members of all seeds, ``jobs`` at a time; those that are finished in ``folder`` are left alone.

    Raises:
        RuntimeError: a member's process failed; the message says why. The others are stopped; what was saved stays.
    """
    context = multiprocessing.get_context("spawn")
    told: Any = context.Queue()
    waiting, shares = list(seeds), dict.fromkeys(seeds, 0.0)
    running: dict[int, BaseProcess] = {}
    try:
        while waiting or running:
            while waiting and len(running) < max(jobs, 1):
                seed = waiting.pop(0)
                running[seed] = context.Process(target=_run, args=(scans, folder, settings, seed, told), daemon=True)
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


def _run(scans: Path, folder: Path, settings: Settings, seed: int, told: Any) -> None:
    try:
        train_member(scans, folder, settings, seed, lambda share, line: told.put((seed, share, line)))
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
