"""Runner of parallel jobs, each in a process of one thread, with progress lines and a log file each."""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

Tell = Callable[[object], None]
EVERY = 10.0
"""Time between two progress lines of one job, s."""
_ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


class Job(Protocol):
    """Picklable piece of work whose result is a file."""

    @property
    def name(self) -> str: ...

    @property
    def done(self) -> bool: ...

    def __call__(self, tell: Tell) -> None: ...


@dataclass(frozen=True)
class Piece:
    """Job that makes one file."""

    name: str
    target: Path
    work: Callable[[Tell], None]

    @property
    def done(self) -> bool:
        """True if the file exists."""
        return self.target.exists()

    def __call__(self, tell: Tell) -> None:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self.work(tell)


def save_arrays(path: Path, *, compressed: bool = True, **arrays: ArrayLike) -> None:
    """Write arrays to a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part.npz")
    (np.savez_compressed if compressed else np.savez)(part, allow_pickle=False, **arrays)
    part.replace(path)


def run(jobs: Sequence[Job], workers: int, logs: Path) -> None:
    """Run all unfinished jobs in their order; with one worker in this process.

    Raises:
        Exception: the exception of the first failing job; jobs that run are finished, the others are not started.
    """
    left = [job for job in jobs if not job.done]
    if not left:
        return
    logs.mkdir(parents=True, exist_ok=True)
    say(f"{len(left)} of {len(jobs)} jobs to do: {left[0].name} ... {left[-1].name}")
    started = time.monotonic()
    if workers == 1:
        for job in left:
            _one(job, logs)
        return
    os.environ.update(_ONE_THREAD)  # before the libraries of a new process are loaded
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_start, initargs=(os.getpid(),)
    ) as pool:
        futures = {pool.submit(_one, job, logs): job for job in left}
        try:
            for number, future in enumerate(as_completed(futures), start=1):
                future.result()
                spent = time.monotonic() - started
                left_s = spent / number * (len(left) - number)
                say(f"{number}/{len(left)} done in {spent:.0f} s, about {left_s:.0f} s left")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def say(line: str) -> None:
    """Write a line with the time to standard error."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stderr.flush()


def _one(job: Job, logs: Path) -> None:
    last = [0.0]
    started = time.monotonic()
    with (logs / f"{job.name}.log").open("a") as log:

        def tell(state: object) -> None:
            log.write(f"{time.strftime('%H:%M:%S')} {state}\n")
            log.flush()
            if time.monotonic() - last[0] > EVERY:
                last[0] = time.monotonic()
                say(f"{job.name}: {state}")

        job(tell)
        tell(f"finished in {time.monotonic() - started:.1f} s")


def _start(parent: int) -> None:
    """Use one thread, and end with the parent process."""
    import torch

    torch.set_num_threads(1)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
