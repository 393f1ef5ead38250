"""Puts a process together: artefact, self-test, policies, scheduler, tenant. Knows no protocol and no BentoML."""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass
from typing import Any

from models.artefact import Artefact
from models.head import Head
from services.logging import get_logger
from services.metrics import Metrics
from services.offload import Offload
from services.pipeline import NoLedger, Pipeline, Task
from services.policy import Policy, PolicyBook, choose
from services.schedule import Limits, Scheduler
from services.settings import Settings
from services.tasks import TENANTS
from services.tenant import Parts, Tenant

_log = get_logger(__name__)


@dataclass(frozen=True)
class Assembled:
    """A tenant with what it runs on."""

    tenant: Tenant
    scheduler: Scheduler
    offload: Offload

    def close(self) -> None:
        """Cancels what is left and ends the threads."""
        self.scheduler.close()
        self.offload.close()


def profile(settings: Settings, artefact: Artefact) -> str:
    """The numeric profile that thresholds are bound to: provider, precision and layout."""
    executor = artefact.manifest.executor
    return f"{settings.provider}-{executor.precision}-{executor.layout}"


def assemble(artefact: Artefact, settings: Settings, metrics: Metrics) -> Assembled:
    """Everything that answers requests of one task.

    Raises:
        ArtefactError, ProviderUnavailable: the artefact cannot be run as asked.
    """
    scheduler = Scheduler(
        Limits(
            lanes=settings.lane_count,
            queue_seconds=settings.queue_seconds,
            queue_bytes=settings.queue_bytes,
        ),
        time.monotonic,
        metrics.quantum,
    )
    offload = Offload()
    metrics.watch(scheduler)
    in_force = profile(settings, artefact)
    calibrations = {name: by_profile.get(in_force) for name, by_profile in artefact.manifest.heads.items()}

    def policy(head: Head) -> Policy:
        chosen = choose(
            head,
            calibrations.get(head.name),
            model=artefact.tag,
            profile=in_force,
            ensemble=artefact.manifest.ensemble,
            target_retention=settings.target_retention,
            fixed_threshold=settings.fixed_threshold,
            defer_on_shift=settings.defer_on_shift,
            withhold=settings.withhold,
        )
        if chosen.mode == "defer_all":
            _log.warning("all units of the head %s are deferred: %s", head.name, chosen.reason)
        return chosen

    def pipeline(task: Task[Any, Any]) -> Pipeline[Any, Any]:
        book = PolicyBook({head.name: policy(head) for head in task.heads})
        return Pipeline(task, scheduler, book, model=artefact.tag, ledger=NoLedger(), observer=metrics, offload=offload)

    module, _, function = TENANTS[artefact.manifest.task].partition(":")
    build = getattr(importlib.import_module(module), function)
    return Assembled(build(artefact, settings, Parts(pipeline, calibrations)), scheduler, offload)
