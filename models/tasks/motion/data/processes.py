"""Processes that work on scenes side by side."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context


@contextmanager
def workers(processes: int, doing: str) -> Iterator[ProcessPoolExecutor]:
    """Processes that begin anew; what is sent to them are functions of modules.

    Args:
        doing: what they do, in a word, for the error.

    Raises:
        ChildProcessError: one died.
    """
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        try:
            yield pool
        except BrokenExecutor as error:
            raise ChildProcessError(
                f"a process that was {doing} died ({error}); give it memory, or take fewer processes, and start again"
            ) from error
