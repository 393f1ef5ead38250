"""Label Studio beside a real service: the commands of its exchange, the console in front, and its annotations."""

import asyncio
import contextlib
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from services.access.authenticator import Authenticator
from services.access.rules import REVIEW_ROUTES, HttpRules
from services.cli import main
from services.cli.http_client import client_context
from services.cli.review import VIEWS
from services.review.assets import load
from services.review.console import Console, application, with_headers, with_session
from services.review.identity import Guard
from services.review.installation import Installation
from services.review.relay import Relay
from services.review.services import Address, Services
from services.transport.http.body import error_response
from services.transport.http.call import AccessGuard
from tests.ports import HOST, free_ports

MOST_BYTES = 8 << 20
Json = dict[str, Any]


@dataclass(frozen=True)
class Studio:
    """Commands against a service on a socket."""

    task: str
    url: str
    folder: Path

    async def exported(self, *words: str, name: str = "tasks.json") -> list[Json]:
        """Tasks of an export."""
        path = self.folder / name
        code, _, errors = await command("review", "export", self.task, "-o", str(path), "--url", self.url, *words)
        assert code == 0, errors
        tasks: list[Json] = json.loads(path.read_bytes())
        return tasks

    async def imported(self, tasks: list[Json], expected: int = 0) -> list[Json]:
        """Report of an import, by annotation."""
        path = self.folder / "annotations.json"
        path.write_text(json.dumps(tasks))
        words = ("review", "import", self.task, str(path), "--url", self.url, "--json")
        code, output, errors = await command(*words)
        assert code == expected, (output, errors)
        report: list[Json] = json.loads(output)["annotations"]
        return report


@asynccontextmanager
async def studio_beside(task: str, http: httpx.AsyncClient, folder: Path) -> AsyncIterator[Studio]:
    """Put the application behind an in-process client on a socket, as commands need it."""
    (port,) = free_ports(1)
    app = http._transport.app  # type: ignore[attr-defined]
    config = uvicorn.Config(app, host=HOST, port=port, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    running = asyncio.create_task(server.serve())
    try:
        async with asyncio.timeout(20):
            while not server.started:
                await asyncio.sleep(0.01)
        yield Studio(task, f"http://{HOST}:{port}", folder)
    finally:
        server.should_exit = True
        await running


@asynccontextmanager
async def console_before(
    studio: Studio, authenticator: Authenticator | None = None, most_bytes: int = MOST_BYTES
) -> AsyncIterator[httpx.AsyncClient]:
    """Serve the console's application in front of a service; yield a caller of it."""
    services = Services(lambda: {studio.task: Address(studio.url)}, client_context)
    console = Console(load(), Installation(services), authenticator, secure=False)
    app: Any = application(console, Relay(services, most_bytes), VIEWS)
    app = with_session(AccessGuard(app, HttpRules(REVIEW_ROUTES), authenticator))
    app = with_headers(Guard(app, error_response, tokens=authenticator is not None))
    transport = httpx.ASGITransport(app)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:3011", timeout=60) as caller:
            yield caller
    finally:
        await services.close()


async def command(*words: str) -> tuple[int, str, str]:
    """Exit code, output and errors of ``demur WORDS``, in a thread beside the service."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = await asyncio.to_thread(main, words)
    return code, output.getvalue(), errors.getvalue()


def annotated(task: Json, *results: Json, number: int = 1, **more: Any) -> Json:
    """A task as the JSON export of a project has it, with an annotation."""
    annotation = {
        "id": number,
        "completed_by": 3,
        "result": list(results),
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": f"2026-03-09T22:16:{number:02d}.728353Z",
        "updated_at": "2026-03-09T22:17:08.728378Z",
        "lead_time": 4.25,
        "task": number,
    }
    known = task.get("annotations", [])
    return task | {"id": number, "file_upload": "tasks.json", "annotations": [*known, annotation | more]}


def answer(kind: str, shown: str, value: Json, **more: Any) -> Json:
    """A result of the control of the exported configuration."""
    return {"id": "Dx_aB91ISN", "from_name": "label", "to_name": shown, "type": kind, "value": value} | more


def outcomes(report: list[Json]) -> list[str]:
    return [line["outcome"] for line in report]
