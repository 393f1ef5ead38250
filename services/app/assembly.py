"""Assembly of a process: artefact, policies, scheduler, ledger and served model, without protocols or BentoML."""

import math
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models import profile as profiles
from models.artefact import Artefact
from models.executors.device import described, instruction_set, libraries
from models.executors.onnx import releasing_memory
from models.head import Head
from models.profile import Profile
from models.replay import replayer
from services.access.caller import charging
from services.app.policies import (
    by_measure,
    carrying,
    check_settings,
    profile_with_measures,
    provisional,
    stream_name,
    with_audit_strata,
)
from services.app.warming import warm
from services.labels.factory import LabelComponents, build_labels
from services.labels.service import LabelService
from services.ledger import policies
from services.ledger.commit_queue import Clock, Watermark
from services.ledger.contract import Ledger, NoLedger
from services.ledger.database import Database
from services.ledger.deployments import Deployment
from services.ledger.ledger import DurableLedger, Options
from services.ledger.metrics import LedgerMetrics
from services.ledger.store import Store
from services.ledger.writer import Writer
from services.policy.decision import Policy, PolicyBook, choose
from services.policy.log import Bound
from services.policy.sync import PolicyKeeper
from services.qualification.records import Records
from services.qualification.start import Effects, Qualification
from services.qualification.tables import LiveCalibrations, Tables, reference, uncarried
from services.qualification.verdict import Machine
from services.request.contract import KeepsInputs, Task
from services.request.device_health import DeviceHealth
from services.request.metrics import Metrics
from services.request.pipeline import Pipeline
from services.request.schedule import Limits, Scheduler
from services.runtime import registry
from services.runtime.logging import get_logger
from services.runtime.offload import Offload
from services.runtime.settings import Settings
from services.runtime.task_entry import TaskEntry
from services.transport.served_model import Parts, ServedModel

_log = get_logger(__name__)


@dataclass(frozen=True)
class Assembled:
    """Served model with the services it runs on."""

    tenant: ServedModel
    scheduler: Scheduler
    offload: Offload
    health: DeviceHealth
    """Health of the device that the scheduler's lanes run on."""
    ledger: DurableLedger | None
    """Ledger; None if nothing is recorded."""
    labels: LabelComponents | None
    """Components for labels; None if nothing is recorded."""
    keeper: PolicyKeeper | None
    """Policy keeper; None if nothing is recorded, since policies are changed through the ledger."""
    adopt: Callable[[Tables], None] = lambda tables: None
    """Function that puts the calibrations of a late verdict in force; call it on the event loop."""

    @property
    def label_service(self) -> LabelService | None:
        """Label service; None if nothing is recorded."""
        return None if self.labels is None else self.labels.label_service

    async def start(self) -> None:
        """Open the ledger, and start what depends on it.

        Raises:
            LedgerRefused: its configuration is unusable. An unreachable ledger is retried while answers go on.
        """
        if self.ledger is not None:
            await self.ledger.start()
        if self.keeper is not None:
            await self.keeper.start()
        if self.labels is not None:
            self.labels.periodic_jobs.start()

    async def warm(self) -> None:
        """Run the model's examples, so that the first caller waits no longer than others; then release their memory.

        Raises:
            ArtefactError: the recorded answers are not reproduced.
            DemurError: an example fails.
        """
        await warm(self.tenant, self.scheduler, self.offload)
        with releasing_memory():
            self.tenant.probe()

    async def stop(self) -> None:
        """Stop background work, and write pending records of the ledger."""
        if self.labels is not None:
            await self.labels.periodic_jobs.stop()
        if self.keeper is not None:
            await self.keeper.stop()
        if self.ledger is not None:
            await self.ledger.stop()

    def close(self) -> None:
        """Cancel remaining work and end the threads."""
        self.health.close()
        self.scheduler.close()
        self.offload.close()


def profile(settings: Settings, artefact: Artefact) -> Profile:
    """Return the numeric profile of an artefact on the device of the settings; thresholds are bound to it."""
    return profiles.profile(artefact.manifest.executors, described(settings.device))


