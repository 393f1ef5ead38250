"""Client of the lesion service: multiple sclerosis lesions in brain scans."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import TypeAlias

from demur._async.calls import AsyncCalls
from demur._async.service import AsyncService
from demur._event_loop import Items, each, each_read
from demur._lesion.answer import LesionAnswer
from demur._lesion.request import MapName, Progress, Scan, ScanError, ScanExchange, Volume, read, read_or_error, sole
from demur._options import DeferAbove, Purpose, RequestOptions
from demur._retry import Deadline
from demur.v1.lesion_pb2_grpc import LesionServiceStub

SECONDS = 600.0
"""Default timeout: a scan takes seconds to a minute, and others may be queued before it."""

ScanProgress: TypeAlias = Callable[[float, str], None]
"""Called with the finished share of a scan's work, 0 to 1, and the name of the current stage."""


class AsyncBrainScans(AsyncService):
    """Asynchronous client of the lesion service, for any number of tasks of its event loop.

    Research software, not a medical device.
    """

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
        progress: ScanProgress | None = None,
    ) -> LesionAnswer:
        """Segment the lesions of one scan.

        Images are NIfTI files, plain or gzipped, each a path, bytes, or an image with ``to_bytes()`` such as nibabel's.
        They must be skull-stripped, and best denoised and bias-corrected: the service does none of that. Any
        orientation and voxel size will do; answers lie on the grid of the FLAIR image. The image is sent in pieces.

        Args:
            flair: the FLAIR image.
            t1: the T1 image on the same grid, where the model needs it (``describe().names``).
            brain_mask: 0 and 1 on the same grid; None: the voxels of the FLAIR image that are not 0.
            maps: volumes to return: ``mask``, ``probability``, ``total``, ``data``, ``knowledge``, ``rmi``,
                ``advice``; None for all that the model has.
            purpose: ``decide`` for a request that is acted on, ``explore`` for a hypothetical one, ``replay`` to repeat
                a past one. Only ``decide`` is audited.
            defer_above: defer above this uncertainty even where the policy would answer, in the unit of the measure
                (``describe().heads``).
            name: your own for the scan, which is returned with the answer; the service does not keep it.
            timeout: seconds for everything this call does; None for no limit.
            progress: called now and then with the finished share, 0 to 1, and the name of the current stage.

        Raises:
            InvalidInput: a file cannot be read, or is not of the right kind; ``field`` names the image.
            DemurError: any other of the tree in :mod:`demur`. Opening is retried while the service is unavailable;
                once it has accepted the scan nothing is.
        """
        report = None if progress is None else lambda _, share, stage: progress(share, stage)
        exchange = ScanExchange(RequestOptions(purpose, defer_above, False), maps, progress=report)
        deadline = Deadline(timeout)
        files = await asyncio.to_thread(read, Scan(flair, t1, brain_mask, name))
        return sole([outcome async for outcome in self._converse(exchange, each([files]), deadline)])

    def predict_many(
        self,
        scans: Items[Scan | Volume],
        *,
        maps: Iterable[MapName] | None = None,
        purpose: Purpose = "decide",
        defer_above: DeferAbove = None,
        timeout: float | None = None,
        progress: Progress | None = None,
        window: int | None = None,
    ) -> AsyncGenerator[LesionAnswer | ScanError, None]:
        """Segment scan after scan over one stream: one outcome for each, in order, for any number of them.

        Scans are drawn ahead of the answers by no more than the window, which bounds memory. Closing the generator
        cancels what is not finished; leaving the loop of an asynchronous one closes it at once only inside
        ``contextlib.aclosing(...)``.

        Args:
            scans: :class:`demur.Scan`, or the FLAIR image alone as ``predict`` takes it.
            maps: as for ``predict``.
            purpose: as for ``predict``.
            defer_above: as for ``predict``.
            timeout: seconds for all of them; None for no limit.
            progress: called now and then with a scan's position from 0, the finished share of its work, and the name
                of the current stage.
            window: scans in flight at once; None for as many as the service reads ahead.

        Returns:
            For each scan its answer, or a :class:`demur.ScanError` in its place: a scan that fails does not end the
            stream. A failure of the stream itself is raised.

        Raises:
            DemurError: as ``predict``, while answers are read; invalid options at once.
        """
        options = RequestOptions(purpose, defer_above, False)
        exchange = ScanExchange(options, maps, progress=progress, window=window)
        return self._converse(exchange, each_read(scans, read_or_error), Deadline(timeout))
