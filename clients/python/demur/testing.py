"""Contract tests for tasks of your own; part of the distribution ``demur``, for pytest.

>>> from demur.testing import Example, Refusal, TaskContract  # doctest: +SKIP

A class ``TestMine(TaskContract)`` with the task's entry, table of answers, artefact and an example request collects the
tests. ``TaskContract`` says what to declare.
"""

from typing import Any

from demur._extensions import extension

_implementation = extension("testing", "demur[testing]")


def __getattr__(name: str) -> Any:
    return getattr(_implementation, name)


def __dir__() -> list[str]:
    names: list[str] = _implementation.__all__
    return names
