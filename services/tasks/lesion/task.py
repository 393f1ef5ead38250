"""Lesion task for the pipeline: scans are read and checked, segmented in windows, and their maps written as files."""

import math
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.head import Head
from models.imaging import nifti
from models.imaging.nifti import BadImage
from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.data import files
from models.tasks.lesion.data.image import Scan, read_scan
from models.tasks.lesion.inference import segment
from models.tasks.lesion.inference.grid import Grid, model_grid
from models.tasks.lesion.inference.preparation import Prepared, prepare
from models.tasks.lesion.inference.segmentation import Segmentation
from models.tasks.lesion.inference.windows import Windows
from models.tasks.lesion.spec import HEADS, LESIONS
from services.ledger.contract import Portion
from services.policy.decision import Shift
from services.request.contract import Done, Progress, Step, Steps, Units, Work
from services.runtime.errors import InvalidInput, refused
from services.tasks.lesion.request import ScanRequest

FILE_SECONDS = 0.3
"""Declared device time of writing a map, in seconds."""
WAITING_BYTES = 128 << 20
"""Maximum size of a waiting scan's unpacked images in memory, in bytes; larger ones are read again."""
PREPARE_SECONDS = 0.5
"""Declared device time of reorienting, resampling and normalising a scan, in seconds."""


@dataclass(frozen=True, slots=True)
class ScanResult:
    """Result of the work on a scan."""

    name: str
    segmentation: Segmentation
    files: Mapping[str, bytes]
    """Map name to gzipped NIfTI file."""
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Map name to volume [x, y, z] on the scan's grid, if arrays were requested."""


@dataclass(slots=True)
class _Payload:
    """Payload that the work empties at its start, since the payload may outlive the answer if it is explored."""

    request: ScanRequest | None
    scan: Scan | None
    """Checked scan; None if too large to wait in memory, so that it is read again."""
    kept: bytes = b""
    """FLAIR image without header texts, if inputs are kept."""


@dataclass
class Pace:
    """Duration of one window of one member, in seconds; a guess until measured."""

    window_seconds: float = 0.1


