"""Operating-system calls: which process ends with which, and threads of lower priority."""

import ctypes
import os
import struct
import sys
import threading

import pytest

from services.runtime import system

GET_ATTRIBUTES = {"x86_64": 315, "aarch64": 275}
ATTRIBUTES = struct.Struct("=IIQiIQQQ")


@pytest.mark.parametrize(("parent", "asked"), [(0, False), (1, True), (77, True)])
def test_the_first_process_of_a_container_does_not_end_with_its_runtime(
    monkeypatch: pytest.MonkeyPatch, parent: int, asked: bool
) -> None:
    calls: list[tuple[int, int]] = []

    class Library:
        def prctl(self, *given: int) -> None:
            calls.append((given[0], given[1]))

    monkeypatch.setattr(system.os, "getppid", lambda: parent)
    monkeypatch.setattr(system.ctypes, "CDLL", lambda _: Library())
    system.die_with_parent()
    assert bool(calls) == asked


def attributes() -> tuple[int, ...]:
    """Return what the kernel knows of this thread, as ``sched_attr`` of sched_setattr(2) has it."""
    buffer = ctypes.create_string_buffer(ATTRIBUTES.size)
    ctypes.CDLL(None).syscall(GET_ATTRIBUTES[os.uname().machine], 0, buffer, ATTRIBUTES.size, 0)
    return ATTRIBUTES.unpack(buffer.raw)


@pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine not in GET_ATTRIBUTES, reason="the call is Linux's on these machines"
)
def test_a_thread_of_lower_priority_is_nicer_and_soon_gives_way() -> None:
    seen: list[tuple[int, ...]] = []

    def run() -> None:
        system.lower_priority(5)
        seen.append(attributes())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    before, (after,) = attributes(), seen
    nice, slice_nanoseconds = 3, 5
    assert after[nice] == min(before[nice] + 5, 19)
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    if release >= (6, 12):  # older kernels report no slice
        assert after[slice_nanoseconds] == 100_000 < before[slice_nanoseconds]
    assert attributes() == before
