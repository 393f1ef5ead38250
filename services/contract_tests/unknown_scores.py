"""A task whose model answers NaN, to see that unknown uncertainty defers."""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Self

import numpy as np

from services.ledger.contract import Portion
from services.request.contract import Done, Task, Units, Work
from services.runtime.task_entry import TaskEntry
from services.transport.served_model import ServedModel


@dataclass(frozen=True)
class UnknownScores(TaskEntry):
    """Entry of a task in which every statistic of every predictive is NaN."""

    @classmethod
    def of(cls, entry: TaskEntry) -> Self:
        """Return the entry with the code and the settings of another."""
        return cls(**{field.name: getattr(entry, field.name) for field in fields(entry)})

    def build(self) -> Callable[..., ServedModel]:
        """Return the function that assembles the served model."""
        assemble = TaskEntry.build(self)

        def served_model(artefact: Any, settings: Any, parts: Any) -> ServedModel:
            unknowing = replace(parts, pipeline=lambda task: parts.pipeline(_Unknowing(task)))
            model: ServedModel = assemble(artefact, settings, unknowing)
            return model

        return served_model


class _Unknowing:
    """Task with the work of another, whose predictives become NaN."""

    def __init__(self, task: Task[Any, Any]) -> None:
        self.name, self.heads = task.name, task.heads
        self._task = task

    def expand(self, request: Any) -> Units[Any]:
        return self._task.expand(request)

    def run(self, units: Units[Any]) -> Work:
        work, result = self._task.run(units), None
        while True:
            try:
                event = work.send(result)
            except StopIteration:
                return
            if isinstance(event, Done):
                event = replace(
                    event, predictives={name: _unknown(predictive) for name, predictive in event.predictives.items()}
                )
            result = yield event

    def collapse(self, units: Units[Any], portion: Portion) -> Any:
        return self._task.collapse(units, portion)


def _unknown(predictive: Any) -> Any:
    """Return a predictive with NaN in place of all numbers."""
    assert is_dataclass(predictive)
    arrays = {field.name: getattr(predictive, field.name) for field in fields(predictive)}
    numbers = {name: array for name, array in arrays.items() if getattr(array, "dtype", np.dtype(int)).kind == "f"}
    return replace(predictive, **{name: np.full_like(array, np.nan) for name, array in numbers.items()})  # type: ignore[type-var]
