"""The figure of an answered scan, from the files that the service gave and the images that were asked about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import demur
from models.assessment.segmentation import ndsc
from models.evaluation.judged import BadFile
from models.imaging.orientation import reoriented
from models.tasks.lesion.data import volumes
from models.tasks.lesion.data.inputs import Input
from models.tasks.lesion.pictures.picture import draw
from models.tasks.lesion.pictures.scene import Mark, Picture

_MEASURES = {"rmi": "reverse mutual information", "total": "entropy"}
"""Maps that are drawn, the first that is there, and what they are in presentation."""


def figure(answer: demur.LesionAnswer, files: Input, maps: Mapping[str, Path], path: Path) -> Path:
    """Draws a scan as PNG.

    Args:
        maps: where the volumes of the answer were written, by name.
        path: of the figure.

    Raises:
        BadFile: a file cannot be read, is of other voxels than the image, or no uncertainty was answered.
        ValueError: the image says no directions.
    """
    name = next((one for one in _MEASURES if one in maps), None)
    if name is None or "mask" not in maps:
        raise BadFile(
            f"a figure needs the mask and {' or '.join(_MEASURES)}; the service gave {', '.join(maps) or 'none'}"
        )
    flair = volumes.read(files.flair)
    _, mask = volumes.mask(maps["mask"])
    truth = None
    if files.truth is not None:
        given, marked = volumes.mask(files.truth)
        truth = reoriented(marked, given.affine, flair.values.shape, flair.affine)
        if truth is None:
            shapes = f"{list(marked.shape)}, and the image {list(flair.values.shape)}"
            raise BadFile(f"{files.truth} has the shape {shapes}, or lies elsewhere; the image's own voxels are needed")
    picture = Picture(
        flair=flair.values,
        affine=flair.affine,
        prediction=mask,
        uncertainty=volumes.read(maps[name]).values,
        measure=_MEASURES[name],
        title=f"{files.id}: {answer.verdict}",
        details="  ·  ".join(_details(answer, mask, truth)),
        truth=truth,
        marks=tuple(Mark(one.label, one.centroid_mm, one.look_at is True) for one in answer.lesions),
    )
    path.write_bytes(draw(picture))
    return path


def _details(answer: demur.LesionAnswer, mask: NDArray[np.bool_], truth: NDArray[np.bool_] | None) -> list[str]:
    sign = ">" if answer.uncertainty > answer.threshold else "≤" if answer.uncertainty <= answer.threshold else "?"
    found = [f"{answer.measure.replace('_', ' ')} {answer.uncertainty:.3g} {sign} {answer.threshold:.3g}"]
    if answer.count is not None and answer.volume_mm3 is not None:
        number, volume = answer.count_interval, answer.volume_interval
        lesions = f"{answer.count} lesion{'' if answer.count == 1 else 's'}"
        lesions += "" if number is None else f" ({number.lower:.0f} to {number.upper:.0f})"
        size = f"{answer.volume_mm3 / 1000:.1f} ml"
        size += "" if volume is None else f" ({volume.lower / 1000:.1f} to {volume.upper / 1000:.1f})"
        found += [lesions, size]
    if truth is not None:
        found.append(f"nDSC {ndsc(truth, mask):.2f}")
    return found
