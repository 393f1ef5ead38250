"""Weighted-fair scheduling of quanta on lanes.

Everything here runs on the event loop, except the quanta themselves, which run in lane threads (as many as the device
can use at once). A quantum that is expected to take less time than a thread hop runs on the loop itself. Quanta of
several requests share a pass if the executor allows it; a failed pass is repeated for each request alone, so that a
failure affects its own request only. Requests of a class take turns quantum by quantum, even if one has many quanta
that could run side by side.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from models.executors.failures import DeviceFailed
from services.request import passes
from services.request.admission import Room
from services.request.contract import Joinable, Priority, Quantum, RowBatch, Steps, Work
from services.request.device_health import DeviceHealth
from services.request.job import Job, Turn
from services.request.overlap import Overlap
from services.runtime.errors import DeadlineExceeded, DemurError, device_unavailable, draining, execution_failed
from services.runtime.system import lower_priority
from services.tracing.trace import current

_LOOK = 32
"""Number of waiting jobs of a class among which a quick one is searched while all lanes are busy."""


class Begun(NamedTuple):
    """Quantum that is running in a pass."""

    job: Job
    turn: Turn
    place: int
    quantum: Quantum


@dataclass(frozen=True)
class Limits:
    """Limits of the queue, and parameters of the schedule."""

    lanes: int = 1
    queue_seconds: float = 20.0
    """Declared device time of waiting and running jobs, in seconds per lane."""
    lane_calls: int = 16
    """Number of waiting and running interactive requests, per lane."""
    queue_bytes: int = 512 << 20
    inline_seconds: float = 0.0006
    """Expected duration, in seconds, up to which a quantum runs on the event loop."""
    alone_seconds: float = 0.005
    """The same for a request that meets no other; as long as a thread of the interpreter keeps the others waiting."""
    weights: tuple[float, float] = (16.0, 1.0)
    """Weights of the classes under contention: interactive, bulk."""
    lane_niceness: int = 5
    """Increment of the lanes' niceness, so that the event loop responds while bulk work runs."""


