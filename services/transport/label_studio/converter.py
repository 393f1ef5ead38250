"""Interface of converters: what annotators see of an input, and the label that their annotation stands for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

Result = Mapping[str, Any]
"""Result of an annotation: ``from_name``, ``to_name``, ``type``, ``value`` and more, by its type."""
Data = Mapping[str, Any]
"""Fields of a task that the labelling configuration shows, and what reading the annotation back needs."""


class StudioHead(msgspec.Struct, frozen=True):
    """Head as a service describes it."""

    name: str
    kind: str
    unit: str
    label: str
    """Meaning of a label, with its unit."""
    classes: int | None = None
    class_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimedInput:
    """Input of a claimed request."""

    media_type: str
    columns: Sequence[Mapping[str, Any]] = ()
    """Columns of a row with ``name``, ``value``, ``unit``, and ``text`` of categories; empty for other inputs."""
    content: bytes = b""
    """Input as bytes; empty for rows."""


class Converter(Protocol):
    """Converter of the inputs and labels of a task. Numbers have the units of the head and its label."""

    def config(self, head: StudioHead) -> str:
        """Return the labelling configuration of a project, as XML."""
        ...

    def data(self, head: StudioHead, source: ClaimedInput) -> dict[str, Any]:
        """Return the data of a task.

        Raises:
            DemurError: the input is not one of this task.
        """
        ...

    def value(self, head: StudioHead, data: Data, results: Sequence[Result]) -> object:
        """Return the label, a JSON value or the bytes of a file, for which the results of an annotation stand.

        Raises:
            InvalidInput: they are no label of this head, or not of this task's configuration.
        """
        ...

    def predictions(self, head: StudioHead, data: Data, draft: object) -> list[list[dict[str, Any]]]:
        """Return the results of each proposal in a draft, the best first.

        Args:
            draft: see ``LabelRule.prediction``.
        """
        ...
