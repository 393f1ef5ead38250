"""Warm-up by requests: a task's examples pass through pipeline, lanes and encoder before the process is ready."""

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
"""Maximum number of runs of each example."""
SECONDS = 0.05
"""Time, in seconds, after which an example is not repeated: slow examples are warm after one run."""


class _Unheard:
    def decided(self, portion: Portion) -> None:
        """Count nothing, since examples are not calls."""


async def warm(
    tenant: ServedModel, scheduler: Scheduler, offload: Offload, examples: Iterable[Any] | None = None
) -> None:
    """Run the model's examples, which have all served shapes; nothing is recorded, and no decision is counted.

    The first request of each shape makes a device allocate memory, choose algorithms and specialise code; no caller
    should wait for that.

    Args:
        examples: examples in place of the model's.

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