class Scheduler:
    """Scheduler of all requests of a process; use it from one event loop only."""

    def __init__(
        self,
        limits: Limits,
        clock: Callable[[], float],
        observe: Callable[[float, int, str], None] = lambda seconds, requests, trace_id: None,
        begun: Callable[[float], None] = lambda seconds: None,
        health: DeviceHealth | None = None,
    ) -> None:
        """Start the lanes.

        Args:
            clock: monotonic, in seconds.
            observe: called for each pass with its duration, number of requests, and trace identifier or an empty text.
            begun: called for each request that starts, with its waiting time.
            health: gets reports of passes in which the device failed; nothing runs while it is bad.
        """
        self.limits = limits
        self._room = Room(limits.lanes, limits.queue_seconds, limits.queue_bytes, limits.lane_calls, clock)
        self.clock = clock
        self._observe = observe
        self._begun = begun
        self._health = health or DeviceHealth()
        self._jobs: tuple[set[Job], ...] = (set(), set())
        self._ready: tuple[deque[Job], ...] = (deque(), deque())
        self._served = [0.0, 0.0]
        """Device time by class, divided by its weight; comparable while both classes have work."""
        self._free = limits.lanes
        self.overlap = Overlap()
        self._draining = False
        self._woken = False
        self._lanes = ThreadPoolExecutor(
            limits.lanes,
            thread_name_prefix="lane",
            initializer=lower_priority,
            initargs=(limits.lane_niceness,),
        )

    @property
    def active(self) -> int:
        """Number of jobs waiting or running."""
        return sum(map(len, self._jobs))

    @property
    def queued_seconds(self) -> float:
        """Declared device time of active jobs, in seconds."""
        return self._room.seconds

    @property
    def queued_bytes(self) -> int:
        """Declared memory of active jobs, and of jobs that ended while their quanta still run, in bytes."""
        return self._room.nbytes

    @property
    def lanes_idle(self) -> bool:
        """True while no lane runs a quantum."""
        return self._free == self.limits.lanes

    def submit(
        self, work: Work, *, seconds: float, nbytes: int, priority: Priority, deadline: float | None = None
    ) -> Job:
        """Put work into the queue.

        Args:
            seconds: declared device time.
            nbytes: declared memory.
            deadline: time on the scheduler's clock.

        Raises:
            Busy: the queue is full, see ``services.request.admission``.
            Draining: the process is shutting down.
            DeviceUnavailable: the device failed and has not recovered.
        """
        if (refusal := self.refusal()) is not None:
            raise refusal
        self._room.enter(seconds, nbytes, priority)
        self.overlap.entered(self.active)
        job = Job(work, seconds, nbytes, priority, deadline)
        job.waits_since = self.clock()
        job.share = current().share(job.waits_since)
        job.release = lambda: self._leave(job)
        if not self._jobs[priority]:  # an idle class does not accumulate credit
            self._served[priority] = max(self._served)
        self._jobs[priority].add(job)
        self._advance(job, None, None)
        return job

    def refusal(self) -> DemurError | None:
        """Return the error of all new work: the process is shutting down, or its device failed; else None."""
        if self._draining:
            return draining()
        return device_unavailable(self._health.reason) if self._health.reason else None

    def runs_inline(self, seconds: float) -> bool:
        """Return whether an interactive request with one pass of this duration runs at once; the caller then does that.

        A longer one does while requests come one at a time.
        """
        if self.active:
            self.overlap.met()
        if seconds <= self.limits.inline_seconds:
            return True
        return seconds <= self.limits.alone_seconds and not self.active and self.overlap.may_block()

    def run_inline(self, batch: RowBatch, requests: int) -> Any:
        """Return the result of a quick batch of interactive requests, run at once; it counts as their class's share.

        Raises:
            Exception: the error of the executor; ``DeviceFailed`` makes the device unhealthy.
        """
        self._served[Priority.INTERACTIVE] += batch.seconds / self.limits.weights[Priority.INTERACTIVE]
        start = self.clock()
        share = current().share(start)
        for _ in range(requests):
            self._begun(0.0)
        try:
            return batch.executor(batch.rows)
        except DeviceFailed as error:
            self._health.failed(error.kind)
            raise
        finally:
            end = self.clock()
            trace = ""
            if share is not None:
                trace = share.passed([(share, batch.size)], start, end - start, [batch.size])
                share.left(end, None)
            self._observe(end - start, requests, trace)

    def is_quick(self, job: Job) -> bool:
        """Return whether the job's next quantum runs on the event loop itself."""
        return job.quantum is None or job.quantum.seconds <= self.limits.inline_seconds

    async def in_lane(self, call: Callable[[], None]) -> None:
        """Run a call in a free lane, regardless of the device's health; for its probes."""
        await asyncio.get_running_loop().run_in_executor(self._lanes, call)

    def drain(self) -> None:
        """Refuse new work from now on; accepted work is finished."""
        self._draining = True

    def close(self) -> None:
        """Cancel remaining jobs and end the lanes after their current quanta."""
        self._draining = True
        for job in [*self._jobs[0], *self._jobs[1]]:
            job.cancel()
        self._lanes.shutdown(wait=False, cancel_futures=True)

    def _leave(self, job: Job) -> None:
        self._jobs[job.priority].discard(job)
        self._room.leave(job.seconds, job.priority)
        if not job.running:
            self._room.free(job.nbytes)
        if job.share is not None:
            job.share.left(self.clock(), job.error)

    def _advance(self, job: Job, result: Any, error: BaseException | None) -> None:
        """Send a result (or failure) to the generator and run it up to its next quantum."""
        while job.state == "active":
            try:
                item = job.work.throw(error) if error is not None else job.work.send(result)
            except StopIteration:
                job.end("finished")
                return
            except Exception as failure:
                job.end("finished", execution_failed(failure))
                return
            result = error = None
            if isinstance(item, Steps) and not item.steps:
                result = []
            elif isinstance(item, Quantum | Steps):
                job.turn = Turn(item)
                self._enqueue(job)
                return
            else:
                job.emit(item)

    def _enqueue(self, job: Job) -> None:
        self._line_up(job)
        self._wake()

    def _wake(self) -> None:
        if not self._woken:
            self._woken = True
            asyncio.get_running_loop().call_soon(self._dispatch)

    def _line_up(self, job: Job) -> None:
        """Append a job to its queue; a job with a caught failure may still be in the queue, and keeps its place."""
        if not job.queued:
            job.queued = True
            self._ready[job.priority].append(job)

    def _dispatch(self) -> None:
        self._woken = False
        budget = 4 * self.limits.inline_seconds
        while True:
            inline_seconds = self.limits.inline_seconds if budget > 0 else -math.inf
            if budget <= 0 and not self._free:
                self._wake()  # yield to the loop; quick quanta must not wait for a free lane
                return
            longest = math.inf if self._free else inline_seconds
            picked = self._pick(longest)
            if picked is None:
                return
            job, place = picked
            group = self._gather(job, place, longest)
            quanta = [begun.quantum for begun in group]
            seconds = passes.seconds(quanta)
            inline = seconds <= inline_seconds
            self._served[job.priority] += seconds / self.limits.weights[job.priority]
            if inline:
                budget -= seconds
                self._finish(group, *passes.run(quanta, self.clock))
            else:
                self._free -= 1
                loop = asyncio.get_running_loop()
                self._lanes.submit(
                    passes.run_in_lane, quanta, self.clock, loop, lambda *a, g=group: self._returned(g, *a)
                )

    def _pick(self, longest: float) -> tuple[Job, int] | None:
        """Return the next live job whose quantum takes at most ``longest`` seconds, and its place in the queue.

        The class that is behind its share goes first.
        """
        behind = self._served[Priority.BULK] < self._served[Priority.INTERACTIVE]  # on a tie, interactive goes first
        for queue in reversed(self._ready) if behind else self._ready:
            while queue and not self._live(queue[0]):
                _taken(queue)
            for place, job in enumerate(islice(queue, _LOOK)):  # jobs that wait for a lane do not block quick ones
                if self._live(job) and job.quantum.seconds <= longest:  # type: ignore[union-attr]
                    return _taken(queue, place), place
        return None

    def _live(self, job: Job) -> bool:
        """Return whether a job still has a quantum to run; end it if its deadline has passed or the device failed."""
        if job.state == "active" and job.deadline is not None and self.clock() >= job.deadline:
            late = DeadlineExceeded("the deadline passed before the work was done", code="deadline_exceeded")
            job.end("finished", late)
        if job.state == "active" and self._health.reason:
            job.end("finished", device_unavailable(self._health.reason))
        return job.state == "active" and job.quantum is not None

    def _gather(self, job: Job, place: int, longest: float) -> list[Begun]:
        """Return the job's next quantum, and those behind it that fit into one pass of at most ``longest`` seconds.

        A further quantum of the same job is left to another free lane.
        """
        first = self._begin(job)
        group = [first]
        if not isinstance(first.quantum, Joinable):
            return group
        executor, most = first.quantum.executor, first.quantum.most
        size = first.quantum.size
        queue = self._ready[job.priority]
        while place < len(queue) and size < most:
            if not self._live(queue[place]):
                _taken(queue, place)
                continue
            other = queue[place].quantum
            if not isinstance(other, Joinable) or other.executor is not executor:
                break
            if queue[place] is job and self._free > 1:  # its work was split for several lanes
                break
            joined = size + other.size
            if joined > most or executor.seconds(joined) > longest:
                break
            size = joined
            group.append(self._begin(_taken(queue, place)))
        return group

    def _begin(self, job: Job) -> Begun:
        """Start and return a job's next quantum; a job with more of them goes to the end of its queue."""
        turn = job.turn
        assert turn is not None
        place, quantum = turn.take()
        job.running += 1
        if job.waits_since is not None:
            self._begun(self.clock() - job.waits_since)
            job.waits_since = None
        if turn.next is not None:
            self._line_up(job)
        return Begun(job, turn, place, quantum)

    def _returned(self, group: list[Begun], results: list[Any], start: float, seconds: float) -> None:
        self._free += 1
        self._finish(group, results, start, seconds)
        self._dispatch()

    def _finish(self, group: list[Begun], results: list[Any], start: float, seconds: float) -> None:
        self._observe(seconds, len(group), _traced(group, start, seconds))
        for failure in results:
            if isinstance(failure, DeviceFailed):
                self._health.failed(failure.kind)
                break
        for begun, result in zip(group, results, strict=True):
            job, turn = begun.job, begun.turn
            job.running -= 1
            if job.state != "active" and not job.running:
                self._room.free(job.nbytes)
            if job.turn is not turn:
                continue  # the job ended, or went on without this quantum
            if isinstance(result, DeviceFailed):
                job.end("finished", execution_failed(result))
            elif isinstance(result, BaseException):
                job.turn = None
                self._advance(job, None, execution_failed(result))
            elif turn.put(begun.place, result):
                job.turn = None
                self._advance(job, turn.result, None)


def _traced(group: list[Begun], start: float, seconds: float) -> str:
    """Report a pass to the traces of its requests; return its trace identifier, empty if nothing is traced."""
    sharers = [(begun.job.share, _size(begun.quantum)) for begun in group if begun.job.share is not None]
    return sharers[0][0].passed(sharers, start, seconds, [_size(begun.quantum) for begun in group]) if sharers else ""


def _size(quantum: Quantum) -> int:
    return quantum.size if isinstance(quantum, Joinable) else 1


def _taken(queue: deque[Job], place: int = 0) -> Job:
    job = queue[place]
    del queue[place]
    job.queued = False
    return job
