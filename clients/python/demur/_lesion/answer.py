"""Answers about brain scans."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from demur._decisions import DecidedUnit, decode_unit
from demur._errors import wrong_argument
from demur._messages import from_message, malformed
from demur.v1 import lesion_pb2 as wire

FILE_KINDS = {
    "mask": "pred_seg",
    "probability": "pred_prob",
    "total": "uncs_entropy",
    "data": "uncs_data_entropy",
    "knowledge": "uncs_mi",
    "rmi": "uncs_rmi",
    "advice": "advice",
}
"""Name of a volume to the part of its file's name that follows the stem."""
TABLE_COLUMNS = ("label", "volume_mm3", "x_mm", "y_mm", "z_mm", "mean_probability", "structural_uncertainty", "look_at")
_STEM = re.compile(r"[^/\\\0]+")
_SUMMARY_LESIONS = 10
"""Lesions in a summary."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Interval that holds the true value with probability ``level``, on scans like those used for calibration."""

    level: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Lesion:
    """One lesion: voxels of the mask that share faces."""

    volume_mm3: float
    centroid_mm: tuple[float, float, float]
    """x, y, z in the space of the image's affine, mm."""
    mean_probability: float
    """Mean probability of lesion over its voxels, 0 to 1."""
    structural_uncertainty: float | None
    """One minus the members' mean overlap (IoU) with it, 0 to 1; None for single models."""
    look_at: bool | None
    """True: look at it. False: trust it. None: the model gives no advice."""
    label: int
    """From 1, in the order of the table."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LesionAnswer(DecidedUnit):
    """Lesions of one scan with their uncertainty, and the decision.

    A scan that was deferred still carries its prediction, unless the service's policy withholds it: then numbers are
    None, and there are no lesions and no files. Means are over the brain, nats.
    """

    name: str
    """Name that the caller gave the scan."""
    count: int | None
    """Number of lesions."""
    count_interval: Interval | None
    volume_mm3: float | None
    """Volume of all lesions, mm³."""
    volume_interval: Interval | None
    """mm³."""
    total: float | None
    """Mean entropy of the probability of lesion."""
    data: float | None
    """Mean uncertainty that more knowledge would not remove; None for single models."""
    knowledge: float | None
    """Mean disagreement of the members, mutual information; None for single models."""
    rmi: float | None
    """Mean reverse mutual information; None for single models."""
    structural: float | None
    """One minus the members' mean Dice with the mask, 0 to 1; None for single models."""
    lesions: tuple[Lesion, ...]
    """Largest first."""
    brain_ml: float
    """Volume of the brain as it was used, ml; 0 where predictions are withheld."""
    resampled: bool
    """True if the image was interpolated to voxels of 1 mm."""
    look_at_voxels: float | None
    """Share of the brain's voxels that are worth looking at, 0 to 1."""
    files: Mapping[str, bytes]
    """Gzipped NIfTI files on the grid of the FLAIR image, by name of the volume: ``mask``, ``probability``, ``total``,
    ``data``, ``knowledge``, ``rmi``, ``advice``. Uncertainties are in nats, and 0 outside the brain."""

    @property
    def outcome(self) -> str:
        """Prediction and decision as text, such as ``7 lesions, 3.41 ml, answered``."""
        if self.count is None or self.volume_mm3 is None:
            return f"{self.verdict}, prediction withheld"
        lesions = f"{self.count} lesion{'' if self.count == 1 else 's'}"
        return f"{lesions}, {self.volume_mm3 / 1000:.2f} ml, {self.verdict}"

    def save(self, folder: str | Path, stem: str = "") -> list[Path]:
        """Write the volumes and the table of lesions, each file whole or not at all.

        Names are those of the Shifts data: ``{stem}_pred_seg.nii.gz``, ``{stem}_pred_prob.nii.gz``,
        ``{stem}_uncs_rmi.nii.gz`` …, so that ``demur evaluate`` reads the folder; beside them ``{stem}_lesions.csv``.
        Paths are returned in the order of ``files``; that of the table comes last.

        Args:
            folder: created if it is missing; files with these names are replaced.
            stem: beginning of the names; empty: the scan's ``name``, or ``scan``.

        Raises:
            InvalidInput: the stem cannot be part of a file name.
            OSError: a file cannot be written.
        """
        folder, stem = Path(folder), stem or self.name or "scan"
        if not _STEM.fullmatch(stem) or stem in (".", ".."):
            raise wrong_argument("stem", stem, "the beginning of a file name, without folders")
        folder.mkdir(parents=True, exist_ok=True)
        contents = {f"{stem}_{FILE_KINDS.get(name, name)}.nii.gz": content for name, content in self.files.items()}
        contents[f"{stem}_lesions.csv"] = _table(self.lesions)
        return [_write(folder / name, content) for name, content in contents.items()]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON takes; of the files only the names."""
        return super().to_dict() | {"files": sorted(self.files)}

    def summary(self) -> str:
        """Return a summary of some lines: decision, burden, uncertainties, the largest lesions, remarks."""
        return self._summary(self.name or "scan", "scans", self._prediction_lines())

    def _prediction_lines(self) -> Iterator[str]:
        if self.count is not None and self.volume_mm3 is not None:
            yield f"  lesions: {self.count}{_interval_text(self.count_interval, 1, '.0f')}"
            yield f"  volume: {self.volume_mm3 / 1000:.2f} ml{_interval_text(self.volume_interval, 1000, '.2f')}"
        if self.brain_ml > 0:
            yield f"  brain: {self.brain_ml:.0f} ml{', interpolated to 1 mm' if self.resampled else ''}"
        means = {"total": self.total, "data": self.data, "knowledge": self.knowledge, "rmi": self.rmi}
        if texts := [f"{name} {value:.4g}" for name, value in means.items() if value is not None]:
            yield f"  mean uncertainty of the brain, nats: {', '.join(texts)}"
        if self.look_at_voxels is not None:
            yield f"  voxels to look at: {self.look_at_voxels:.2%} of the brain"
        if self.lesions:
            yield "   #    volume mm³   x, y, z mm                probability  structural"
        for lesion in self.lesions[:_SUMMARY_LESIONS]:
            centroid = ", ".join(f"{coordinate:.1f}" for coordinate in lesion.centroid_mm)
            structural = "" if lesion.structural_uncertainty is None else f"{lesion.structural_uncertainty:.2f}"
            advice = {True: "look at it", False: "trust it", None: "no advice"}[lesion.look_at]
            yield (
                f"  {lesion.label:>2}  {lesion.volume_mm3:>12,.0f}   {centroid:<24}  {lesion.mean_probability:>11.2f}"
                f"  {structural:>10}   {advice}"
            )
        if rest := self.lesions[_SUMMARY_LESIONS:]:
            count = sum(lesion.look_at is True for lesion in rest)
            yield f"  and {len(rest)} smaller ones, {count} of them to be looked at"

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return f"<LesionAnswer: {name}{self.outcome}, model {self.model!r}, policy {self.policy!r}>"


def decode(response: wire.LesionPredictResponse, files: Mapping[str, bytes]) -> LesionAnswer:
    """Return the answer of a response, with the files that came before it.

    Raises:
        ServiceFailure: it does not hold one decision about one scan, or a centroid has other than three coordinates.
    """
    answer = response.answer
    intervals = {
        name: from_message(Interval, getattr(answer, name)) if answer.HasField(name) else None
        for name in ("count_interval", "volume_interval")
    }
    return from_message(
        LesionAnswer,
        answer,
        **decode_unit(answer, "scan"),
        **intervals,
        model=response.model,
        profile=response.profile,
        recorded=response.recorded,
        name=response.name,
        lesions=tuple(map(_lesion, answer.lesions)),
        files=MappingProxyType(dict(files)),
    )


def _lesion(message: wire.Lesion) -> Lesion:
    lesion = from_message(Lesion, message)
    if len(lesion.centroid_mm) != 3:
        raise malformed(f"a centroid of {len(lesion.centroid_mm)} coordinates")
    return lesion


def _table(lesions: Iterable[Lesion]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(TABLE_COLUMNS)
    for lesion in lesions:
        advice = "" if lesion.look_at is None else int(lesion.look_at)
        structural = "" if lesion.structural_uncertainty is None else lesion.structural_uncertainty
        row = (lesion.label, lesion.volume_mm3, *lesion.centroid_mm, lesion.mean_probability, structural, advice)
        writer.writerow(row)
    return text.getvalue().encode()


def _write(path: Path, content: bytes) -> Path:
    """Write a file at once: concurrent readers see the old one or the new one."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return path


def _interval_text(interval: Interval | None, divisor: float, form: str) -> str:
    if interval is None:
        return ""
    lower, upper = interval.lower / divisor, interval.upper / divisor
    return f" ({lower:{form}} to {upper:{form}} with {interval.level:.0%})"
