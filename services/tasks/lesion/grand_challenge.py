"""Files of Grand Challenge, as in the released container: ``images/SLOT/NAME.mha`` in and out, and ``results.json``.

The released container writes its maps without directions and with the axes in reverse order; these have the grid of
the image.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import demur
from models.evaluation.files import need
from models.evaluation.unit_errors import BadFile
from models.tasks.lesion.data import metaimage, volumes
from models.tasks.lesion.data.inputs import Input
from models.tasks.lesion.data.metaimage import MetaImage
from models.tasks.lesion.data.scans import SEGMENTATION_SLOT, UNCERTAINTY_SLOT

RESULTS = "results.json"
_UNCERTAINTIES = ("rmi", "total")
"""Maps that the uncertainty is taken from, the first available: RMI of an ensemble, entropy of a single model."""


@dataclass(frozen=True)
class AsNifti:
    """A MetaImage file that the client sends as NIfTI on the same grid; read when it is sent."""

    path: Path

    def to_bytes(self) -> bytes:
        """Return the content of a NIfTI file.

        Raises:
            demur.InvalidInput: the file cannot be read.
        """
        nibabel = need("nibabel", "writing NIfTI")
        try:
            image = metaimage.read(self.path)
        except BadFile as error:
            raise demur.InvalidInput(str(error), code="not_metaimage", field="flair") from error
        values = image.values
        if values.dtype.itemsize == 8:  # NIfTI allows these, but few readers support them
            values = values.astype(np.float32)
        content: bytes = nibabel.Nifti1Image(values, image.affine).to_bytes()
        return content


def sent(path: Path | None) -> Path | AsNifti | None:
    """Return a file in a form that the client accepts."""
    return AsNifti(path) if path is not None and path.suffix == metaimage.SUFFIX else path


@dataclass
class Submission:
    """Writer of the maps of scans, and of ``results.json`` with their files and errors."""

    root: Path
    cases: list[dict[str, Any]] = field(default_factory=list)

    def add(self, one: Input, maps: dict[str, Path]) -> list[Path]:
        """Write the segmentation (0 and 1) and the uncertainty of a scan, on the grid of its image.

        Args:
            maps: files of the volumes of the answer, by name.

        Returns:
            The two files.

        Raises:
            BadFile: the answer lacks one of them.
            ValueError: MetaImage cannot express the grid of the image.
        """
        name = next((name for name in _UNCERTAINTIES if name in maps), None)
        if name is None or "mask" not in maps:
            raise BadFile(f"a mask and {' or '.join(_UNCERTAINTIES)} are needed; there is {', '.join(maps) or 'none'}")
        affine = volumes.read(one.flair).affine
        _, mask = volumes.mask(maps["mask"])
        uncertainty = volumes.read(maps[name]).values
        written = []
        for slot, values in (
            (SEGMENTATION_SLOT, mask.astype(np.uint8)),
            (UNCERTAINTY_SLOT, uncertainty.astype(np.float32)),
        ):
            path = self.root / one.folder / "images" / slot / f"{one.id}{metaimage.SUFFIX}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(metaimage.encoded(MetaImage(values, affine)))
            written.append(path)
        self._case(one, written, [])
        return written

    def failed(self, one: Input, error: object) -> None:
        """Record a scan that has no maps."""
        self._case(one, [], [str(error)])

    def write(self) -> None:
        """Write ``results.json``."""
        (self.root / RESULTS).write_text(json.dumps(self.cases, indent=2) + "\n", encoding="utf-8")

    def _case(self, one: Input, written: list[Path], errors: list[str]) -> None:
        def images(*paths: Path) -> list[dict[str, str]]:
            return [{"type": "metaio_image", "filename": path.name} for path in paths]

        self.cases.append(
            {
                "segmentation": images(*written[:1]),
                "uncertainty": images(*written[1:]),
                "inputs": images(one.flair),
                "error_messages": errors,
            }
        )
