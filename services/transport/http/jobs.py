"""Jobs over HTTP: accepted with 202, they report progress, can be cancelled, and keep their result for a while."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from services.access import caller
from services.request.contract import Call, Priority, Progress, Units
from services.runtime.errors import Busy, Cancelled, NotFound, internal, shortened
from services.runtime.lifecycle import Lifecycle
from services.runtime.logging import get_logger
from services.runtime.settings import Settings
from services.tracing.trace import current, step
from services.transport.http.body import describe, json_response
from services.transport.http.request import TIMEOUT_HEADER, read_request, timeout_seconds, within
from services.transport.served_model import ServedModel

_log = get_logger(__name__)
_KEEP_ALIVE_SECONDS = 15.0
"""Interval of keep-alive comments to a watcher, in seconds, since proxies and clients drop silent connections."""
State = Literal["running", "done", "failed", "cancelled"]


@dataclass
class JobRecord:
    """State of a job."""

    identity: str
    owner: str | None = None
    """Name of the token that created the job; it is hidden from other tokens."""
    state: State = "running"
    fraction: float = 0.0
    stage: str = ""
    items: int = 0
    """Number of items finished so far, answered or failed."""
    result: bytes | None = None
    """Result as JSON, with the paths of files."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files of the result, by name."""
    error: dict[str, Any] | None = None
    ended: float | None = None
    """Time of its end on the monotonic clock; None while it runs."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def summary(self) -> dict[str, Any]:
        """Return the state of a job without its result, which may be many megabytes."""
        document: dict[str, Any] = {
            "id": self.identity,
            "state": self.state,
            "progress": {"fraction": self.fraction, "stage": self.stage, "items": self.items},
        }
        if self.error is not None:
            document["error"] = self.error
        return document

    def view(self) -> dict[str, Any]:
        """Return the summary, and the result once there is one."""
        return self.summary() | ({} if self.result is None else {"result": msgspec.Raw(self.result)})

    @property
    def nbytes(self) -> int:
        """Size of the result with its files, in bytes."""
        return len(self.result or b"") + sum(map(len, self.files.values()))

    def tell(self) -> None:
        """Wake all watchers."""
        self.changed.set()
        self.changed = asyncio.Event()


class JobRoutes:
    """Endpoints under ``/v1/jobs``: POST, GET, DELETE and server-sent events."""

    def __init__(self, tenant: ServedModel, settings: Settings, lifecycle: Lifecycle) -> None:
        self._tenant = tenant
        self._settings = settings
        self._lifecycle = lifecycle
        self._jobs: dict[str, JobRecord] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def create(self, request: Request) -> Response:
        """Create a job; errors of the request and its deadline belong to this call, the job itself has no deadline."""
        async with within(timeout_seconds(request.headers.get(TIMEOUT_HEADER), self._settings.request_seconds)):
            with step("decode"):
                question = await read_request(request, self._tenant, self._settings)
            call = question.options.call("decide", priority=Priority.BULK)
            units = await self._tenant.pipeline.expand(question.request, call, question.nbytes)
        self._make_room()
        record = JobRecord(secrets.token_hex(12), caller.name())
        self._jobs[record.identity] = record
        self._tasks[record.identity] = asyncio.create_task(self._work(record, units, call, question.nbytes))
        return json_response(record.summary(), 202, {"location": _path(record.identity)})

    async def one(self, request: Request) -> Response:
        """Handle GET, HEAD and DELETE of a job: one route, so that the error for other methods can name all of them."""
        return await (self.cancel if request.method == "DELETE" else self.show)(request)

    async def show(self, request: Request) -> Response:
        return json_response(self._find(request).view())

    async def cancel(self, request: Request) -> Response:
        """Cancel a running job; delete an ended one."""
        record = self._find(request)
        if record.state == "running":
            self._tasks[record.identity].cancel()
            await asyncio.wait([self._tasks[record.identity]])
        else:
            del self._jobs[record.identity]
        return json_response(record.summary())

    async def events(self, request: Request) -> Response:
        """Stream progress until the end, without the result."""
        record = self._find(request)

        async def lines() -> AsyncIterator[bytes]:
            while True:
                changed = record.changed
                summary = msgspec.json.encode(record.summary())
                yield b"event: " + record.state.encode() + b"\ndata: " + summary + b"\n\n"
                if record.state != "running":
                    return
                try:
                    await asyncio.wait_for(changed.wait(), _KEEP_ALIVE_SECONDS)
                except TimeoutError:
                    yield b": still running\n\n"

        if request.method == "HEAD":  # HEAD needs no stream
            return Response(media_type="text/event-stream")
        return StreamingResponse(lines(), media_type="text/event-stream")

    async def file(self, request: Request) -> Response:
        """Return a file of the result."""
        record = self._find(request)
        name = request.path_params["file"]
        if name not in record.files:
            known = ", ".join(record.files) or f"none: it is {record.state}"
            raise NotFound(f"job {record.identity} has no file {name[:60]!r}; its files are {known}", code="no_file")
        return Response(record.files[name], media_type="application/octet-stream")

    async def _work(self, record: JobRecord, units: Units[Any], call: Call, nbytes: int) -> None:
        """Process a job; a drain waits for it as for a call. Its trace continues that of the creating call."""
        with self._lifecycle.in_flight(), current().part("job", {}):
            await self._worked_off(record, units, call, nbytes)

    async def _worked_off(self, record: JobRecord, units: Units[Any], call: Call, nbytes: int) -> None:
        try:
            answers = await self._follow(record, units, call)
            offload = self._tenant.pipeline.offload
            with step("encode"):
                record.result, record.files = await offload.run(nbytes, self._written, record.identity, answers)
            record.state, record.fraction = "done", 1.0
        except asyncio.CancelledError:
            cancelled = Cancelled("the job was cancelled", code="cancelled")
            current().failed(cancelled)
            record.state, record.error = "cancelled", describe(cancelled)
        except Exception as failure:
            error = internal(failure)
            current().failed(error)
            if error is not failure:
                _log.error("a job failed by a defect", exc_info=failure)
            record.state, record.error = "failed", describe(error)
        finally:
            record.ended = time.monotonic()
            self._tasks.pop(record.identity, None)
            record.tell()
            self._bound_results()

    async def _follow(self, record: JobRecord, units: Units[Any], call: Call) -> list[Any]:
        """Return all answers; a full queue delays an accepted job, but does not fail it."""
        answers: list[Any] = []

        def finished(items: int) -> None:
            record.items = items

        while True:
            try:
                async with aclosing(self._tenant.pipeline.events(units, call, finished)) as events:
                    async for event in events:
                        if isinstance(event, Progress):
                            record.fraction, record.stage = event.fraction, event.stage
                        else:
                            answers.append(event)
                        record.tell()
                return answers
            except Busy as busy:  # raised before the first event
                await asyncio.sleep(busy.retry_after_seconds)

    def _written(self, identity: str, answers: list[Any]) -> tuple[bytes, Mapping[str, bytes]]:
        """Return a result and its files. The record is not changed, since the job may be cancelled meanwhile."""
        http = self._tenant.http
        document = http.answer_json(answers)
        files = {} if http.files is None else http.files(answers)
        if http.files is not None:
            document |= {"files": {name: f"{_path(identity)}/files/{name}" for name in files}}
        return msgspec.json.encode(document), files

    def _find(self, request: Request) -> JobRecord:
        self._forget_old()
        identity = request.path_params["job"]
        record = self._jobs.get(identity)
        if record is None or record.owner != caller.name():
            raise NotFound(f"no job {shortened(identity)!r}; its result may have outlived its time", code="no_job")
        return record

    def _make_room(self) -> None:
        """Make room for one more job: ended jobs are deleted, the oldest first; running ones stay.

        Raises:
            Busy: the maximum number of jobs is running.
        """
        self._forget_old()
        most = self._settings.max_jobs
        if len(self._tasks) >= most:
            raise Busy(
                f"{len(self._tasks)} jobs are running, at most {most} may be; retry when one has ended",
                code="too_many_jobs",
                retry_after_seconds=5.0,
            )
        for record in self._ended()[: max(0, len(self._jobs) - most + 1)]:
            del self._jobs[record.identity]

    def _bound_results(self) -> None:
        """Delete the oldest results beyond the size limit, but never the newest."""
        ended = self._ended()
        kept = sum(record.nbytes for record in ended)
        for record in ended[:-1]:
            if kept <= self._settings.max_job_bytes:
                return
            kept -= record.nbytes
            del self._jobs[record.identity]

    def _ended(self) -> list[JobRecord]:
        """Return the ended jobs, the oldest first."""
        return sorted((record for record in self._jobs.values() if record.ended is not None), key=_end)

    def _forget_old(self) -> None:
        oldest = time.monotonic() - self._settings.job_seconds
        for identity, record in list(self._jobs.items()):
            if record.ended is not None and record.ended < oldest:
                del self._jobs[identity]


def _path(identity: str) -> str:
    return f"/v1/jobs/{identity}"


def _end(record: JobRecord) -> float:
    assert record.ended is not None
    return record.ended
