"""Long work over HTTP: 202 and a job that shows progress, can be cancelled and keeps its result a while."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from services.errors import Busy, Cancelled, NotFound, internal
from services.lifecycle import Lifecycle
from services.logging import get_logger
from services.pipeline import Call
from services.settings import Settings
from services.tenant import Tenant
from services.transport.http.body import describe, json_response
from services.transport.http.request import read_request
from services.work import ItemFailed, Priority, Progress, Units

_log = get_logger(__name__)
_KEEP_ALIVE_SECONDS = 15.0
"""Between words to a watcher: proxies and clients give up on silence."""
State = Literal["running", "done", "failed", "cancelled"]


@dataclass
class JobRecord:
    """What is known of a job."""

    identity: str
    state: State = "running"
    fraction: float = 0.0
    stage: str = ""
    items: int = 0
    """Items finished so far."""
    result: Any = None
    error: dict[str, Any] | None = None
    ended: float | None = None
    """On the monotonic clock."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def view(self) -> dict[str, Any]:
        """As the caller sees it."""
        found = {
            "id": self.identity,
            "state": self.state,
            "progress": {"fraction": self.fraction, "stage": self.stage, "items": self.items},
        }
        if self.result is not None:
            found["result"] = self.result
        if self.error is not None:
            found["error"] = self.error
        return found

    def tell(self) -> None:
        """Wakes everybody who watches."""
        self.changed.set()
        self.changed = asyncio.Event()


class JobRoutes:
    """POST, GET, DELETE and server-sent events under ``/v1/jobs``."""

    def __init__(self, tenant: Tenant, settings: Settings, lifecycle: Lifecycle) -> None:
        self._tenant = tenant
        self._settings = settings
        self._lifecycle = lifecycle
        self._jobs: dict[str, JobRecord] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def create(self, request: Request) -> Response:
        question = await read_request(request, self._tenant, self._settings)
        call = question.options.call("decide", priority=Priority.BULK)
        units = await self._tenant.pipeline.expand(question.request, call, question.nbytes)
        self._forget_old()
        if len(self._jobs) >= self._settings.max_jobs:
            raise Busy(
                f"{len(self._jobs)} jobs are kept, at most {self._settings.max_jobs} may be; delete finished ones",
                code="too_many_jobs",
                retry_after_seconds=5.0,
            )
        record = JobRecord(secrets.token_hex(12))
        self._jobs[record.identity] = record
        self._tasks[record.identity] = asyncio.create_task(self._work(record, units, call))
        location = f"/v1/jobs/{record.identity}"
        return json_response(record.view(), 202, {"location": location})

    async def show(self, request: Request) -> Response:
        return json_response(self._find(request).view())

    async def cancel(self, request: Request) -> Response:
        """Cancels a running job; forgets an ended one."""
        record = self._find(request)
        if record.state == "running":
            self._tasks[record.identity].cancel()
            await asyncio.wait([self._tasks[record.identity]])
        else:
            del self._jobs[record.identity]
        return json_response(record.view())

    async def events(self, request: Request) -> Response:
        record = self._find(request)

        async def lines() -> AsyncIterator[bytes]:
            while True:
                changed = record.changed
                view = record.view()
                yield b"event: " + record.state.encode() + b"\ndata: " + msgspec.json.encode(view) + b"\n\n"
                if record.state != "running":
                    return
                try:
                    await asyncio.wait_for(changed.wait(), _KEEP_ALIVE_SECONDS)
                except TimeoutError:
                    yield b": still running\n\n"

        return StreamingResponse(lines(), media_type="text/event-stream")

    async def _work(self, record: JobRecord, units: Units[Any], call: Call) -> None:
        """A drain waits for it, as for a call."""
        with self._lifecycle.in_flight():
            await self._worked_off(record, units, call)

    async def _worked_off(self, record: JobRecord, units: Units[Any], call: Call) -> None:
        answers: list[Any] = []
        try:
            async for event in self._tenant.pipeline.events(units, call):
                if isinstance(event, Progress):
                    record.fraction, record.stage = event.fraction, event.stage
                else:
                    answers.append(event)
                    record.items += 0 if isinstance(event, ItemFailed) else 1
                record.tell()
            record.result = self._tenant.http.answer_json(answers)
            record.state, record.fraction = "done", 1.0
        except asyncio.CancelledError:
            record.state = "cancelled"
            record.error = describe(Cancelled("the job was cancelled", code="cancelled"))
        except Exception as failure:
            error = internal(failure)
            if error is not failure:
                _log.error("a job failed by a defect", exc_info=failure)
            record.state, record.error = "failed", describe(error)
        finally:
            record.ended = time.monotonic()
            self._tasks.pop(record.identity, None)
            record.tell()

    def _find(self, request: Request) -> JobRecord:
        self._forget_old()
        identity = request.path_params["job"]
        if identity not in self._jobs:
            raise NotFound(f"no job {identity!r}; its result may have outlived its time", code="no_job")
        return self._jobs[identity]

    def _forget_old(self) -> None:
        oldest = time.monotonic() - self._settings.job_seconds
        for identity, record in list(self._jobs.items()):
            if record.ended is not None and record.ended < oldest:
                del self._jobs[identity]
