"""How the released code of a task takes areas and ties."""

from __future__ import annotations

import importlib
import importlib.util

from models.assessment.convention import OFFICIAL, Convention
from models.assessment.figures import Rules


def rules(task: str, convention: Convention = OFFICIAL) -> Rules:
    """What ``rules`` of the task's ``spec`` says; the common way for tasks that say nothing, or are not known here."""
    name = f"models.tasks.{task}.spec"
    try:
        known = task.isidentifier() and importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # no such package
        known = False
    own = getattr(importlib.import_module(name), "rules", Rules) if known else Rules
    found: Rules = own(convention)
    return found
