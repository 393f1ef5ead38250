"""Services of an installation, as the console calls them: one HTTP client each, which follows no redirects."""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import httpx

from services.review.identity import Reviewer
from services.runtime.errors import NotFound, NotReady

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 60.0
_PASSED = ("content-type", "retry-after")
"""Headers of a service's answer that are passed on."""


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a service."""

    url: str
    """Such as ``http://127.0.0.1:3005``, without a path."""
    certificate: str = ""
    """Path of the only certificate that is accepted; empty: those that the roots of this machine confirm."""


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """Answer of a service."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Services:
    """HTTP clients of the services; use it from one event loop."""

    def __init__(
        self, addresses: Callable[[], Mapping[str, Address]], context: Callable[[str], ssl.SSLContext]
    ) -> None:
        """
        Args:
            addresses: returns where services are now, by task.
            context: returns the TLS context for a certificate path, see ``Address``; another one after a renewal.
        """
        self._addresses, self._context = addresses, context
        self._clients: dict[Address, _Client] = {}
        self._replaced: list[httpx.AsyncClient] = []

    def addresses(self) -> Mapping[str, Address]:
        """Return where services are now, by task."""
        return self._addresses()

    async def call(
        self,
        task: str,
        who: Reviewer,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = ANSWER_SECONDS,
    ) -> ServiceAnswer:
        """Call a service.

        Args:
            path: path with query, such as ``/v1/requests``.

        Raises:
            NotFound: there is no such service.
            NotReady: it does not answer.
        """
        address = self.addresses().get(task)
        if address is None:
            raise NotFound.about("task", task, "is not a service of this installation", code="no_task")
        client = self._client(address)
        sent = who.headers | ({"content-type": "application/json"} if content is not None else {}) | dict(headers or {})
        timeout = httpx.Timeout(seconds, connect=CONNECT_SECONDS)
        try:
            answer = await client.request(method, path, content=content, headers=sent, timeout=timeout)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NotReady(
                f"{task} does not answer: {type(error).__name__}; try again", code="no_answer", retry_after_seconds=1
            ) from error
        passed = {name: answer.headers[name] for name in _PASSED if name in answer.headers}
        return ServiceAnswer(answer.status_code, passed, answer.content)

    async def close(self) -> None:
        """Close all connections."""
        for client in (*self._replaced, *(kept.client for kept in self._clients.values())):
            await client.aclose()

    def _client(self, address: Address) -> httpx.AsyncClient:
        context = self._context(address.certificate) if address.url.startswith("https:") else None
        kept = self._clients.get(address)
        if kept is None or kept.context is not context:
            if kept is not None:
                self._replaced.append(kept.client)  # calls that it has begun finish
            client = httpx.AsyncClient(
                base_url=address.url, verify=context or False, follow_redirects=False, trust_env=False
            )
            kept = self._clients[address] = _Client(context, client)
        return kept.client


@dataclass(frozen=True, slots=True)
class _Client:
    """HTTP client, and the TLS context that it was made with."""

    context: ssl.SSLContext | None
    client: httpx.AsyncClient
