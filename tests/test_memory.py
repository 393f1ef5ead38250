"""The plugin that gives memory of tests back."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.memory import clear_caches, folder_left

HERE = Path("/project/tests/models/trees/test_a.py")


@pytest.mark.parametrize(
    ("following", "left"),
    [
        ("/project/tests/models/trees/test_b.py", None),
        ("/project/tests/models/trees/deeper/test_b.py", None),
        ("/project/tests/models/test_b.py", "/project/tests/models/trees"),
        ("/project/tests/services/test_b.py", "/project/tests/models"),
    ],
)
def test_the_outermost_folder_that_is_left(following: str, left: str | None) -> None:
    assert folder_left(HERE, Path(following)) == (None if left is None else Path(left))


def test_after_the_last_test_its_own_folder_is_left() -> None:
    assert folder_left(HERE, None) == HERE.parent


def test_caches_below_a_folder_that_is_left_are_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    cached = {name: functools.cache(lambda: object()) for name in ("trees/made.py", "other/made.py")}
    for name, function in cached.items():
        module = ModuleType(name)
        module.__file__ = str(HERE.parents[1] / name)
        module.function = function  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
        function()
    clear_caches(HERE, HERE.parent)
    assert [one.cache_info().currsize for one in cached.values()] == [0, 1]
