"""One task, ready to be served: its pipeline, and how each protocol reads and writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from models.calibration import Calibration
from services.request.contract import Description, Task
from services.request.pipeline import Pipeline
from services.transport.binding import GrpcBinding, HttpBinding, OipBinding


@dataclass(frozen=True)
class Parts:
    """What the frame hands to a task's assembly."""

    pipeline: Callable[[Task[Any, Any]], Pipeline[Any, Any]]
    """Puts a task on the process's one scheduler."""
    calibrations: Mapping[str, Calibration | None]
    """Head name to its calibration under the numeric profile in force; None where there is none. A verdict on the
    profile may replace them while the process serves."""
    golden_tolerance: float
    """Largest relative difference of a golden output; infinite under a profile that the replay set is measured for."""


@dataclass(frozen=True)
class ServedModel:
    """What ``services.runtime.lifecycle`` assembles and the transports serve."""

    pipeline: Pipeline[Any, Any]
    description: Description
    grpc: GrpcBinding
    http: HttpBinding
    oip: OipBinding
    warm_up: Callable[[], None] = lambda: None
    """Runs once before ready: replays golden inputs (``ArtefactError`` on a mismatch), warms up, measures speed."""
    examples: Callable[[], Iterable[Any]] = tuple
    """Requests of each shape that serves, asked before ready (``services.app.warming``)."""
    probe: Callable[[], None] = lambda: None
    """Replays golden inputs on a device that failed; raises where it fails again or says something else."""
    reflected: bool = True
    """False where the service has no protobuf description (toy tenants)."""
