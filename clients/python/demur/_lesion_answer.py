"""What the service says of a brain scan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from demur import _lesion_files, _lesion_text
from demur._decided import DecidedUnit, decided_unit, plain
from demur._errors import ServiceFailure
from demur._lesion_findings import Interval, Lesion
from demur.v1 import lesion_pb2 as wire


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LesionAnswer(DecidedUnit):
    """Lesions of one scan, how uncertain they are, and whether the service answers for them.

    A scan that was deferred still carries its prediction, unless the service's policy withholds it: then numbers are
    None, and there are no lesions and no files. Means are over the brain, nats.
    """

    name: str
    """As the caller gave it."""
    count: int | None
    """Number of lesions."""
    count_interval: Interval | None
    volume_mm3: float | None
    """Of all lesions, mm³."""
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
    """Whether the image was interpolated to voxels of 1 mm."""
    look_at_voxels: float | None
    """Share of the brain's voxels that are worth looking at, 0 to 1."""
    files: Mapping[str, bytes]
    """Gzipped NIfTI files on the grid of the FLAIR image, by name of the volume: ``mask``, ``probability``, ``total``,
    ``data``, ``knowledge``, ``rmi``, ``advice``. Uncertainties are in nats, and 0 outside the brain."""

    @property
    def outcome(self) -> str:
        """What was found and decided, in words."""
        return _lesion_text.outcome(self)

    def save(self, folder: str | Path, stem: str = "") -> list[Path]:
        """Write the volumes and the table of lesions, each file whole or not at all.

        Names are those of the Shifts data: ``{stem}_pred_seg.nii.gz``, ``{stem}_pred_prob.nii.gz``,
        ``{stem}_uncs_rmi.nii.gz`` …, so that ``demur evaluate`` reads the folder; beside them ``{stem}_lesions.csv``.
        Paths are returned in the order of ``files``; that of the table comes last.

        Args:
            folder: made where it is missing; files of these names are replaced.
            stem: how the names begin; empty: the scan's ``name``, or ``scan``.

        Raises:
            InvalidInput: the stem is no part of a file's name.
            OSError: a file cannot be written.
        """
        return _lesion_files.save(self.files, self.lesions, Path(folder), stem or self.name or "scan")

    def to_dict(self) -> dict[str, Any]:
        """Everything but the files, of which only the names, as plain values that JSON takes."""
        found = {field.name: plain(getattr(self, field.name)) for field in fields(self) if field.name != "files"}
        return found | {
            "deferred": self.deferred,
            "reason": self.reason,
            "shifted": self.shifted,
            "files": sorted(self.files),
        }

    def summary(self) -> str:
        """All that matters, in some lines of text."""
        return _lesion_text.text(self)

    def __repr__(self) -> str:
        named = f"{self.name!r}, " if self.name else ""
        return f"<LesionAnswer: {named}{self.outcome}, model {self.model!r}, policy {self.policy!r}>"


def decode(response: wire.LesionPredictResponse, files: Mapping[str, bytes]) -> LesionAnswer:
    """The answer in a response, with the files that came before it.

    Raises:
        ServiceFailure: it does not hold one decision about one scan, or a point has other than three coordinates.
    """
    answer = response.answer

    def given(name: str) -> Any:
        return getattr(answer, name) if answer.HasField(name) else None

    def interval(name: str) -> Interval | None:
        found = given(name)
        return None if found is None else Interval(found.level, found.lower, found.upper)

    return LesionAnswer(
        **decided_unit(answer.deferral, answer.remarks, "scan"),
        model=response.model,
        profile=response.profile,
        recorded=response.recorded,
        name=response.name,
        count=given("count"),
        count_interval=interval("count_interval"),
        volume_mm3=given("volume_mm3"),
        volume_interval=interval("volume_interval"),
        total=given("total"),
        data=given("data"),
        knowledge=given("knowledge"),
        rmi=given("rmi"),
        structural=given("structural"),
        lesions=tuple(map(_lesion, answer.lesions)),
        brain_ml=answer.brain_ml,
        resampled=answer.resampled,
        look_at_voxels=given("look_at_voxels"),
        files=MappingProxyType(dict(files)),
    )


def _lesion(message: wire.Lesion) -> Lesion:
    centroid = tuple(message.centroid_mm)
    if len(centroid) != 3:
        raise ServiceFailure(f"a centroid of {len(centroid)} coordinates", code="malformed")
    structural = message.structural_uncertainty if message.HasField("structural_uncertainty") else None
    advice = message.look_at if message.HasField("look_at") else None
    return Lesion(message.volume_mm3, centroid, message.mean_probability, structural, advice, message.label)
