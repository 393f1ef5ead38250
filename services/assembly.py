"""Puts a process together: artefact, self-test, policies, scheduler, tenant. Knows no protocol and no BentoML."""

from __future__ import annotations

import hashlib
import importlib
import math
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.artefact import Artefact, numeric_profile
from models.calibration import Calibration
from models.head import Head
from services.access.caller import charge
from services.labels.desk import Desk
from services.labels.opening import Labelling, labelling
from services.ledger.database import Database
from services.ledger.deployments import Deployment
from services.ledger.ledger import DurableLedger, Options
from services.ledger.metrics import LedgerMetrics
from services.ledger.outstanding import Outstanding
from services.ledger.policies import Bound
from services.ledger.store import Store
from services.ledger.tables import PROFILE_CHARACTERS
from services.ledger.writer import Clock, Writer
from services.logging import get_logger
from services.metrics import Metrics
from services.offload import Offload
from services.pipeline import KeepsInputs, Ledger, NoLedger, Pipeline, Task
from services.policy import Policy, PolicyBook, choose
from services.policy_changes import stratified
from services.policy_keeper import PolicyKeeper
from services.schedule import Limits, Scheduler
from services.settings import Settings
from services.tasks import TENANTS
from services.tenant import Parts, Tenant
from services.variables import SettingsError

_log = get_logger(__name__)


@dataclass(frozen=True)
class Assembled:
    """A tenant with what it runs on."""

    tenant: Tenant
    scheduler: Scheduler
    offload: Offload
    ledger: DurableLedger | None
    """None where nothing is recorded."""
    labelling: Labelling | None
    """None where nothing is recorded."""
    keeper: PolicyKeeper | None
    """None where nothing is recorded: policies are changed through the ledger."""

    @property
    def desk(self) -> Desk | None:
        """Where labels go."""
        return None if self.labelling is None else self.labelling.desk

    async def start(self) -> None:
        """Opens the ledger.

        Raises:
            LedgerRefused: it cannot be used as it is set up. One that is only down is tried again while answers go on.
        """
        if self.ledger is not None:
            await self.ledger.start()
        if self.keeper is not None:
            await self.keeper.start()
        if self.labelling is not None:
            self.labelling.housekeeping.start()

    async def stop(self) -> None:
        """Writes what the ledger still holds."""
        if self.labelling is not None:
            await self.labelling.housekeeping.stop()
        if self.keeper is not None:
            await self.keeper.stop()
        if self.ledger is not None:
            await self.ledger.stop()

    def close(self) -> None:
        """Cancels what is left and ends the threads."""
        self.scheduler.close()
        self.offload.close()


def profile(settings: Settings, artefact: Artefact) -> str:
    """The numeric profile that thresholds are bound to: provider, precision and layout."""
    return numeric_profile((artefact.manifest.executor, *artefact.manifest.joined), settings.provider)


def assemble(artefact: Artefact, settings: Settings, metrics: Metrics) -> Assembled:
    """Everything that answers requests of one task.

    Raises:
        ArtefactError, ProviderUnavailable: the artefact cannot be run as asked.
        LedgerRefused: the ledger's address is none, or its driver is not installed.
        SettingsError: settings that do not fit the artefact's heads and what was calibrated for them.
    """
    scheduler = Scheduler(
        Limits(
            lanes=settings.lane_count,
            queue_seconds=settings.queue_seconds,
            queue_bytes=settings.queue_bytes,
            lane_calls=settings.lane_calls,
        ),
        time.monotonic,
        metrics.quantum,
        metrics.begun,
    )
    offload = Offload(inline_bytes=settings.inline_bytes)
    metrics.watch(scheduler)
    numeric = profile(settings, artefact)
    calibrated = {name: by_profile.get(numeric) for name, by_profile in artefact.manifest.heads.items()}
    measures = {
        name: measure
        for name, measure in settings.measure_by_head.items()
        if (known := calibrated.get(name)) is not None and measure in known.others
    }  # but for heads that keep their own; what is none of both is refused below
    calibrations = {name: None if one is None else one.by(measures.get(name, "")) for name, one in calibrated.items()}
    in_force = _with_measures(numeric, measures)

    def policy(head: Head) -> Policy:
        chosen = choose(
            head,
            calibrations.get(head.name),
            model=artefact.tag,
            profile=in_force,
            ensemble=artefact.manifest.ensemble,
            target_retention=settings.target_retention,
            measure=measures.get(head.name),
            fixed_threshold=settings.fixed_threshold,
            defer_on_shift=settings.defer_on_shift,
            withhold=settings.withhold,
            audit_rate=settings.audit_rate,
        )
        chosen = _stratified(chosen, calibrations.get(head.name), settings)
        if chosen.mode == "defer_all":
            _log.warning("all units of the head %s are deferred: %s", head.name, chosen.reason)
        elif chosen.reason:
            _log.warning("head %s answers %g of in-domain units: %s", head.name, chosen.target_retention, chosen.reason)
        return chosen

    kept: list[DurableLedger] = []

    def pipeline(task: Task[Any, Any]) -> Pipeline[Any, Any]:
        _check_settings(settings, artefact, task.heads)
        book = PolicyBook({head.name: policy(head) for head in task.heads})
        epoch = secrets.randbits(63)
        ledger: Ledger = NoLedger()
        if (url := settings.ledger_url) is not None:
            deployments = [
                Deployment(
                    task=artefact.manifest.task,
                    model=artefact.tag + (f"@{measures[head.name]}" if head.name in measures else ""),
                    head=head,
                    profile=in_force,
                    members=artefact.manifest.members * artefact.manifest.samples,
                    schema=artefact.manifest.schema,
                    calibration=calibrations.get(head.name),
                    policy=book[head.name],
                )
                for head in task.heads
            ]
            ledger = durable(url, epoch, task, deployments, settings, metrics)
            kept.append(ledger)
        return Pipeline(
            task,
            scheduler,
            book,
            model=artefact.tag,
            ledger=ledger,
            observer=metrics,
            offload=offload,
            epoch=lambda: epoch,
            charge=charge,
        )

    module, _, function = TENANTS[artefact.manifest.task].partition(":")
    build = getattr(importlib.import_module(module), function)
    tenant = build(artefact, settings, Parts(pipeline, calibrations))
    if not kept:
        return Assembled(tenant, scheduler, offload, None, None, None)
    (ledger,) = kept
    found = labelling(ledger.writer, ledger.clock, store_of(settings), tenant.description, settings, offload)
    bound = Bound(artefact.manifest.task, artefact.tag, in_force)
    keeper = PolicyKeeper(
        tenant.pipeline.policies, ledger.writer, bound, calibrations, ledger.clock, settings.audit_floor
    )
    return Assembled(tenant, scheduler, offload, ledger, found, keeper)


