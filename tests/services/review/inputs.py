"""Inputs of claimed requests in place of a relay, and an application of routes around them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.runtime.errors import Conflict, DemurError
from services.transport.http.body import error_response
from services.transport.http.review import LEASE_KEY

LEASE = {LEASE_KEY: "f" * 32}


@dataclass
class Kept:
    """The same input for every request with the lease; counts how often it was fetched."""

    media_type: str
    content: bytes
    fetched: int = 0

    async def input(self, request: Request) -> tuple[str, bytes]:
        self.fetched += 1
        if request.headers.get(LEASE_KEY) != LEASE[LEASE_KEY]:
            raise Conflict("the lease is another one", code="lease_lost")
        return self.media_type, self.content


@dataclass(frozen=True)
class Caller:
    """Caller of routes, without a server."""

    application: Starlette

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        async def answer() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.application)
            async with httpx.AsyncClient(transport=transport, base_url="http://console") as caller:
                return await caller.get(path, headers=dict(headers or {}))

        return asyncio.run(answer())


def client(routes: Sequence[Route]) -> Caller:
    async def failed(request: Request, error: Exception) -> Response:
        assert isinstance(error, DemurError)
        return error_response(error)

    return Caller(Starlette(routes=routes, exception_handlers={DemurError: failed}))
