"""Warm-up by requests: what a task gives as examples goes through pipeline, lanes and encoder before it is ready."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from services.ledger.contract import NoLedger, Portion
from services.request.contract import Call
from services.request.pipeline import Pipeline
from services.request.schedule import Scheduler
from services.runtime.errors import InvalidInput
from services.runtime.logging import get_logger
from services.runtime.offload import Offload
from services.transport.served_model import ServedModel

_log = get_logger(__name__)
MOST = 30
"""Times that each example is asked at most."""
SECONDS = 0.05
"""After which one is not asked again: what takes long is warm at once, what is short has many small first costs."""


class _Unheard:
    def decided(self, portion: Portion) -> None:
        """Count nothing: nobody asked."""


async def warm(
    tenant: ServedModel, scheduler: Scheduler, offload: Offload, examples: Iterable[Any] | None = None
) -> None:
    """Ask the tenant's examples, of each shape that serves; nothing is recorded, and no decision is counted.

    Memory of a device grows, algorithms are chosen and code is specialised for each shape when it first comes: that
    shall not be at a caller's cost.

    Args:
        examples: in place of the tenant's.

    Raises:
        DemurError: an example fails, as a request would.
    """
    pipeline = Pipeline(
        tenant.pipeline.task,
        scheduler,
        tenant.pipeline.policies,
        model=tenant.pipeline.model,
        profile=tenant.pipeline.profile,
        ledger=NoLedger(),
        observer=_Unheard(),
        offload=offload,
    )
    for request in tenant.examples() if examples is None else examples:
        began = time.monotonic()
        for _ in range(MOST):
            try:
                answers = await pipeline.answer(request, Call())
            except InvalidInput as error:
                _log.warning("an example for warm-up is no request of this model: %s", error)
                break
            tenant.grpc.response.encode(tenant.grpc.answer(answers))
            if time.monotonic() - began > SECONDS:
                break
