"""Context of both protocols: the served model and the services of its process."""

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
    """Served model with the services of its process."""

    tenant: ServedModel
    settings: Settings
    metrics: Metrics
    label_service: LabelService | None = None
    """Label service; None without a ledger."""
    keeper: PolicyKeeper | None = None
    """Policy keeper, for changes; None without a ledger, so that policies are read-only."""
    tracer: Tracer = OFF
    about: Callable[[], Model] | None = None
    """Function that returns the document for ``/v1/model``; None: there is no such route."""
