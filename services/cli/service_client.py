"""Calls of commands to the HTTP interface of a running service."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from click import option

from services.cli.http_client import ask, refusal
from services.cli.output import CommandError
from services.cli.processes import announced
from services.runtime.addresses import address
from services.runtime.settings import Settings

url_option = option("--url", help="HTTP address of the service.  [default: where `demur up` runs it]")
_SECONDS = 30.0


@dataclass(frozen=True)
class ServiceClient:
    """HTTP client of a service."""

    base: str
    """Such as ``http://127.0.0.1:3005``."""
    certificate: str = ""
    """See ``ask``."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of every call."""
    seconds: float = _SECONDS
    """Longest time of a call."""

    def call(self, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
        """Return status and body of the reply to a GET call, or with a body to a POST call.

        Raises:
            CommandError: no service answers.
        """
        sent = dict(self.headers) | dict(headers or {})
        url = f"{self.base}{path}"
        code, content = ask(url, seconds=self.seconds, certificate=self.certificate, body=body, headers=sent)
        if code == 0:
            raise CommandError(f"no service answers at {self.base}: {content.decode(errors='replace')}")
        return code, content

    def content(self, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> bytes:
        """Return the body of a reply; ``body`` is sent as JSON with POST.

        Raises:
            CommandError: no service answers, or it refuses.
        """
        code, content = self.call(path, None if body is None else msgspec.json.encode(body), headers)
        if code != 200:
            raise CommandError(refusal(content))
        return content

    def json(self, path: str, body: Any = None) -> Any:
        """Return the JSON document of a reply; see ``content``."""
        return msgspec.json.decode(self.content(path, body))


def service_at(
    settings: Settings, task: str, url: str | None, headers: Mapping[str, str] | None = None
) -> ServiceClient:
    """Return the client of a service: at an address, else where it runs with the same home, else where it would."""
    running = announced(settings.home).get(task)
    certificate = ""
    if not url and running is not None:
        url, certificate = running.http, running.certificate
    base = url or f"http://{address(settings.host, settings.ports[0])}"
    return ServiceClient(base.rstrip("/"), certificate, headers or {})
