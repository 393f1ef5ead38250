"""Scans in Label Studio: axial slices side by side in one image, and a brush whose strokes become a mask of voxels.

Label Studio has pages of images, too, but cannot show them any more once they hold regions of a brush (version 1.23).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from xml.etree.ElementTree import SubElement

import numpy as np
from numpy.typing import NDArray

from models.imaging import brush_rle, nifti, slices
from models.imaging.brush_rle import BadCode
from models.imaging.nifti import Affine, BadImage
from models.imaging.orientation import reoriented
from models.label_errors.volumes import read_mask
from services.runtime.errors import refused
from services.transport.label_studio import results
from services.transport.label_studio.converter import ClaimedInput, Data, Result, StudioHead

PLANE = "axial"
REGION, NOTHING = "lesion", "none"
"""Names of the brush, and of the choice that says that there is nothing to paint."""
_SHOWN, _GRID, _EMPTY = "scan", "grid", "empty"


@dataclass(frozen=True, slots=True)
class Sheet:
    """Slices of a scan side by side: the lowest at the top left, then row by row; a pixel is a voxel."""

    shape: tuple[int, ...]
    """Number of voxels along the axes of the file."""
    affine: Affine
    across: int
    """Number of slices in a row."""

    @classmethod
    def of(cls, scan: slices.Scan) -> Self:
        """Return a sheet that is about as wide as it is high."""
        columns, rows, pages = (scan.values.shape[axis] for axis, _ in scan.plane(PLANE))
        return cls(scan.values.shape, scan.affine, max(1, round(math.sqrt(pages * rows / columns))))

    @classmethod
    def read(cls, data: Data) -> Self:
        """Return the sheet that the data of a task describe.

        Raises:
            InvalidInput: they were changed.
        """
        grid: Any = data.get(_GRID)
        try:
            shape, across = tuple(int(edge) for edge in grid["shape"]), int(grid["across"])
            affine = np.array(grid["affine"], np.float64)
            good = affine.shape == (4, 4) and bool(np.isfinite(affine).all())
            good = good and abs(np.linalg.det(affine[:3, :3])) > 0
            good = good and len(shape) == 3 and min(shape) > 0 and math.prod(shape) <= slices.MOST_VOXELS
            good = good and 0 < across <= max(shape)
        except (TypeError, KeyError, ValueError, OverflowError):
            good = False
        if not good:
            raise results.bad_label(grid, "must be shape, affine and layout of the scan, as they were exported", _GRID)
        return cls(shape, affine, across)

    @property
    def described(self) -> Mapping[str, Any]:
        """Fields of a task's data from which the sheet is read."""
        return {"shape": list(self.shape), "affine": self.affine.tolist(), "across": self.across}

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the whole image, pixels."""
        columns, rows, pages = self._edges
        return rows * -(-pages // self.across), columns * self.across

    def image(self, volume: NDArray[Any]) -> NDArray[Any]:
        """Return the image [rows, columns] of a volume in the order of the file."""
        image = np.zeros(self.size, volume.dtype)
        for page in range(self._edges[2]):
            self._part(image, page)[...] = self._slice(volume, page)
        return image

    def volume(self, image: NDArray[Any]) -> NDArray[Any]:
        """Return the volume of an image; the inverse of ``image``."""
        volume = np.zeros(self.shape, image.dtype)
        for page in range(self._edges[2]):
            self._slice(volume, page)[...] = self._part(image, page)
        return volume

    @property
    def _axes(self) -> tuple[slices.Axis, ...]:
        return slices.world_axes(self.affine)

    @property
    def _edges(self) -> tuple[int, int, int]:
        """Columns and rows of a slice, and the number of slices."""
        columns, rows, pages = (self.shape[axis] for axis, _ in slices.plane_axes(self._axes, PLANE))
        return columns, rows, pages

    def _slice(self, volume: NDArray[Any], page: int) -> NDArray[Any]:
        return slices.slice_view(volume, self._axes, PLANE, page)

    def _part(self, image: NDArray[Any], page: int) -> NDArray[Any]:
        columns, rows, _ = self._edges
        down, across = divmod(page, self.across)
        return image[down * rows : (down + 1) * rows, across * columns : (across + 1) * columns]


class ScanConverter:
    """Converter of scans; see ``services.transport.label_studio.converter``."""

    def config(self, head: StudioHead) -> str:
        root = results.view(head.label)
        SubElement(root, "Image", name=_SHOWN, value=f"${_SHOWN}", zoom="true", zoomControl="true", smoothing="false")
        brush = results.control(root, "BrushLabels", _SHOWN)
        SubElement(brush, "Label", value=REGION)
        choices = SubElement(root, "Choices", name=_EMPTY, toName=_SHOWN, choice="multiple")
        SubElement(choices, "Choice", value=NOTHING)
        return results.xml(root)

    def data(self, head: StudioHead, source: ClaimedInput) -> dict[str, Any]:
        try:
            scan = slices.read(source.content)
        except BadImage as error:
            raise refused(error) from error
        sheet = Sheet.of(scan)
        picture = slices.png(slices.shaded(sheet.image(scan.values), *scan.window))
        return {_SHOWN: results.data_uri("image/png", picture), _GRID: sheet.described}

    def value(self, head: StudioHead, data: Data, annotated: Sequence[Result]) -> object:
        sheet = Sheet.read(data)
        regions = results.of_control(annotated, "brushlabels")
        empty = any(one.get("from_name") == _EMPTY for one in annotated if isinstance(one, dict))
        if bool(regions) == empty:
            raise results.bad_label(
                len(regions),
                f"must be at least one region of the brush, or the choice {NOTHING!r}, not both",
                "regions",
            )
        image = np.zeros(sheet.size, bool)
        for number, region in enumerate(regions):
            try:
                image |= brush_rle.decode(region["value"].get("rle"), *sheet.size)
            except BadCode as error:
                raise results.bad_label(number, f"the region cannot be read: {error}", "region") from error
        return nifti.write(sheet.volume(image), sheet.affine)

    def predictions(self, head: StudioHead, data: Data, draft: object) -> list[list[dict[str, Any]]]:
        sheet = Sheet.read(data)
        assert isinstance(draft, bytes)
        mask, affine = read_mask(draft)
        drawn = mask if affine is None else reoriented(mask, affine, sheet.shape, sheet.affine)
        if drawn is None or drawn.shape != sheet.shape:
            return []
        if not drawn.any():
            return [[results.result("choices", _SHOWN, {"choices": [NOTHING]}) | {"from_name": _EMPTY}]]
        rows, columns = sheet.size
        value = {"format": "rle", "rle": brush_rle.encode(sheet.image(drawn)), "brushlabels": [REGION]}
        size = {"original_width": columns, "original_height": rows, "image_rotation": 0}
        return [[results.result("brushlabels", _SHOWN, value, **size)]]


SCANS = ScanConverter()
