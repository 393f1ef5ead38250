"""Scenes of claimed requests as JSON, for tasks whose inputs are drawn from above."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.runtime.errors import NotFound
from services.runtime.registry import entry
from services.runtime.task_entry import imported
from services.transport.http.body import json_response


class Inputs(Protocol):
    """Source of the inputs of claimed requests, as ``Relay`` is."""

    async def input(self, request: Request) -> tuple[str, bytes]:
        """Return media type and content of the input of the request that a route names."""
        ...


def routes(relay: Inputs) -> list[Route]:
    """Return ``GET /api/tasks/{task}/requests/{request}/scene``; the header ``demur-lease`` has the lease."""

    async def scene(request: Request) -> Response:
        read = _reader(request.path_params["task"])
        _, content = await relay.input(request)
        response = json_response(await asyncio.to_thread(read, content))
        response.headers["cache-control"] = "no-store"
        return response

    return [Route("/api/tasks/{task}/requests/{request}/scene", scene)]


def _reader(task: str) -> Callable[[bytes], dict[str, Any]]:
    """Return the function that reads scenes of a task.

    Raises:
        NotFound: inputs of this task are not scenes.
    """
    place = entry(task).review_scene
    if not place:
        raise NotFound.about("task", task, "has no scenes; its inputs are shown otherwise", code="no_scenes")
    reader: Callable[[bytes], dict[str, Any]] = imported(place)
    return reader
