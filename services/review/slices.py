"""Slices of a claimed scan as PNG pictures (``models.imaging.slices``), for browsers that draw no volumes."""

import asyncio
import base64
import time
from collections import OrderedDict
from collections.abc import Callable

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from models.imaging import slices
from models.imaging.nifti import BadImage
from models.imaging.slices import PLANES, Scan, png
from services.review import identity
from services.review.scenes import Inputs
from services.runtime.errors import InvalidInput, NotFound, UnsupportedMediaType, refused
from services.transport.http.body import json_response
from services.transport.http.review import LEASE_KEY

MEDIA_TYPES = ("application/x-nifti", "application/gzip", "application/octet-stream")
"""Media types of inputs that are tried as NIfTI images."""
KEPT_SECONDS = 120.0
"""Time for which an unpacked scan is kept; then its lease is checked again by fetching it."""
KEPT_BYTES = 256 << 20
"""Size of all unpacked scans that are kept."""


def read(content: bytes) -> Scan:
    """Return a scan from the bytes of a NIfTI file.

    Raises:
        InvalidInput, TooLarge: they are not one volume of numbers with a position.
    """
    try:
        return slices.read(content)
    except BadImage as error:
        raise refused(error) from error


class ScanCache:
    """Unpacked scans by reviewer, request and lease: the last used ones, as far as they fit; for one thread."""

    def __init__(self, most_bytes: int = KEPT_BYTES, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Initialise; ``monotonic`` returns seconds."""
        self._most_bytes, self._monotonic = most_bytes, monotonic
        self._kept: OrderedDict[object, tuple[float, Scan]] = OrderedDict()

    def get(self, key: object) -> Scan | None:
        """Return a scan; None if it is not kept, or has been for too long."""
        self._forget_old()
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key][1]

    def put(self, key: object, scan: Scan) -> None:
        """Keep a scan; one that is larger than all that fits is not kept."""
        self._kept.pop(key, None)
        self._kept[key] = self._monotonic(), scan
        while sum(kept.values.nbytes for _, kept in self._kept.values()) > self._most_bytes:
            self._kept.popitem(last=False)

    def _forget_old(self) -> None:
        oldest = self._monotonic() - KEPT_SECONDS
        for key in [key for key, (since, _) in self._kept.items() if since < oldest]:
            del self._kept[key]


class SliceRoutes:
    """Endpoints of pictures of scans."""

    def __init__(self, inputs: Inputs, cache: ScanCache) -> None:
        self._inputs, self._cache = inputs, cache
        self._opening: dict[object, asyncio.Task[Scan]] = {}

    def routes(self) -> list[Route]:
        base = "/api/tasks/{task}/requests/{request}/slices"
        return [Route(base, self.geometry), Route(f"{base}/{{plane}}/{{number:int}}.png", self.picture)]

    async def geometry(self, request: Request) -> Response:
        """Return ``shape``, ``spacing_mm``, ``window``, ``header`` in base64, and the ``planes`` by name.

        A plane has the numbers of ``columns``, ``rows`` and ``slices``, and ``axes``: for each of them the axis of the
        file, and 1 if its index grows in the same direction, else -1.
        """
        scan = await self._scan(request)
        shape = scan.values.shape
        planes = {}
        for name in PLANES:
            axes = scan.plane(name)
            counts = dict(zip(("columns", "rows", "slices"), (shape[axis] for axis, _ in axes), strict=True))
            planes[name] = counts | {"axes": axes}
        document = {
            "shape": shape,
            "spacing_mm": scan.spacing_mm,
            "window": scan.window,
            "affine": scan.affine.tolist(),
            "header": base64.b64encode(scan.header).decode(),
            "planes": planes,
        }
        return _private(json_response(document))

    async def picture(self, request: Request) -> Response:
        """Return a slice as PNG.

        Raises:
            NotFound: there is no such plane or slice.
            InvalidInput: the window is not two numbers, the lower one first.
        """
        scan = await self._scan(request)
        plane, number = request.path_params["plane"], request.path_params["number"]
        if plane not in PLANES:
            raise NotFound.about("plane", plane, code="no_plane", allowed=", ".join(PLANES))
        most = scan.values.shape[scan.plane(plane)[2][0]] - 1
        if number > most:
            raise NotFound.about("slice", number, code="no_slice", allowed=f"[0, {most}]")
        low, high = (_shade(request, name, value) for name, value in zip(("low", "high"), scan.window, strict=True))
        if not low < high:
            raise InvalidInput.about("high", f"{high:g}", f"must be more than low = {low:g}", code="out_of_range")
        picture = await asyncio.to_thread(lambda: png(scan.picture(plane, number, low, high)))
        return _private(Response(picture, media_type="image/png"))

    async def _scan(self, request: Request) -> Scan:
        names = ("task", "request")
        key = (
            identity.reviewer(request.headers),
            request.headers.get(LEASE_KEY),
            *(request.path_params[name] for name in names),
        )
        kept = self._cache.get(key)
        if kept is not None:
            return kept
        # several slices are asked for at once: one of them opens the scan
        if key not in self._opening:
            self._opening[key] = asyncio.ensure_future(self._opened(request, key))
        return await asyncio.shield(self._opening[key])

    async def _opened(self, request: Request, key: object) -> Scan:
        try:
            media_type, content = await self._inputs.input(request)
            if media_type.partition(";")[0] not in MEDIA_TYPES:
                raise UnsupportedMediaType(
                    f"inputs of this task are {media_type or 'of no known type'}, and have no slices",
                    code="no_slices",
                    allowed=", ".join(MEDIA_TYPES),
                )
            scan = await asyncio.to_thread(read, content)
            self._cache.put(key, scan)
            return scan
        finally:
            del self._opening[key]


def routes(inputs: Inputs) -> list[Route]:
    """Return the routes of geometry and slices of scans; the header ``demur-lease`` has the lease."""
    import nibabel  # noqa: F401 loaded at start, so that the first slice does not wait for it

    return SliceRoutes(inputs, ScanCache()).routes()


def _shade(request: Request, name: str, otherwise: float) -> float:
    text = request.query_params.get(name)
    if text is None:
        return otherwise
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not abs(value) < 1e30:
        raise InvalidInput.about(name, text, "must be a number", code="not_a_number")
    return value


def _private(response: Response) -> Response:
    response.headers["cache-control"] = "no-store"
    return response
