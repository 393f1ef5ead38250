"""Calibrations in force under a numeric profile, and their origin."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from models.artefact import Artefact
from models.calibration import Calibration, IntervalTable
from models.profile import Profile
from models.qualification.record import Record

Origin = Literal["artefact", "carried", "mapped", "refused", "qualifying", "unqualified"]
ANSWERING: tuple[Origin, ...] = ("artefact", "carried", "mapped")
"""Origins under which units can be answered by a calibrated threshold."""


@dataclass(frozen=True)
class Tables:
    """Calibrations of all heads of an artefact under one numeric profile."""

    profile: Profile
    origin: Origin
    by_head: Mapping[str, Calibration | None]
    """Calibration by head; None if there is none, so that everything is deferred."""
    reason: str = ""
    """Reason for missing calibrations, or how they were carried over, as a sentence; empty for the artefact's own."""
    record: Record | None = None
    """Record of the measurement; None for the artefact's own calibrations, and before a measurement."""


def own(artefact: Artefact, profile: Profile) -> Tables | None:
    """Return the artefact's own calibrations under a profile.

    Returns:
        None if a head has none, although the artefact is calibrated under another profile.
    """
    calibrations = {head: by_profile.get(profile.name) for head, by_profile in artefact.manifest.heads.items()}
    if None in calibrations.values() and reference_profile(artefact):
        return None
    reason = "" if reference_profile(artefact) else "the artefact was never calibrated"
    return Tables(profile, "artefact", calibrations, reason)


def uncarried(artefact: Artefact, profile: Profile) -> Tables:
    """Return the artefact's own calibrations under a profile, None for each head without one."""
    calibrations = {head: by_profile.get(profile.name) for head, by_profile in artefact.manifest.heads.items()}
    return Tables(profile, "artefact", calibrations)


def reference_profile(artefact: Artefact) -> str:
    """Return the name of the profile that the artefact was calibrated under; empty if it is not calibrated."""
    manifest = artefact.manifest
    if manifest.replay is not None:
        return manifest.replay.profile
    return next((name for by_profile in manifest.heads.values() for name in by_profile), "")


def reference(artefact: Artefact) -> Mapping[str, Calibration | None]:
    """Return the calibrations by head under the profile that the artefact was calibrated under."""
    name = reference_profile(artefact)
    return {head: by_profile.get(name) for head, by_profile in artefact.manifest.heads.items()}


class LiveCalibrations(Mapping[str, Calibration | None]):
    """Calibrations by head that a verdict may replace while the process serves."""

    def __init__(self, by_head: Mapping[str, Calibration | None]) -> None:
        self._by_head = dict(by_head)

    def put(self, by_head: Mapping[str, Calibration | None]) -> None:
        """Replace all calibrations."""
        self._by_head = dict(by_head)

    def __getitem__(self, head: str) -> Calibration | None:
        return self._by_head[head]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_head)

    def __len__(self) -> int:
        return len(self._by_head)


class LiveIntervals(Mapping[str, IntervalTable | None]):
    """View of the interval tables of the calibrations in force."""

    def __init__(self, calibrations: Mapping[str, Calibration | None]) -> None:
        self._calibrations = calibrations

    def __getitem__(self, head: str) -> IntervalTable | None:
        calibration = self._calibrations[head]
        return None if calibration is None else calibration.intervals

    def __iter__(self) -> Iterator[str]:
        return iter(self._calibrations)

    def __len__(self) -> int:
        return len(self._calibrations)
