"""One task, ready to be served: its pipeline, and how each protocol reads and writes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from services.pipeline import Pipeline
from services.transport.binding import Description, GrpcBinding, HttpBinding


@dataclass(frozen=True)
class Tenant:
    """What ``services.lifecycle`` assembles and the transports serve."""

    pipeline: Pipeline[Any, Any]
    description: Description
    grpc: GrpcBinding
    http: HttpBinding
    warm_up: Callable[[], None] = lambda: None
    """Runs once before ready: compiles, fills caches, measures speed."""
    reflected: bool = True
    """False where the service has no protobuf description (toy tenants)."""
