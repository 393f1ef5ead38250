"""The lesion task: multiple sclerosis lesions in brain scans."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable
from typing import TypeAlias

from demur._calls import AsyncCalls, Calls
from demur._errors import ServiceFailure
from demur._lesion_answer import LesionAnswer
from demur._lesion_exchange import Progress, ScanError, ScanExchange
from demur._lesion_question import MapName, Scan, Volume, opened, read
from demur._question import DeferAbove, Manner, Purpose
from demur._retry import Deadline
from demur._service import AsyncService, Service, each, each_read
from demur.v1.lesion_pb2_grpc import LesionServiceStub

SECONDS = 600.0
"""A scan takes seconds to a minute, and others may wait before it."""

OneProgress: TypeAlias = Callable[[float, str], None]


class BrainScans(Service):
    """Asks for lesions in brain scans, blocking; for any number of threads.

    Research software, not a medical device.
    """

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls, LesionServiceStub)

    def predict(
        self,
        flair: Volume,
        *,
        t1: Volume | None = None,
        brain_mask: Volume | None = None,
        maps: Iterable[MapName] | None = None,
        purpose: Purpose = "decide",
        defer_above: DeferAbove = None,
        name: str = "",
        timeout: float | None = SECONDS,
        progress: OneProgress | None = None,
    ) -> LesionAnswer:
        """Find the lesions of one scan.

        Images are NIfTI files, plain or gzipped, each a path, bytes, or an image with ``to_bytes()`` such as nibabel's.
        They must be skull-stripped, and best denoised and bias-corrected: the service does none of that. Any
        orientation and voxel size will do; answers lie on the grid of the FLAIR image. The image is sent in pieces.

        Args:
            flair: the FLAIR image.
            t1: the T1 image on the same grid, where the model wants it (``describe().names``).
            brain_mask: 0 and 1 on the same grid; None: the voxels of the FLAIR image that are not 0.
            maps: volumes to be answered: ``mask``, ``probability``, ``total``, ``data``, ``knowledge``, ``rmi``,
                ``advice``; None for all that the model has.
            purpose: ``decide`` for a real question, ``explore`` for a hypothetical one, ``replay`` for a past one
                again. Only real ones are audited.
            defer_above: defer above this uncertainty even where the policy would answer, in the unit of the measure
                (``describe().heads``).
            name: your own for the scan, which comes back with the answer; the service does not keep it.
            timeout: seconds for everything this call does; None for no limit.
            progress: called now and then with the finished share, 0 to 1, and what is being done.

        Raises:
            InvalidInput: a file cannot be read, or is not what it should be; ``field`` names the image.
            DemurError: any other of the tree in :mod:`demur`. Opening is retried while the service is unavailable;
                once it has taken the scan nothing is.
        """
        told = None if progress is None else lambda _, share, stage: progress(share, stage)
        exchange = ScanExchange(Manner(purpose, defer_above, False), maps, progress=told)
        deadline = Deadline(timeout)
        files = read(Scan(flair, t1, brain_mask, name))
        return _only(list(self._converse(exchange, [files], deadline)))

    def predict_many(
        self,
        scans: Iterable[Scan | Volume],
        *,
        maps: Iterable[MapName] | None = None,
        purpose: Purpose = "decide",
        defer_above: DeferAbove = None,
        timeout: float | None = None,
        progress: Progress | None = None,
        window: int | None = None,
    ) -> Generator[LesionAnswer | ScanError, None, None]:
        """Find the lesions of scan after scan over one stream: one outcome for each, in order, for any number of them.

        Scans are drawn in the caller's thread, ahead of the answers by no more than the window; at most so many are
        held in memory. Closing the generator, or leaving its loop, cancels what is not finished.

        Args:
            scans: :class:`demur.Scan`, or the FLAIR image alone as ``predict`` takes it.
            maps: as for ``predict``.
            purpose: as for ``predict``.
            defer_above: as for ``predict``.
            timeout: seconds for all of them; None for no limit.
            progress: called now and then with a scan's place from 0, the finished share of its work, and what is
                being done.
            window: scans on their way at once; None for as many as the service reads ahead.

        Returns:
            For each scan its answer, or a :class:`demur.ScanError` in its place: a scan that fails does not end the
            stream. A failure of the stream itself is raised.

        Raises:
            DemurError: as ``predict``, while answers are read; wrong options at once.
        """
        exchange = ScanExchange(Manner(purpose, defer_above, False), maps, progress=progress, window=window)
        return self._converse(exchange, map(opened, scans), Deadline(timeout))


class AsyncBrainScans(AsyncService):
    """As :class:`BrainScans`, on the running event loop; for any number of its tasks."""

    def __init__(self, calls: AsyncCalls) -> None:
        super().__init__(calls, LesionServiceStub)

    async def predict(
        self,
        flair: Volume,
        *,
        t1: Volume | None = None,
        brain_mask: Volume | None = None,
        maps: Iterable[MapName] | None = None,
        purpose: Purpose = "decide",
        defer_above: DeferAbove = None,
        name: str = "",
        timeout: float | None = SECONDS,
        progress: OneProgress | None = None,
    ) -> LesionAnswer:
        """As :meth:`BrainScans.predict`; files are read in a thread."""
        told = None if progress is None else lambda _, share, stage: progress(share, stage)
        exchange = ScanExchange(Manner(purpose, defer_above, False), maps, progress=told)
        deadline = Deadline(timeout)
        files = await asyncio.to_thread(read, Scan(flair, t1, brain_mask, name))
        return _only([outcome async for outcome in self._converse(exchange, each([files]), deadline)])

    def predict_many(
        self,
        scans: Iterable[Scan | Volume] | AsyncIterable[Scan | Volume],
        *,
        maps: Iterable[MapName] | None = None,
        purpose: Purpose = "decide",
        defer_above: DeferAbove = None,
        timeout: float | None = None,
        progress: Progress | None = None,
        window: int | None = None,
    ) -> AsyncGenerator[LesionAnswer | ScanError, None]:
        """As :meth:`BrainScans.predict_many`; scans may come from an asynchronous iterable.

        Leaving the loop early cancels when the generator is closed: at once inside ``contextlib.aclosing(...)``, else
        when the event loop collects it.
        """
        exchange = ScanExchange(Manner(purpose, defer_above, False), maps, progress=progress, window=window)
        return self._converse(exchange, each_read(scans, opened), Deadline(timeout))


def _only(outcomes: list[LesionAnswer | ScanError]) -> LesionAnswer:
    """
    Raises:
        DemurError: the scan failed.
    """
    if len(outcomes) != 1:
        raise ServiceFailure(f"{len(outcomes)} answers about one scan", code="malformed")
    outcome = outcomes[0]
    if isinstance(outcome, ScanError):
        raise outcome.error
    return outcome