def store_of(settings: Settings) -> Store:
    """Where the ledger keeps what is too large for its database."""
    return Store(settings.ledger_store or str(settings.home.resolve() / "ledger" / "store"))


def durable(
    url: str,
    epoch: int,
    task: Task[Any, Any],
    deployments: Sequence[Deployment],
    settings: Settings,
    metrics: Metrics,
) -> DurableLedger:
    """The ledger of a process; nothing is opened before its ``start``.

    Raises:
        LedgerRefused: the address is none, or its driver is not installed.
    """
    directory = settings.home.resolve() / "ledger"
    counts = LedgerMetrics(settings.task, metrics.registry)
    outstanding = Outstanding(Clock())
    writer = Writer(
        Database(url, settings.ledger_durability),
        epoch=epoch,
        task=settings.task,
        clock=outstanding.clock,
        complete_until=outstanding.complete_until,
        watch=counts,
    )
    keeps = {"on": True, "off": False, "task": isinstance(task, KeepsInputs) and task.payload_kept}
    ledger = DurableLedger(
        writer,
        outstanding,
        heads=task.heads,
        deployments=deployments,
        store=store_of(settings),
        counts=counts,
        options=Options(
            directory=directory,
            deadline_seconds=settings.ledger_deadline_seconds,
            journal=settings.ledger_durability == "process",
            keep_payload=keeps[settings.keep_payload],
            journal_bytes=settings.journal_bytes,
            explore_bytes=settings.explore_bytes,
            explore_seconds=settings.explore_seconds,
            census=frozenset(settings.census_heads),
            retention_seconds=settings.retention_days * 86400 or math.inf,
        ),
    )
    counts.watch(ledger)
    return ledger


def _with_measures(numeric: str, measures: Mapping[str, str]) -> str:
    """What policies are bound to: what an operator set for one measure does not hold for another."""
    text = ",".join([numeric, *(f"{head}={measure}" for head, measure in sorted(measures.items()))])
    if len(text) <= PROFILE_CHARACTERS:
        return text
    return f"{numeric},measures={hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _check_settings(settings: Settings, artefact: Artefact, heads: Sequence[Head]) -> None:
    """
    Raises:
        SettingsError: a measure for no head of the task, or one that was not calibrated; one threshold for several.
    """
    by_name = {head.name: head for head in heads}
    for name, measure in settings.measure_by_head.items():
        if name not in by_name:
            raise SettingsError(f"DEMUR_MEASURES names the head {name!r}; this model has {', '.join(by_name)}")
        found = artefact.manifest.heads[name].get(profile(settings, artefact))
        own = by_name[name].own_measure(artefact.manifest.ensemble)
        known = sorted({own, *(() if found is None else found.others)})
        if measure not in known:
            raise SettingsError(
                f"DEMUR_MEASURES: {artefact.tag} was not calibrated for {name}={measure}; use one of {', '.join(known)}"
            )
    if settings.fixed_threshold is not None and len(heads) > 1:
        raise SettingsError(
            f"DEMUR_FIXED_THRESHOLD = {settings.fixed_threshold:g} does not say for which of {', '.join(by_name)}; "
            "leave it out and set each head's with `demur policy set --head`"
        )


def _stratified(policy: Policy, calibration: Calibration | None, settings: Settings) -> Policy:
    """With audit rates by uncertainty, where settings ask for them and the artefact tells enough."""
    if settings.audits == "uniform" or policy.mode == "defer_all":
        return policy
    found = stratified(policy, calibration, settings.audit_floor)
    if not found.audit_strata:
        _log.warning("the artefact does not tell expected errors of %s: audits are uniform", policy.measure)
    return found
