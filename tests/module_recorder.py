"""Records which modules the code of a block runs through, in all threads that started under the recorder."""

import asyncio
import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
ROOT = f"{PROJECT}/"
FOLDERS = ("services/", "models/")


class ModuleRecorder:
    """Recorder of the modules of services and models that are entered.

    It observes its own thread and those that start later, except tasks of the event loop that run already when a record
    begins: these are work in the background.
    """

    def __init__(self) -> None:
        self._on = False
        self._entered: dict[str, None] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._ignored: tuple[str, ...] = ()

    @contextmanager
    def installed(self) -> Iterator["ModuleRecorder"]:
        """Observe this thread, and threads that start in the block."""
        threading.setprofile(self._observe)
        sys.setprofile(self._observe)
        try:
            yield self
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    @contextmanager
    def recorded(self, *ignored: str) -> Iterator[list[str]]:
        """Yield a list that holds the paths of entered modules at the end of the block, in order.

        Args:
            ignored: prefixes of the names of threads that work in the background only.
        """
        gc.collect()
        gc.disable()  # finalisers of what earlier tests left would be recorded
        self._entered.clear()
        self._background, self._ignored = _other_tasks(), ignored
        modules: list[str] = []
        self._on = True
        try:
            yield modules
        finally:
            self._on = False
            gc.enable()
            modules.extend(self._entered)

    def _observe(self, frame: FrameType, event: str, argument: Any) -> None:
        if not self._on or event != "call" or not frame.f_code.co_filename.startswith(ROOT):
            return
        relative = frame.f_code.co_filename[len(ROOT) :]
        if relative.startswith(FOLDERS) and relative not in self._entered and not self._in_background():
            self._entered[relative] = None

    def _in_background(self) -> bool:
        if threading.current_thread().name.startswith(self._ignored or ("\0",)):
            return True
        try:
            return asyncio.current_task() in self._background
        except RuntimeError:  # no event loop in this thread
            return False


def _other_tasks() -> set[asyncio.Task[Any]]:
    try:
        return asyncio.all_tasks() - {asyncio.current_task()}
    except RuntimeError:
        return set()
