"""Who ends with whom."""

import pytest

from services.runtime import system


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
