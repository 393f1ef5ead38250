"""Puts what labels need together, from settings and the ledger's writer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from services.labels.desk import Desk
from services.labels.housekeeping import Housekeeping
from services.labels.webhooks import Webhooks
from services.labels.words import Options
from services.ledger.erasure import Erasure
from services.ledger.store import Store
from services.ledger.writer import Writer
from services.request.pipeline import Description
from services.runtime.offload import Offload
from services.runtime.settings import Settings


@dataclass(frozen=True)
class Labelling:
    """A desk, and what passes beside it; to be started after the ledger and stopped before it."""

    desk: Desk
    housekeeping: Housekeeping


def labelling(
    writer: Writer,
    clock: Callable[[], float],
    store: Store,
    description: Description,
    settings: Settings,
    offload: Offload,
) -> Labelling:
    """
    Args:
        clock: that of the writer, seconds since 1970.

    Raises:
        LookupError: a census is declared of what is no head of this model, or a head cannot be judged.
    """
    options = Options(
        census=settings.census_heads,
        request_days=settings.request_days,
        second_phase=settings.second_phase,
        callbacks=settings.callback_prefixes,
        most_labels=settings.max_rows,
    )
    desk = Desk(
        writer,
        store,
        description.heads,
        description.schema,
        options,
        offload=offload,
        clock=clock,
        eraser=lambda known: Erasure(writer, known, store, clock),
    )
    webhooks = None
    if settings.callback_prefixes or settings.request_webhook:
        webhooks = Webhooks(writer, desk.compose, settings.webhook_secret.encode(), wall=clock)
    housekeeping = Housekeeping(desk, webhooks=webhooks, request_webhook=settings.request_webhook)
    return Labelling(desk, housekeeping)
