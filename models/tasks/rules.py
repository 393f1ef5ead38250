"""Assessment rules of a task: areas and ties as in its released code."""

import importlib
import importlib.util

from models.assessment.convention import OFFICIAL, Convention
from models.assessment.figures import Rules


def rules(task: str, convention: Convention = OFFICIAL) -> Rules:
    """Return the value of ``rules`` in the task's ``spec``; the default for tasks without it, or that are unknown."""
    name = f"models.tasks.{task}.spec"
    try:
        known = task.isidentifier() and importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # no such package
        known = False
    own = getattr(importlib.import_module(name), "rules", Rules) if known else Rules
    found: Rules = own(convention)
    return found
