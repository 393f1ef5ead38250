"""What a test has to know of a toy: how it is assembled, and requests with known outcomes."""

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from models.calibration import Calibration
from services.transport.served_model import Parts, ServedModel

Body = dict[str, Any]
STEP_SECONDS = 0.01
"""Declared duration of a toy's quantum: long enough for a lane thread."""


class Probe:
    """Sees every quantum that a toy runs, and can hold them at a gate."""

    def __init__(self) -> None:
        self.executed: list[Any] = []
        """What each quantum worked on, in the order of execution."""
        self._permits = math.inf
        self._changed = threading.Condition()

    def hold(self) -> None:
        """Quanta that begin from now on wait."""
        with self._changed:
            self._permits = 0

    def release(self, quanta: float = math.inf) -> None:
        """Lets so many quanta pass."""
        with self._changed:
            self._permits += quanta
            self._changed.notify_all()

    def quantum(self, label: Any) -> None:
        """Called inside each quantum."""
        self.executed.append(label)
        with self._changed:
            if not self._changed.wait_for(lambda: self._permits > 0, 300):
                raise TimeoutError("nobody opened the gate")
            self._permits -= 1


@dataclass(frozen=True)
class Refusal:
    """A body that validation refuses, and the fields of the error."""

    body: Body
    error: Mapping[str, Any]


@dataclass(frozen=True)
class Toy:
    """A tenant with requests whose outcome is known."""

    name: str
    calibrations: Mapping[str, Calibration]
    build: Callable[[Parts, Probe], ServedModel]
    good: Body
    """Two items or one, all certain: everything is answered."""
    items: int
    doubtful: Body
    """Items of ``good``, the last of which is uncertain in its first head only: that unit is deferred."""
    unknowable: Body
    """An item whose first uncertainty is NaN."""
    strange: Body
    """Certain, but outside the range of training."""
    refusals: tuple[Refusal, ...]
    failing: Body
    """One item on which the model raises; where the toy has several, the others are good."""
    fails_alone: bool
    """True where the failing item is answered by an item error, False where the request is one item."""
    slow: Body
    """Many quanta."""
    quanta: int
    """Of ``slow``."""
    good_quanta: int
    """Of ``good``."""
    strict: Mapping[str, float] = field(default_factory=dict)
    """Head to a threshold that none of ``good`` reaches."""
