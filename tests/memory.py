"""Memory of each process that runs tests: given back between modules, and bounded.

Four things would keep it unneeded: caches of test modules (``functools.cache``), cycles of objects that the collector
has not come to, the arena that ONNX Runtime's sessions of large graphs share, and the free lists of malloc, which serve
many threads and return little by themselves. Processes of pytest-xdist send their figures to the one that reports.
"""

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MOST_MEGABYTES = 1000
"""Held after any module, when what it needed is given back; `DEMUR_TEST_MEGABYTES` is another bound."""
_WORTH_MEGABYTES = 16  # growth from which giving back is worth its time
_ARENA_MAX, _MMAP_THRESHOLD = -8, -3
"""Parameters of mallopt (malloc.h). One heap can be trimmed whole; those of threads keep their ends."""
_OWN_PAGES_BYTES = 1 << 20
"""Blocks from this size have pages of their own, which go back to the system when they are freed."""
_SENT = "demur_memory"
Held = tuple[int, str]
"""Memory after a module in MB, and the module."""
_STATUS = Path("/proc/self/status")
TESTS = Path(__file__).parent
"""The folder of all tests."""


def held() -> int:
    """Resident anonymous memory of this process, MB of 2^20 bytes; 0 where the system does not tell.

    Pages of library files, some 300 MB, are left out: the system takes them back when it needs them.
    """
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) >> 10 for line in lines if line.startswith("RssAnon:")), 0)


def folder_left(ended: Path, following: Path | None) -> bool:
    """Tell whether the next test module, if any, is outside the folder of the one that ended."""
    return following is None or ended.parent not in following.parents


def clear_caches(ended: Path, following: Path | None) -> None:
    """Clear the caches of a test module that ended.

    When its folder is left, clear those of all test modules, since tests also fill caches in other folders; the folders
    that the following module lies in keep theirs.
    """
    left = folder_left(ended, following)
    kept = () if following is None else following.parents
    for module in list(sys.modules.values()):
        if not (name := getattr(module, "__file__", None)):
            continue
        path = Path(name)
        if path == ended or (left and path.is_relative_to(TESTS) and path.parent not in kept):
            for value in vars(module).values():
                if isinstance(value, _lru_cache_wrapper):
                    value.cache_clear()


def shrink_arena() -> None:
    """Give back what no session needs of the arena that sessions of large graphs share, if there is one."""
    sessions = sys.modules.get("models.executors.sessions")
    if sessions is None or not sessions._make_shared_arena.cache_info().currsize:
        return
    import onnxruntime

    try:
        from onnx import TensorProto, helper
    except ModuleNotFoundError:  # a machine that serves only
        return
    value = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"}
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "nothing", [value["x"]], [value["y"]])
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    options, run = onnxruntime.SessionOptions(), onnxruntime.RunOptions()
    options.add_session_config_entry("session.use_env_allocators", "1")
    run.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    session.run(None, {"x": np.ones(1, np.float32)}, run)


class Memory:
    """Plugin of pytest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._modules: list[Held] = []
        try:
            library = ctypes.CDLL(None)
            self._trim = library.malloc_trim
            library.mallopt(_ARENA_MAX, 1)
            library.mallopt(_MMAP_THRESHOLD, _OWN_PAGES_BYTES)
        except (AttributeError, OSError):  # another C library
            self._trim = lambda left: None

    def give_back(self) -> int:
        """Return what nobody needs to the system; what is held after that, MB."""
        gc.collect()
        shrink_arena()
        self._trim(0)
        return held()

    def pytest_collection_finish(self) -> None:
        """Modules and tests stay to the end: the collector need not look at them again."""
        gc.collect()
        gc.freeze()
        self._held = held()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        result = yield
        if nextitem is None or nextitem.path != item.path:
            following = None if nextitem is None else nextitem.path
            if folder_left(item.path, following) or held() > self._held + _WORTH_MEGABYTES:
                clear_caches(item.path, following)
                self._held = self.give_back()
            self._modules.append((self._held, item.nodeid.partition("::")[0]))
        return result

    @property
    def too_large(self) -> list[Held]:
        """Modules after which too much was held."""
        return [module for module in self._modules if module[0] > self._most]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A process of pytest-xdist has ended, and sent its figures."""
        self._modules += getattr(node, "workeroutput", {}).get(_SENT, [])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        sent: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if sent is not None:
            sent[_SENT] = self._modules
        elif self.too_large and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._modules and (most := max(self._modules))[0]:
            terminalreporter.write_line(f"memory: at most {most[0]} MB held after a module ({most[1]})")
        if too_large := self.too_large:
            terminalreporter.write_line(
                f"ERROR memory: {too_large[0][0]} MB held after {too_large[0][1]}; at most {self._most} MB are allowed "
                "(tests/memory.py): give fixtures a smaller scope, keep no large arrays in modules",
                red=True,
            )


def most_megabytes() -> int:
    """The bound, MB."""
    return int(os.environ.get("DEMUR_TEST_MEGABYTES", MOST_MEGABYTES))
