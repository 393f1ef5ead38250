"""Entry of a task in the registry: where its code is, and how it is served by default."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TaskEntry:
    """A task: places of its code as ``module:name``, port, and settings whose defaults differ from those of others."""

    port: int
    """TCP port of HTTP unless settings name another."""
    served_model: str
    """Function that assembles the served model from an artefact."""
    default_model: str
    """Name of the reference artefact, which is served unless settings name another."""
    importer: str = ""
    """Function that turns a folder of released checkpoints into an artefact folder; empty: there is none."""
    workbench: str = ""
    """Module behind ``demur data`` and ``demur train``; empty: there is none."""
    predictions: str = ""
    """Reader of the task's prediction files for ``demur evaluate``; empty: there is none."""
    scorer: str = ""
    """Scorer of the task's files for ``demur score``; empty: the task scores rows, see ``row_files``."""
    row_files: str = ""
    """Description of the task's files of rows: columns of labels, and the benchmark's submission."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Settings whose default differs from that of all tasks."""
    review_view: str = "rows"
    """View of its inputs in the review console: ``rows``, or one of the files in ``services/review/static/views``."""
    review_scene: str = ""
    """Function of a kept input's bytes that returns its scene for the console as plain values; empty: there is none."""
    label_studio: str = "services.transport.label_studio.rows:ROWS"
    """Converter of its inputs and labels for Label Studio; unless named, that of rows."""
    started: bool = True
    """Whether ``demur up`` starts it."""

    def build(self) -> Any:
        """Import and return the function under ``served_model``."""
        return imported(self.served_model)


def imported(place: str) -> Any:
    """Import and return what a place, ``module:name``, stands for."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
