"""An answer about a brain scan as files, under the names of the Shifts data."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from demur._errors import wrong_argument
from demur._lesion_findings import Lesion

KINDS = {
    "mask": "pred_seg",
    "probability": "pred_prob",
    "total": "uncs_entropy",
    "data": "uncs_data_entropy",
    "knowledge": "uncs_mi",
    "rmi": "uncs_rmi",
    "advice": "advice",
}
"""Name of a volume to what follows the scan's in its file's name."""
COLUMNS = ("label", "volume_mm3", "x_mm", "y_mm", "z_mm", "mean_probability", "structural_uncertainty", "look_at")
"""Of the table of lesions."""
_STEM = re.compile(r"[^/\\\0]+")


def save(files: Mapping[str, bytes], lesions: Iterable[Lesion], folder: Path, stem: str) -> list[Path]:
    """
    Raises:
        InvalidInput: the stem is no part of a file's name.
        OSError: a file cannot be written.
    """
    if not _STEM.fullmatch(stem) or stem in (".", ".."):
        raise wrong_argument("stem", stem, "the beginning of a file's name, without folders")
    folder.mkdir(parents=True, exist_ok=True)
    contents = {f"{stem}_{KINDS.get(name, name)}.nii.gz": content for name, content in files.items()}
    contents[f"{stem}_lesions.csv"] = _table(lesions)
    return [_written(folder / name, content) for name, content in contents.items()]


def _table(lesions: Iterable[Lesion]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for one in lesions:
        advice = "" if one.look_at is None else int(one.look_at)
        structural = "" if one.structural_uncertainty is None else one.structural_uncertainty
        row = (one.label, one.volume_mm3, *one.centroid_mm, one.mean_probability, structural, advice)
        writer.writerow(row)
    return text.getvalue().encode()


def _written(path: Path, content: bytes) -> Path:
    """The file, whole: whoever reads the folder meanwhile sees the old one or the new one."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return path