def qualify(artefact: Artefact, settings: Settings, records: Path) -> Qualification:
    """Return the qualification of an artefact on this process's device.

    Args:
        records: directory of earlier records.
    """
    device = settings.device
    machine = Machine(profile(settings, artefact), libraries(device), instruction_set())
    return Qualification(
        artefact, machine, Effects(Records(records), lambda: replayer(artefact, device)), mode=settings.qualify
    )


def assemble(
    artefact: Artefact,
    settings: Settings,
    metrics: Metrics,
    tables: Tables | None = None,
    entry: TaskEntry | None = None,
) -> Assembled:
    """Assemble all that answers requests of one task.

    Args:
        entry: entry of the task; None: that of the registry.
        tables: calibrations under the numeric profile; None for the artefact's own, without any qualification.

    Raises:
        ArtefactError, ProviderUnavailable: the artefact cannot be run as configured.
        LedgerRefused: the ledger's address is invalid, or its driver is not installed.
        SettingsError: settings that do not fit the artefact's heads and their calibrations.
    """
    health = DeviceHealth()
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
        health,
    )
    offload = Offload(inline_bytes=settings.inline_bytes, alone=lambda: scheduler.overlap.none)
    metrics.watch(scheduler)
    numeric = profile(settings, artefact)
    tables = tables or uncarried(artefact, numeric)
    metrics.watch_device(health)
    measures = {
        name: measure
        for name, measure in settings.measure_by_head.items()
        if (known := reference(artefact).get(name)) is not None and measure in known.others
    }  # heads with their own measure are left out; unknown measures are refused below
    calibrations = LiveCalibrations(by_measure(tables, measures))
    in_force = profile_with_measures(numeric.name, measures)

    def policy(head: Head, tables: Tables) -> Policy:
        chosen = choose(
            head,
            calibrations.get(head.name),
            model=artefact.tag,
            profile=in_force,
            origin=tables.reason,
            ensemble=artefact.manifest.ensemble,
            target_retention=_target_retention(settings, artefact, head.name),
            measure=measures.get(head.name),
            fixed_threshold=settings.fixed_threshold,
            defer_on_shift=settings.defer_on_shift,
            withhold=settings.withhold,
            audit_rate=settings.audit_rate,
        )
        chosen = with_audit_strata(chosen, calibrations.get(head.name), settings)
        if chosen.mode == "defer_all":
            _log.warning("all units of the head %s are deferred: %s", head.name, chosen.reason)
        elif chosen.reason:
            _log.warning("head %s answers %g of in-domain units: %s", head.name, chosen.target_retention, chosen.reason)
        return chosen

    def deployments(heads: Sequence[Head], tables: Tables, book: PolicyBook) -> list[Deployment]:
        return [
            Deployment(
                task=artefact.manifest.task,
                model=stream_name(artefact, measures.get(head.name, ""), tables),
                head=head,
                profile=in_force,
                members=artefact.manifest.members * artefact.manifest.samples,
                schema=artefact.manifest.schema,
                calibration=calibrations.get(head.name),
                policy=book[head.name],
            )
            for head in heads
        ]

    kept: list[DurableLedger] = []

    def pipeline(task: Task[Any, Any]) -> Pipeline[Any, Any]:
        check_settings(settings, artefact, task.heads)
        book = PolicyBook({head.name: policy(head, tables) for head in task.heads})
        epoch = secrets.randbits(63)
        ledger: Ledger = NoLedger()
        if (url := settings.ledger_url) is not None:
            ledger = durable(url, epoch, task, deployments(task.heads, tables, book), settings, metrics)
            kept.append(ledger)
        return Pipeline(
            task,
            scheduler,
            book,
            model=artefact.tag,
            profile=numeric.name,
            ledger=ledger,
            observer=metrics,
            offload=offload,
            epoch=lambda: epoch,
            charging=charging,
        )

    tolerance = artefact.manifest.golden_tolerance if tables.origin == "artefact" else math.inf
    tenant = (entry or registry.entry(artefact.manifest.task)).build()(
        artefact, settings, Parts(pipeline, calibrations, tolerance)
    )
    health.probe_with(lambda: scheduler.in_lane(tenant.probe))
    book = tenant.pipeline.policies
    ledger = kept[0] if kept else None
    label_service = keeper = None
    bound = Bound(artefact.manifest.task, artefact.tag, in_force)
    if ledger is not None:
        label_service = build_labels(
            ledger.current,
            ledger.clock,
            store_of(settings),
            tenant.description.heads,
            tenant.description.schema,
            settings,
            offload,
            lambda: ledger.writer.version,
            keeps_inputs=_keeps_inputs(settings, tenant.pipeline.task),
            input_type=_input_type(tenant.pipeline.task),
        )
        keeper = PolicyKeeper(
            book,
            ledger.writer,
            policies,
            bound,
            calibrations,
            ledger.clock,
            settings.audit_floor,
            carrying(tables, bound, settings.audit_floor),
            provisional(tables, book.all()),
            lambda: ledger.writer.version,
        )

    def adopt(tables: Tables) -> None:
        calibrations.put(by_measure(tables, measures))
        heads = tenant.description.heads
        chosen = {head.name: policy(head, tables) for head in heads}
        if ledger is not None:
            ledger.deploy(deployments(heads, tables, PolicyBook(chosen)))
        if keeper is not None:
            carry = carrying(tables, bound, settings.audit_floor)
            keeper.adopt(chosen.values(), carry, provisional(tables, chosen.values()))
        else:
            for tables_of_head in chosen.values():
                book.put(tables_of_head)

    return Assembled(tenant, scheduler, offload, health, ledger, label_service, keeper, adopt)


