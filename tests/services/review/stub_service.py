"""A service that hands out one prepared request after the other, and the real console beside it, in threads."""

import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from models.head import Head
from models.schema import Schema
from services.cli.http_client import client_context
from services.cli.review import VIEWS
from services.labels.label_types import input_json
from services.review.assets import load
from services.review.console import Console, application, with_headers, with_session
from services.review.installation import Installation
from services.review.relay import Relay
from services.review.services import Address, Services
from services.runtime.errors import Conflict
from services.transport.http.body import error_response, json_response
from services.transport.http.review import LEASE_KEY
from tests.ports import HOST, free_ports

_START_SECONDS = 20.0


@dataclass
class Prepared:
    """A request in the stub's queue."""

    media_type: str
    content: bytes
    draft: Any = None
    answers: tuple[Any, ...] = ()
    shown: dict[str, Any] | None = None
    """Input as a claim shows it; None: by reference."""

    @classmethod
    def small(cls, media_type: str, content: bytes, schema: Schema | None = None, **more: Any) -> Self:
        """Return a request whose input, a row or a text, comes with the claim."""
        return cls(media_type, content, shown=input_json(content, media_type, schema), **more)


@dataclass
class StubService:
    """Queue of one head, without a ledger."""

    head: Head
    queue: list[Prepared]
    values: dict[str, Any] = field(default_factory=dict)
    """Submitted values by id of the request, as JSON."""
    next_place: int = 0
    schema: Schema | None = None
    trained: tuple[float, float] | None = (0.0, 1.0)
    """Range of training of every column; None: not known."""

    def application(self) -> Starlette:
        one = "/v1/requests/{request}"
        return Starlette(
            routes=[
                Route("/v1/schema", self.described),
                Route("/v1/requests", self.counts),
                Route("/v1/requests/waiting", self.waiting),
                Route("/v1/requests/claim", self.claim, methods=["POST"]),
                Route(f"{one}/input", self.input),
                Route(f"{one}/{{action}}", self.act, methods=["POST"]),
            ]
        )

    async def described(self, request: Request) -> Response:
        head, features = self.head, self.schema.features if self.schema else ()
        names = ("name", "kind", "unit", "label", "error", "error_unit", "lower", "upper", "class_names")
        described = {name: getattr(head, name) for name in names} | {"classes": head.classes or 0}
        lower, upper = ([bound] * len(features) for bound in self.trained) if self.trained else ([], [])
        trained = {"trained_lower": lower, "trained_upper": upper}
        return json_response({"heads": [described], "features": [{"name": own.name} for own in features], **trained})

    async def counts(self, request: Request) -> Response:
        counts = {"requested": len(self.queue) - self.next_place, "claimed": 0, "labelled": len(self.values)}
        document = {"heads": {self.head.name: counts}, "keeps_inputs": True, "drafts": True, "adjudications": 1}
        return json_response(document)

    async def waiting(self, request: Request) -> Response:
        open_requests = [
            {
                "request": f"{place:032x}",
                "head": self.head.name,
                "time": time.time() - 7200,
                "due": time.time() + 86_400 if place % 2 else None,
                "state": "claimed" if place < self.next_place else "requested",
                "mine": place + 1 == self.next_place,
                "must_complete": False,
            }
            for place in range(len(self.queue))
        ]
        return json_response({"requests": open_requests, "next": None})

    async def claim(self, request: Request) -> Response:
        body = msgspec.json.decode(await request.body())
        first = self.next_place
        self.next_place = min(len(self.queue), first + body["count"])
        claimed = []
        for place in range(first, self.next_place):
            prepared, name = self.queue[place], f"{place:032x}"
            claimed.append(
                {
                    "request": name,
                    "lease": name[::-1],
                    "lease_until": time.time() + 600,
                    "due": None,
                    "must_complete": False,
                    "head": self.head.name,
                    "label": self.head.label,
                    "queue": body["queue"],
                    "input": prepared.shown
                    or {"media_type": prepared.media_type, "href": f"/v1/requests/{name}/input"},
                    "draft": prepared.draft if body["queue"] == "drafts" else None,
                    "answers": prepared.answers if body["queue"] == "adjudication" else (),
                }
            )
        return json_response({"requests": claimed})

    async def input(self, request: Request) -> Response:
        name = request.path_params["request"]
        if request.headers.get(LEASE_KEY) != name[::-1]:
            return error_response(Conflict("the lease is another one", code="lease_lost"))
        prepared = self.queue[int(name, 16)]
        return Response(prepared.content, media_type=prepared.media_type)

    async def act(self, request: Request) -> Response:
        body = msgspec.json.decode(await request.body())
        name = request.path_params["request"]
        if request.path_params["action"] == "submit":
            self.values[name] = body["value"]
            return json_response({"outcome": "accepted"})
        if request.path_params["action"] == "reveal":
            return json_response(
                {
                    "prediction": self.queue[int(name, 16)].draft,
                    "uncertainty": 2.5,
                    "measure": self.head.ensemble_measure,
                    "threshold": 1.25,
                    "decision": "defer",
                    "error": 4.0,
                    "error_unit": self.head.error_unit,
                }
            )
        return json_response({"request": name, "state": "claimed", "lease_until": time.time() + 600})


@contextmanager
def console_beside(services: Mapping[str, StubService]) -> Iterator[str]:
    """Serve stubs by task and the console in front of them; yield the console's URL."""
    ports = free_ports(len(services) + 1)
    addresses = {task: Address(f"http://{HOST}:{port}") for task, port in zip(services, ports[1:], strict=True)}
    clients = Services(lambda: addresses, client_context)
    console = Console(load(), Installation(clients), None, secure=False)

    @asynccontextmanager
    async def beside(app: Any) -> AsyncIterator[None]:
        yield
        await clients.close()

    app = with_headers(with_session(application(console, Relay(clients, 64 << 20), VIEWS, beside)))
    applications = [app, *(service.application() for service in services.values())]
    servers = [
        uvicorn.Server(
            uvicorn.Config(own, host=HOST, port=port, log_config=None, loop="asyncio", timeout_graceful_shutdown=1)
        )
        for own, port in zip(applications, ports, strict=True)
    ]
    threads = [threading.Thread(target=server.run, daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    try:
        end = time.monotonic() + _START_SECONDS
        while not all(server.started for server in servers):
            assert time.monotonic() < end
            time.sleep(0.01)
        yield f"http://{HOST}:{ports[0]}"
    finally:
        for server, thread in zip(
            servers, threads, strict=True
        ):  # the console first, which has connections to the others
            server.should_exit = True
            thread.join(timeout=10)
