"""Worker processes for scenes."""

from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context


@contextmanager
def workers(processes: int, doing: str) -> Iterator[ProcessPoolExecutor]:
    """Open a pool of spawned processes; tasks must be functions of modules.

    Args:
        doing: one word for the work, for the error message.

    Raises:
        ChildProcessError: a process died.
    """
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        try:
            yield pool
        except BrokenExecutor as error:
            raise ChildProcessError(
                f"a process that was {doing} died ({error}); give it memory, or take fewer processes, and start again"
            ) from error
