"""The plugin that gives memory of tests back."""

import functools
import sys
from types import ModuleType

import pytest

from tests.memory import TESTS, clear_caches, folder_left

HERE = TESTS / "models/trees/test_a.py"


@pytest.mark.parametrize(
    ("following", "left"),
    [
        ("models/trees/test_b.py", False),
        ("models/trees/deeper/test_b.py", False),
        ("models/test_b.py", True),
        ("services/test_b.py", True),
        (None, True),
    ],
)
def test_a_folder_is_left_for_what_is_not_below_it(following: str | None, left: bool) -> None:
    assert folder_left(HERE, None if following is None else TESTS / following) is left


@pytest.mark.parametrize(
    ("following", "kept"),
    [
        ("models/trees/test_b.py", {"models/trees/made.py", "models/made.py", "fuzz/made.py"}),
        ("models/weather/test_b.py", {"models/made.py"}),
        (None, set()),
    ],
)
def test_caches_that_outlive_a_module(monkeypatch: pytest.MonkeyPatch, following: str | None, kept: set[str]) -> None:
    names = ("models/trees/test_a.py", "models/trees/made.py", "models/made.py", "fuzz/made.py")
    cached = {name: functools.cache(lambda: object()) for name in (*names, "../models/product.py")}
    for name, function in cached.items():
        module = ModuleType(name)
        module.__file__ = str((TESTS / name).resolve())
        module.function = function  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
        function()
    clear_caches(HERE, None if following is None else TESTS / following)
    assert {name for name, function in cached.items() if function.cache_info().currsize} == {
        *kept,
        "../models/product.py",
    }
