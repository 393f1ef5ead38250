"""Endpoints for Label Studio: its webhook, which submits labels, and its protocol of models, which shows drafts.

Tasks of the blind queue hold no prediction, and none is looked up: what annotators see is decided at the export.
"""

import asyncio
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.review import identity
from services.review.relay import Refused, Relay, response
from services.runtime.errors import InvalidInput, NotFound
from services.runtime.registry import entry
from services.runtime.task_entry import imported
from services.transport.http.body import json_only, json_response, read_body
from services.transport.http.decoding import json
from services.transport.label_studio.converter import Converter, StudioHead
from services.transport.label_studio.documents import Annotation, claim_of, drafted, head_of, heads_of
from services.transport.label_studio.submission import IGNORED, Outcome, Reply, Steps, advance, answer

ANSWERED = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED")
"""Events that submit a label; others are ignored."""
VERSION = "drafts"
"""Version of the model that Label Studio shows; the model itself stays unnamed, since annotators are blind."""
_PREDICT_EXAMPLE = '{"tasks": [{"data": {}}]}'
_EVENT_EXAMPLE = '{"action": "ANNOTATION_CREATED", "task": {"data": {}}, "annotation": {"result": []}}'


class _Task(msgspec.Struct):
    data: dict[str, Any]


class _Predict(msgspec.Struct):
    tasks: list[_Task] = []


class _Event(msgspec.Struct):
    action: str
    task: Any = None
    annotation: Any = None


class StudioRoutes:
    """Endpoints below ``/label-studio/{task}``."""

    def __init__(self, relay: Relay) -> None:
        self._services, self._most_bytes = relay.services, relay.most_bytes

    def routes(self) -> list[Route]:
        base = f"{identity.PROGRAM_PATHS}{{task}}"
        return [
            Route(f"{base}/health", self.health),
            Route(f"{base}/setup", self.setup, methods=["POST"]),
            Route(f"{base}/predict", self.predict, methods=["POST"]),
            Route(f"{base}/webhook", self.webhook, methods=["POST"]),
        ]

    async def health(self, request: Request) -> Response:
        return json_response({"status": "UP", "model_class": "demur"})

    async def setup(self, request: Request) -> Response:
        """Accept a project; nothing is kept of it."""
        self._task(request)
        await self._body(request)
        return json_response({"model_version": VERSION})

    async def predict(self, request: Request) -> Response:
        """Return the drafts that tasks hold, the first proposal of each, and empty results for blind tasks.

        Raises:
            NotFound, InvalidInput, TooLarge: there is no such service, or a task was not exported from it.
        """
        task = self._task(request)
        body = json(await self._body(request), _Predict, _PREDICT_EXAMPLE)
        claims = [claim_of(one.data, task) for one in body.tasks]
        heads = await self._heads(request, task) if any(claim.draft is not None for claim in claims) else ()
        converter: Converter = imported(entry(task).label_studio)

        def results() -> list[dict[str, Any]]:
            return [
                _first(drafted(one.data, head_of(heads, claim.head), converter) if claim.draft is not None else [])
                for one, claim in zip(body.tasks, claims, strict=True)
            ]

        return json_response({"results": await asyncio.to_thread(results), "model_version": VERSION})

    async def webhook(self, request: Request) -> Response:
        """Submit the label of a new or changed annotation, and return what became of it.

        Raises:
            NotFound, InvalidInput, TooLarge: see ``submission.answer``.
        """
        task = self._task(request)
        event = json(await self._body(request), _Event, _EVENT_EXAMPLE)
        if event.action not in ANSWERED:
            return json_response({"outcome": IGNORED, "message": f"only {' and '.join(ANSWERED)} submit labels"})
        try:
            studio_task = msgspec.convert(event.task, _Task)
            annotation = msgspec.convert(event.annotation, Annotation)
        except msgspec.ValidationError as error:
            raise InvalidInput(
                f"the event has no task and annotation: {error}; let the webhook send its payload",
                code="not_a_body",
                field="task",
            ) from error
        claim_of(studio_task.data, task)
        heads = await self._heads(request, task)
        converter: Converter = imported(entry(task).label_studio)
        steps = answer(task, heads, converter, studio_task.data, annotation)
        outcome = await self._run(request, task, steps)
        shown = {"outcome": outcome.outcome, "code": outcome.code, "message": outcome.message}
        return json_response({name: text for name, text in shown.items() if text}, outcome.status)

    async def _run(self, request: Request, task: str, steps: Steps) -> Outcome:
        """Make the calls of a submission."""
        reply: Reply | None = None
        while True:
            call = await asyncio.to_thread(advance, steps, reply)  # masks take long
            if isinstance(call, Outcome):
                return call
            result = await self._services.call(
                task, identity.program(request.headers), "POST", call.path, content=call.body
            )
            reply = Reply(result.status, result.content)

    async def _heads(self, request: Request, task: str) -> tuple[StudioHead, ...]:
        result = await self._services.call(task, identity.program(request.headers), "GET", "/v1/schema")
        if result.status != 200:
            raise Refused(response(result))
        return heads_of(result.content)

    def _task(self, request: Request) -> str:
        """Return the task of a route.

        Raises:
            NotFound: it is not a service of this installation.
        """
        task: str = request.path_params["task"]
        if task not in self._services.addresses():
            raise NotFound.about("task", task, "is not a service of this installation", code="no_task")
        return task

    async def _body(self, request: Request) -> bytes:
        json_only(request)
        return await read_body(request, self._most_bytes)


def routes(relay: Relay) -> list[Route]:
    """Return the routes that Label Studio calls, with a token of the scope ``review`` where tokens are in use."""
    return StudioRoutes(relay).routes()


def _first(predictions: list[dict[str, Any]]) -> dict[str, Any]:
    return predictions[0] if predictions else {"result": [], "model_version": VERSION}
