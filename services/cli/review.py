"""``demur review``: the review console in the foreground, over HTTP; or other labelling tools in its place."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from prometheus_client import CollectorRegistry

from services.access.factory import check_access, open_access
from services.access.rules import REVIEW_ROUTES, HttpRules
from services.cli import companion
from services.cli.http_client import ClientContexts
from services.cli.options import LazyGroup, Options, command
from services.cli.processes import COMPANIONS, MONITOR, REVIEW, announced
from services.review import label_studio, monitor_relay, scenes, slices
from services.review.assets import load
from services.review.console import Console, application, with_headers, with_session
from services.review.identity import Guard
from services.review.installation import Installation
from services.review.relay import Relay
from services.review.services import Address, Services
from services.runtime.ports import review_address
from services.runtime.review_addresses import service_urls
from services.runtime.settings import Settings
from services.transport.http.body import error_response
from services.transport.http.call import AccessGuard

VIEWS = (scenes.routes, slices.routes, label_studio.routes)
"""Functions that return routes of views, and of programs beside the page."""


@command("run", example="demur review")
def run(options: Options) -> int:
    """Serve the page on which people label what was deferred; docs/review.md describes it."""
    settings = Settings.read(task=REVIEW)
    host, port = review_address(settings)
    companion.prepare(settings, REVIEW, host, port)
    check_access(settings)
    access = open_access(settings, REVIEW, CollectorRegistry(), any_task=True)
    contexts = ClientContexts()
    contexts("")  # raises now if the environment names files that cannot be used
    services = Services(lambda: addresses(settings), contexts)
    monitor = Services(lambda: monitor_address(settings), contexts)
    secure = bool(settings.tls_certificate) or settings.review_url.startswith("https:")
    console = Console(load(), Installation(services), access.authenticator, secure=secure)
    outer = companion.lifespan(settings, lambda: True, access)

    @asynccontextmanager
    async def beside(app: Any) -> AsyncIterator[None]:
        async with outer(app):
            yield
        await services.close()
        await monitor.close()

    more = (*VIEWS, monitor_relay.routes(monitor, MONITOR))
    app: Any = application(console, Relay(services, settings.max_message_bytes), more, beside)
    app = with_session(AccessGuard(app, HttpRules(REVIEW_ROUTES), access.authenticator))
    app = Guard(app, error_response, tokens=access.authenticator is not None, url=settings.review_url)
    app = with_headers(app)
    companion.serve(app, settings, REVIEW, host, port, access, lambda: None)
    return 0


def addresses(settings: Settings) -> Mapping[str, Address]:
    """Return where services are: as settings name them, else those that run with the same home."""
    return {name: address for name, address in _addresses(settings).items() if name not in COMPANIONS}


def monitor_address(settings: Settings) -> Mapping[str, Address]:
    """Return where the monitor is, by its name; empty where none is known."""
    return {name: address for name, address in _addresses(settings).items() if name == MONITOR}


def _addresses(settings: Settings) -> Mapping[str, Address]:
    if settings.review_services:
        return {name: Address(url) for name, url in service_urls(settings.review_services).items()}
    running = announced(settings.home)
    return {name: Address(process.http, process.certificate) for name, process in running.items()}


review = LazyGroup(
    name="review",
    places={
        "run": "services.cli.review:run",
        "export": "services.cli.review_export:export_requests",
        "import": "services.cli.review_import:import_annotations",
    },
    help="Serve the page on which people label what was deferred, or use another labelling tool for that.",
    epilog="Example: demur review export vessel -o tasks.json --config config.xml",
    default="run",
)
