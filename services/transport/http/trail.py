"""Route of the audit trail: actions with their actors and times."""

from starlette.requests import Request
from starlette.responses import Response

from services.labels.label_types import check_range
from services.labels.service import LabelService
from services.ledger.audit_trail import KINDS, AuditQuery, trail
from services.runtime.errors import InvalidInput, no_ledger
from services.transport.http.body import json_response
from services.transport.http.decoding import integer
from services.transport.http.request import number
from services.transport.served_model import ServedModel

MOST_ACTS = 1000
DEFAULT_ACTS = 100


class TrailRoute:
    """Endpoint for GET with ``kind``, ``actor``, ``since``, ``before`` and ``most``."""

    def __init__(self, label_service: LabelService | None, tenant: ServedModel) -> None:
        self._label_service = label_service
        self._task = tenant.description.task

    async def show(self, request: Request) -> Response:
        if self._label_service is None:
            raise no_ledger()
        query = _query(request)
        acts = await self._label_service.ledger.read(lambda connection: trail(connection, self._task, query))
        return json_response({"acts": [act.json() for act in acts]})


def _query(request: Request) -> AuditQuery:
    """Return the query of a request.

    Raises:
        InvalidInput: an unknown kind, or a parameter that is not a number.
    """
    query = request.query_params
    kinds = [kind for kind in query.get("kind", "").split(",") if kind] or [*KINDS]
    if strange := sorted(set(kinds) - set(KINDS)):
        raise InvalidInput.about("kind", strange[0][:40], code="unknown_kind", allowed=", ".join(KINDS))
    most = integer("most", number("most", query.get("most", str(DEFAULT_ACTS))), "acts")
    check_range("most", most, 1, MOST_ACTS, "acts")
    before = query.get("before")
    return AuditQuery(
        tuple(kind for kind in KINDS if kind in kinds),
        query.get("actor", "")[:128],
        number("since", query.get("since", "0")),
        None if before is None else number("before", before),
        most,
    )
