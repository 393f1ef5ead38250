"""Qualification of a process's numeric profile, as ``/v1/model``, ``demur status`` and the metrics show it."""

from dataclasses import dataclass
from typing import Annotated

import msgspec

from models.artefact import Artefact
from models.profile import Profile
from models.qualification.record import Record
from services.qualification.tables import Origin, Tables, reference_profile

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


@dataclass(frozen=True)
class Standing:
    """Calibrations in force, and the progress of their measurement."""

    tables: Tables
    done: float = 1.0
    """Measured share of the replay set, 0 to 1; 1 if nothing has to be measured, or other inputs were replayed."""


class HeadQualification(msgspec.Struct, frozen=True):
    """Result of qualification for the thresholds of one head under the numeric profile."""

    verdict: str
    measure: str
    flips: Share
    """Largest share of units that flip at a calibrated threshold, counted or predicted, before the guard band."""
    guard: float
    """Widest guard band, in the unit of the measure."""
    sentence: str


class Qualification(msgspec.Struct, frozen=True):
    """Verdict on the numeric profile.

    ``artefact``: the artefact was calibrated under it. ``carried``, ``mapped``: thresholds were carried over from the
    profile that it was calibrated under. ``refused``, ``unqualified``, ``qualifying``: everything is deferred.
    """

    verdict: Origin
    reason: str
    calibrated_under: str
    """Numeric profile of the artefact's own calibration; empty if it has none."""
    done: Share
    """Measured share of the replay set."""
    measured: str
    """Time of the measurement, RFC 3339; empty if nothing was measured."""
    units: int
    libraries: dict[str, str]
    """Versions of driver and libraries that the measurement was made with."""
    heads: dict[str, HeadQualification]


class NamedProfile(msgspec.Struct, frozen=True):
    """Numeric profile: it determines the last digits of scores, and thresholds are bound to it."""

    name: str
    provider: str
    precision: str
    layout: str
    version: str
    """Version of ONNX Runtime; empty on the CPU."""
    architecture: str
    """Architecture of the device; empty on the CPU."""
    tf32: bool
    convolution_search: str


class Model(msgspec.Struct, frozen=True):
    """Served model and its numeric profile."""

    task: str
    model: str
    """Tag of the artefact."""
    family: str
    members: int
    samples: int
    heads: tuple[str, ...]
    replay_units: int
    """Number of stored inputs for measuring other numeric profiles; 0 if the artefact has none."""
    profile: NamedProfile
    qualification: Qualification


def model_document(artefact: Artefact, standing: Standing) -> Model:
    """Return the document for ``/v1/model``."""
    manifest, tables = artefact.manifest, standing.tables
    return Model(
        task=manifest.task,
        model=artefact.tag,
        family=manifest.family,
        members=manifest.members,
        samples=manifest.samples,
        heads=tuple(sorted(manifest.heads)),
        replay_units=0 if manifest.replay is None else manifest.replay.units,
        profile=_named(tables.profile),
        qualification=_qualification(artefact, standing),
    )


class Recorded(msgspec.Struct, frozen=True):
    """Qualification as stored in the model store."""

    profile: NamedProfile
    qualification: Qualification


def recorded(record: Record) -> Recorded:
    """Return the summary of a record, without its scores."""
    return Recorded(_named(record.profile), _of_record(record, record.verdict, "; ".join(record.lines[1:])))


def _named(profile: Profile) -> NamedProfile:
    return NamedProfile(name=profile.name, **msgspec.structs.asdict(profile))


def _qualification(artefact: Artefact, standing: Standing) -> Qualification:
    tables = standing.tables
    if tables.record is not None:
        return _of_record(tables.record, tables.origin, tables.reason, standing.done)
    return Qualification(
        verdict=tables.origin,
        reason=tables.reason,
        calibrated_under=reference_profile(artefact),
        done=round(standing.done, 4),
        measured="",
        units=0,
        libraries={},
        heads={},
    )


def _of_record(record: Record, verdict: Origin, reason: str, done: float = 1.0) -> Qualification:
    return Qualification(
        verdict=verdict,
        reason=reason,
        calibrated_under=record.reference_profile,
        done=round(done, 4),
        measured=record.time,
        units=record.units,
        libraries=record.libraries,
        heads={
            name: HeadQualification(
                head.verdict,
                head.measure,
                head.measures[head.measure].flips,
                head.measures[head.measure].guard,
                head.sentence,
            )
            for name, head in record.heads.items()
        },
    )
