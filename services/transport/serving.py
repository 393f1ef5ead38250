"""What both protocols are given: a tenant, and what stands beside it in the process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from services.labels.service import LabelService
from services.policy.sync import PolicyKeeper
from services.qualification.standing import Model
from services.request.metrics import Metrics
from services.runtime.settings import Settings
from services.tracing.tracer import OFF, Tracer
from services.transport.served_model import ServedModel


@dataclass(frozen=True)
class Serving:
    """One tenant as it is served."""

    tenant: ServedModel
    settings: Settings
    metrics: Metrics
    label_service: LabelService | None = None
    """Where labels go; None: there is no ledger."""
    keeper: PolicyKeeper | None = None
    """Changes policies; None: there is no ledger, so they are shown only."""
    tracer: Tracer = OFF
    about: Callable[[], Model] | None = None
    """Tells ``/v1/model`` of the artefact and its numeric profile at the moment; None: there is no such route."""
