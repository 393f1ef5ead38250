"""Figure of a predicted scan, from the input images and the volumes of the answer."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import demur
from models.assessment.segmentation import ndsc
from models.evaluation.unit_errors import BadFile
from models.imaging.orientation import reoriented
from models.tasks.lesion.data import volumes
from models.tasks.lesion.data.inputs import Input
from models.tasks.lesion.pictures.picture import Mark, Picture, draw

_MEASURES = {"rmi": "reverse mutual information", "total": "entropy"}
"""Uncertainty maps and their names; the first one in the answer is drawn."""


def figure(answer: demur.LesionAnswer, files: Input, maps: Mapping[str, Path], path: Path) -> Path:
    """Draw a scan as PNG and return its path.

    Args:
        maps: files of the answer's volumes, by name.
        path: file of the figure.

    Raises:
        BadFile: a file cannot be read or has other voxels than the image, or the answer has no uncertainty.
        ValueError: the affine of the image gives no directions.
    """
    name = next((measure for measure in _MEASURES if measure in maps), None)
    if name is None or "mask" not in maps:
        raise BadFile(
            f"a figure needs the mask and {' or '.join(_MEASURES)}; the service gave {', '.join(maps) or 'none'}"
        )
    flair = volumes.read(files.flair)
    _, mask = volumes.mask(maps["mask"])
    truth = None
    if files.truth is not None:
        image, marked = volumes.mask(files.truth)
        truth = reoriented(marked, image.affine, flair.values.shape, flair.affine)
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
        marks=tuple(Mark(lesion.label, lesion.centroid_mm, lesion.look_at is True) for lesion in answer.lesions),
    )
    path.write_bytes(draw(picture))
    return path


def _details(answer: demur.LesionAnswer, mask: NDArray[np.bool_], truth: NDArray[np.bool_] | None) -> list[str]:
    sign = ">" if answer.uncertainty > answer.threshold else "≤" if answer.uncertainty <= answer.threshold else "?"
    details = [f"{answer.measure.replace('_', ' ')} {answer.uncertainty:.3g} {sign} {answer.threshold:.3g}"]
    if answer.count is not None and answer.volume_mm3 is not None:
        number, volume = answer.count_interval, answer.volume_interval
        lesions = f"{answer.count} lesion{'' if answer.count == 1 else 's'}"
        lesions += "" if number is None else f" ({number.lower:.0f} to {number.upper:.0f})"
        size = f"{answer.volume_mm3 / 1000:.1f} ml"
        size += "" if volume is None else f" ({volume.lower / 1000:.1f} to {volume.upper / 1000:.1f})"
        details += [lesions, size]
    if truth is not None:
        details.append(f"nDSC {ndsc(truth, mask):.2f}")
    return details
