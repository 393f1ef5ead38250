"""Documents of Label Studio: tasks with the claim that they stand for, and annotations."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from services.labels.label_types import from_json
from services.labels.review_service import MOST_SECONDS
from services.runtime.errors import InvalidInput, NotFound
from services.transport.label_studio.converter import ClaimedInput, Converter, StudioHead

CLAIM = "demur"
"""Name of the claim in the data of a task."""
_ID = re.compile("[0-9a-f]{32}")


class Claim(msgspec.Struct, frozen=True, omit_defaults=True):
    """Claimed request behind a task."""

    task: str
    head: str
    request: str
    lease: str
    queue: Literal["blind", "drafts"]
    draft: Any = None
    """Prediction to be edited, as JSON; only in the queue of drafts."""


class Annotation(msgspec.Struct, frozen=True):
    """Annotation of a task, as exports and webhooks have it."""

    id: int | str | None = None
    result: list[Any] = []
    was_cancelled: bool | None = None
    lead_time: float | None = None
    """Time that the annotator took, s."""
    created_at: str | None = None
    completed_by: Any = None

    @property
    def seconds(self) -> float | None:
        """Time that the annotator took, s; None if unknown, or longer than a service takes."""
        took = self.lead_time
        return took if took is not None and 0 <= took <= MOST_SECONDS else None


class StudioTask(msgspec.Struct, frozen=True):
    """Task with its annotations."""

    data: dict[str, Any]
    id: int | str | None = None
    annotations: list[Annotation] = []


def exported(task: str, head: StudioHead, request: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a claimed request.

    Args:
        request: as ``POST /v1/requests/claim`` returns it.
        fields: data of the task, see ``Converter.data``.
    """
    queue = request["queue"]
    claim = Claim(
        task, head.name, request["request"], request["lease"], queue, request["draft"] if queue == "drafts" else None
    )
    return {"data": dict(fields) | {CLAIM: msgspec.to_builtins(claim)}}


def with_predictions(document: dict[str, Any], head: StudioHead, converter: Converter) -> dict[str, Any]:
    """Return a document with the predictions of its draft; without a draft, as it is."""
    predictions = drafted(document["data"], head, converter)
    return document | {"predictions": predictions} if predictions else document


def drafted(data: Mapping[str, Any], head: StudioHead, converter: Converter) -> list[dict[str, Any]]:
    """Return the predictions of a task, the best first: proposals of its draft, and none where it has no draft.

    What is not known cannot be shown: tasks of the blind queue hold no prediction.
    """
    claim = claim_of(data)
    if claim.draft is None:
        return []
    draft = from_json(claim.draft)
    return [{"result": results, "model_version": claim.queue} for results in converter.predictions(head, data, draft)]


def claim_of(data: Mapping[str, Any], task: str = "") -> Claim:
    """Return the claim behind a task.

    Args:
        task: name of the service; empty: any.

    Raises:
        InvalidInput: the task was not exported here, or is one of another service.
        NotFound: its request cannot be one.
    """
    try:
        claim = msgspec.convert(data.get(CLAIM), Claim)
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"data.{CLAIM}: {error}; import tasks that `demur review export` wrote, and leave their data as they are",
            code="not_a_body",
            field=f"data.{CLAIM}",
        ) from error
    if task and claim.task != task:
        raise InvalidInput.about(
            f"data.{CLAIM}.task", claim.task, f"must be {task}, the service that is called", code="no_task"
        )
    if not _ID.fullmatch(claim.request):
        raise NotFound("there is no such request", code="no_request", field="request")
    return claim


def heads_of(schema: bytes) -> tuple[StudioHead, ...]:
    """Return the heads of a service, as ``GET /v1/schema`` describes them."""

    class Described(msgspec.Struct):
        heads: tuple[StudioHead, ...]

    return msgspec.json.decode(schema, type=Described).heads


def head_of(heads: Sequence[StudioHead], name: str) -> StudioHead:
    """Return a head by its name; of several, one has to be named.

    Raises:
        InvalidInput: there is no such head, or no name.
    """
    known = {head.name: head for head in heads}
    if not name and len(known) == 1:
        return heads[0]
    if name not in known:
        code = "unknown_head" if name else "head_needed"
        raise InvalidInput.about("head", name, f"must be one of {', '.join(known)}", code=code)
    return known[name]


def claimed_input(request: Mapping[str, Any]) -> ClaimedInput | None:
    """Return the input that came with a claimed request; None if it has to be fetched."""
    shown = request["input"]
    if "columns" in shown:
        return ClaimedInput(shown["media_type"], shown["columns"])
    content = from_json({name: value for name, value in shown.items() if name != "media_type"})
    return ClaimedInput(shown["media_type"], content=content) if isinstance(content, bytes) else None
