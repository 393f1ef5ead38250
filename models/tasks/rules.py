"""Look up modules of a task by name, and its assessment rules: areas and ties as in its released code."""

import importlib
import importlib.util
from types import ModuleType

from models.assessment.convention import OFFICIAL, Convention
from models.assessment.figures import Rules


def task_module(task: str, name: str) -> ModuleType | None:
    """Return a module of a task's package, such as ``spec``; None if the task is unknown or has no such module."""
    path = f"models.tasks.{task}.{name}"
    try:
        known = task.isidentifier() and importlib.util.find_spec(path) is not None
    except ModuleNotFoundError:  # no such package
        known = False
    return importlib.import_module(path) if known else None


def rules(task: str, convention: Convention = OFFICIAL) -> Rules:
    """Return the value of ``rules`` in the task's ``spec``; the default for tasks without it, or that are unknown."""
    task_rules: Rules = getattr(task_module(task, "spec"), "rules", Rules)(convention)
    return task_rules
