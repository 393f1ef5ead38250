"""Served model: a task with its pipeline and its bindings to protocols."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from models.calibration import Calibration
from services.request.contract import Description, Task
from services.request.pipeline import Pipeline
from services.transport.binding import GrpcBinding, HttpBinding, OipBinding
from services.transport.head_answer import IntervalTables


@dataclass(frozen=True)
class Parts:
    """Shared parts of the process that a task's factory needs."""

    pipeline: Callable[[Task[Any, Any]], Pipeline[Any, Any]]
    """Function that puts a task on the process's scheduler."""
    calibrations: Mapping[str, Calibration | None]
    """Head name to its calibration under the numeric profile in force; None if there is none. A verdict on the profile
    may replace them while the process serves.
    """
    golden_tolerance: float
    """Largest relative difference of a golden output; infinite if the profile is measured with the replay set."""


@dataclass(frozen=True)
class ServedModel:
    """Served model, assembled at start and used by the transports."""

    pipeline: Pipeline[Any, Any]
    description: Description
    grpc: GrpcBinding
    http: HttpBinding
    oip: OipBinding
    warm_up: Callable[[], None] = lambda: None
    """Function called once before ready: replays golden inputs (``ArtefactError`` on a mismatch), warms up, measures
    speed.
    """
    examples: Callable[[], Iterable[Any]] = tuple
    """Requests of each served shape, run before ready (``services.app.warming``)."""
    probe: Callable[[], None] = lambda: None
    """Function that replays golden inputs on a device that failed; raises if it fails again or the outputs differ."""
    intervals: IntervalTables = field(default_factory=dict)
    """IntervalTables of intervals in force, by head; empty for tasks whose answers have none."""
    reflected: bool = True
    """False if the service has no protobuf description (toy tenants)."""