def _target_retention(settings: Settings, artefact: Artefact, head: str) -> float:
    """Return the target of the settings if they change the default, else that of the artefact, if it has one."""
    if settings.target_retention != Settings.target_retention:
        return settings.target_retention
    return artefact.manifest.retention.get(head, settings.target_retention)


def store_of(settings: Settings) -> Store:
    """Return the store for data too large for the ledger's database."""
    return Store(settings.ledger_store or str(settings.home.resolve() / "ledger" / "store"))


def durable(
    url: str,
    epoch: int,
    task: Task[Any, Any],
    deployments: Sequence[Deployment],
    settings: Settings,
    metrics: Metrics,
) -> DurableLedger:
    """Return the ledger of a process; nothing is opened before its ``start``.

    Raises:
        LedgerRefused: the address is invalid, or its driver is not installed.
    """
    directory = settings.home.resolve() / "ledger"
    counts = LedgerMetrics(settings.task, metrics.registry)
    watermark = Watermark(Clock())
    writer = Writer(
        Database(url, settings.ledger_durability),
        epoch=epoch,
        task=settings.task,
        clock=watermark.clock,
        complete_until=watermark.complete_until,
        watch=counts,
    )
    ledger = DurableLedger(
        writer,
        watermark,
        heads=task.heads,
        deployments=deployments,
        store=store_of(settings),
        counts=counts,
        options=Options(
            directory=directory,
            deadline_seconds=settings.ledger_deadline_seconds,
            journal=settings.ledger_durability == "process",
            keep_payload=_keeps_inputs(settings, task),
            journal_bytes=settings.journal_bytes,
            explore_bytes=settings.explore_bytes,
            explore_seconds=settings.explore_seconds,
            census=frozenset(settings.census_heads),
            retention_seconds=settings.retention_days * 86400 or math.inf,
        ),
    )
    counts.watch(ledger)
    return ledger


def _input_type(task: object) -> str:
    """Return the media type of a task's inputs."""
    return task.payload_type if isinstance(task, KeepsInputs) else "application/octet-stream"


def _keeps_inputs(settings: Settings, task: object) -> bool:
    """Return whether inputs of deferred and audited units are kept for reviewers."""
    by_setting = {"on": True, "off": False, "task": isinstance(task, KeepsInputs) and task.payload_kept}
    return by_setting[settings.keep_payload]
