"""Build the label service and its periodic jobs from settings and the writer of a ledger."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from models.head import Head
from models.schema import Schema
from services.labels.input_source import InputSource
from services.labels.label_options import Options
from services.labels.periodic_jobs import PeriodicJobs
from services.labels.service import LabelService
from services.labels.webhooks import Webhooks
from services.ledger.contract import LedgerWriter
from services.ledger.erasure import Erasure
from services.ledger.store import Store
from services.runtime.offload import Offload
from services.runtime.settings import Settings


@dataclass(frozen=True)
class LabelComponents:
    """Label service and its periodic jobs; to be started after the ledger and stopped before it."""

    label_service: LabelService
    periodic_jobs: PeriodicJobs


def build_labels(
    writer: LedgerWriter,
    clock: Callable[[], float],
    store: Store,
    heads: Sequence[Head],
    schema: Schema | None,
    settings: Settings,
    offload: Offload,
    version: Callable[[], int | None] = lambda: None,
    *,
    keeps_inputs: bool = True,
    input_type: str = "",
) -> LabelComponents:
    """Build the label service of a process.

    Args:
        clock: the writer's clock, seconds since 1970.
        keeps_inputs: whether inputs of deferred and audited units are kept for reviewers.
        input_type: media type of inputs from elsewhere.
        version: number that grows with every change of the ledger; None where other processes change it, too.

    Raises:
        LookupError: a census or an adjudication is set for a head that this model does not have, or a head cannot be
            judged.
    """
    options = Options(
        census=settings.census_heads,
        request_days=settings.request_days,
        second_phase=settings.second_phase,
        callbacks=settings.callback_prefixes,
        most_labels=settings.max_rows,
        second_opinions=settings.second_opinions,
        known_units=settings.known_units,
        adjudicate=settings.adjudicate_by_head,
        drafts=settings.drafts,
        keeps_inputs=keeps_inputs or bool(settings.inputs),
        input_source=InputSource(settings.inputs, input_type, settings.max_message_bytes) if settings.inputs else None,
    )
    service = LabelService(
        writer,
        store,
        heads,
        schema,
        options,
        offload=offload,
        clock=clock,
        eraser=lambda known: Erasure(writer, known, store, clock),
    )
    webhooks = None
    if settings.callback_prefixes or settings.request_webhook:
        webhooks = Webhooks(writer, service.compose, settings.webhook_secret.encode(), wall=clock)
    periodic_jobs = PeriodicJobs(service, webhooks=webhooks, request_webhook=settings.request_webhook, version=version)
    return LabelComponents(service, periodic_jobs)