class LesionTask:
    """Lesion task, with one scan per request and one unit per scan."""

    name = "lesion"
    heads: tuple[Head, ...] = HEADS
    payload_type = "application/x-nifti"
    """Media type of an input: the FLAIR image, gzipped, without texts and extensions of its header."""
    payload_kept = False

    def __init__(self, members: segment.Members, recipe: Recipe, pace: Pace, *, lanes: int, keeps_inputs: bool) -> None:
        self._members = members
        self._recipe = recipe
        self._pace = pace
        self._lanes = lanes
        self._keeps_inputs = keeps_inputs
        self._offered = offered(recipe, ensemble=len(members) > 1)

    def expand(self, request: ScanRequest) -> Units[_Payload]:
        """Read and check a scan; it is the only item.

        Raises:
            InvalidInput, TooLarge: a file is missing, not an image, or does not fit; the error has value and allowed
            values.
        """
        recipe = self._recipe
        try:
            scan = self._read(request)
            grid = model_grid(scan.shape, scan.affine, recipe.orientation, recipe.spacing)
        except BadImage as error:
            raise refused(error) from error
        offered = self._offered
        if absent := [name for name in request.maps if name not in offered]:
            raise InvalidInput.about("maps", absent[0], code="unknown_field", allowed=", ".join(offered))
        unpacked = sum(values.nbytes for values in scan.channels)
        return Units(
            payload=_Payload(request, scan if unpacked <= WAITING_BYTES else None),
            count=1,
            seconds=self._seconds(grid) + FILE_SECONDS * len(request.maps or offered),
            nbytes=self._nbytes(grid, unpacked) + sum(map(len, (request.flair, request.t1, request.brain_mask))),
        )

    def _read(self, request: ScanRequest) -> Scan:
        images = {"flair": request.flair, "t1": request.t1, "brain_mask": request.brain_mask}
        return read_scan(images, self._recipe.channels)

    def run(self, units: Units[_Payload]) -> Work:
        """Yield preparation, windows of all members, maps, lesions and files."""
        payload = units.payload
        request, scan = payload.request, payload.scan
        payload.request = payload.scan = None
        assert request is not None
        name, map_names, plain = request.name, request.maps or self._offered, request.arrays
        write = _array if plain else partial(_writer, encoding=request.encoding)
        if self._keeps_inputs:
            payload.kept = yield Step(partial(nifti.anonymous, request.flair), FILE_SECONDS)
        begin = Step(partial(self._prepared, request, scan), PREPARE_SECONDS)
        del request, scan
        prepared = yield begin
        del begin
        work = segment.work(
            prepared,
            self._members,
            self._recipe,
            lanes=self._lanes,
            window_seconds=self._pace.window_seconds,
            map_names=map_names,
        )
        del prepared
        segmentation = yield from _steps(work)
        yield Progress(0.97, "files")
        contents = yield Steps(tuple(Step(write(segmentation, name), FILE_SECONDS) for name in map_names))
        predictives = {LESIONS.name: segmentation.predictive()}
        volumes = dict(zip(map_names, contents, strict=True))
        files_of, arrays = ({}, volumes) if plain else (volumes, {})
        result = ScanResult(name, replace(segmentation, maps={}), files_of, arrays)
        shifts = Shift.OUTSIDE_TRAINING_RANGE if segmentation.remarks else Shift(0)
        shifts |= Shift.IMPOSSIBLE_PREDICTION if segmentation.impossible else Shift(0)
        yield Done(0, 1, predictives, result, np.array([shifts], np.uint8))

    def _prepared(self, request: ScanRequest, scan: Scan | None) -> Prepared:
        try:
            return prepare(self._read(request) if scan is None else scan, self._recipe)
        except BadImage as error:
            raise refused(error) from error

    def _seconds(self, grid: Grid) -> float:
        windows = Windows(grid.shape, self._recipe.window, self._recipe.overlap)
        return len(windows) * len(self._members) * self._pace.window_seconds

    def _nbytes(self, grid: Grid, unpacked: int) -> int:
        """Return the memory of a scan, in bytes: images as read and on the networks' grid, and segmentation."""
        prepared = 4 * (len(self._recipe.channels) + 1) * math.prod(grid.shape)
        return unpacked + prepared + segment.memory(grid, len(self._members))

    def collapse(self, units: Units[_Payload], portion: Portion) -> Portion:
        """Return the portion, which is the answer to a scan."""
        return portion

    def payload(self, units: Units[_Payload], items: NDArray[np.intp]) -> list[bytes]:
        """Return the FLAIR image, for reviewers."""
        return [units.payload.kept] * len(items)


def offered(recipe: Recipe, *, ensemble: bool) -> tuple[str, ...]:
    """Return the names of the maps that a model has."""
    absent = {
        *(() if ensemble else ("data", "knowledge", "rmi")),
        *(("advice",) if recipe.voxel_trust is None else ()),
    }
    return tuple(name for name in files.OFFICIAL if name not in absent)


def _steps(work: Generator[Any, list[Any], Segmentation]) -> Generator[Any, Any, Segmentation]:
    """Yield the calls of a whole-scan segmentation as quanta that run side by side."""
    results: Any = None
    while True:
        try:
            quanta = work.send(results)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        yield Progress(quanta.done, quanta.stage)
        results = yield Steps(tuple(Step(call.function, call.seconds) for call in quanta.calls))


def _writer(segmentation: Segmentation, name: str, encoding: files.Encoding) -> Callable[[], bytes]:
    return lambda: files.encoded(segmentation, name, encoding)


def _array(segmentation: Segmentation, name: str) -> Callable[[], NDArray[Any]]:
    return lambda: segmentation.mask.astype(np.uint8) if name == "mask" else segmentation.maps[name]
