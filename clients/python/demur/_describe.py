"""What a service expects and promises, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass

from demur._units import is_difference
from demur.v1.common_pb2 import DescribeResponse, PolicySpec


@dataclass(frozen=True, slots=True)
class Feature:
    """One input column. Values outside the physical range are refused, outside the trained one flagged."""

    name: str
    unit: str
    lower: float
    upper: float
    trained_lower: float
    trained_upper: float
    description: str
    nullable: bool
    """True where NaN is a documented missing value."""
    sentinels: tuple[float, ...] = ()
    """Documented values outside the range that mean "missing" and are taken as they are."""
    values: tuple[float, ...] = ()
    """The only possible values, such as 0 and 1 of a flag; empty: all within the range."""

    @property
    def difference(self) -> bool:
        """True for a difference of temperatures, as the range shows: it has no zero point, so 1 K is 1 °C."""
        return is_difference(self.unit, self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class Head:
    """One kind of output."""

    name: str
    kind: str
    unit: str
    measure: str
    """Name of the deferral measure, larger = less certain."""
    label: str
    error: str
    error_unit: str
    acceptable: float | None
    """Largest acceptable error, in ``error_unit``; None where there is no such limit."""
    class_names: tuple[str, ...] = ()
    """Of a categorical head: what classes 0, 1, 2 ... are."""
    lower: float | None = None
    """Smallest possible value of the target, in ``unit``: predictions below it are deferred; None for none."""
    upper: float | None = None
    """Largest possible value of the target, in ``unit``; None for none."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What decides, for one head, between answering and deferring."""

    head: str
    version: str
    measure: str
    threshold: float
    mode: str
    target_retention: float
    """Share of in-domain units that the threshold is meant to answer."""
    retention_band: float
    """Realised in-domain retention lies within +- this with 95 % confidence."""
    calibration_units: int
    defer_on_shift: bool
    withhold: bool
    model: str
    profile: str
    reason: str = ""
    """Why everything is deferred (mode ``defer_all``), or why the target is not the one that was asked for (mode
    ``target_retention``)."""
    audit_rate: float = 0.0
    """Share of answered units whose label is requested at random."""
    certificate: str = ""
    """JSON of what certified the threshold, where ``mode`` is ``certified``."""
    audits: str = ""
    """``uniform``, or ``stratified``: more often where an error would cost the error-retention curve more."""


@dataclass(frozen=True, slots=True)
class Description:
    """A service's answer to ``describe``."""

    task: str
    model: str
    schema_hash: str
    features: tuple[Feature, ...]
    heads: tuple[Head, ...]
    policies: tuple[Policy, ...]
    max_rows: int
    """Rows of one ``predict``; 0 where the service sets no limit."""
    metadata: tuple[str, ...] = ()
    """Columns of the task's files (time, place, labels) that may come along by name and are not looked at."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the input columns, in the order of packed arrays."""
        return tuple(feature.name for feature in self.features)

    @property
    def units(self) -> dict[str, str]:
        """Unit of each input column."""
        return {feature.name: feature.unit for feature in self.features}

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Physical range of each input column, ends included."""
        return {feature.name: (feature.lower, feature.upper) for feature in self.features}

    @property
    def policy(self) -> Policy | None:
        """The policy of the first head; None where none is in force."""
        return self.policies[0] if self.policies else None


def policy(spec: PolicySpec) -> Policy:
    """Decode a policy."""
    return Policy(
        head=spec.head,
        version=spec.version,
        measure=spec.measure,
        threshold=spec.threshold,
        mode=spec.mode,
        target_retention=spec.target_retention,
        retention_band=spec.retention_band,
        calibration_units=spec.calibration_units,
        defer_on_shift=spec.defer_on_shift,
        withhold=spec.withhold,
        model=spec.model,
        profile=spec.profile,
        reason=spec.reason,
        audit_rate=spec.audit_rate,
        certificate=spec.certificate,
        audits=spec.audits,
    )


def description(response: DescribeResponse) -> Description:
    """Decode what a service says of itself."""
    return Description(
        task=response.task,
        model=response.model,
        schema_hash=response.schema_hash,
        features=tuple(
            Feature(
                name=spec.name,
                unit=spec.unit,
                lower=spec.lower,
                upper=spec.upper,
                trained_lower=spec.trained_lower,
                trained_upper=spec.trained_upper,
                description=spec.description,
                nullable=spec.nullable,
                sentinels=tuple(spec.sentinels),
                values=tuple(spec.values),
            )
            for spec in response.features
        ),
        heads=tuple(
            Head(
                name=spec.name,
                kind=spec.kind,
                unit=spec.unit,
                measure=spec.measure,
                label=spec.label,
                error=spec.error,
                error_unit=spec.error_unit,
                acceptable=spec.acceptable if spec.HasField("acceptable") else None,
                class_names=tuple(spec.class_names),
                lower=spec.lower if spec.HasField("lower") else None,
                upper=spec.upper if spec.HasField("upper") else None,
            )
            for spec in response.heads
        ),
        policies=tuple(policy(spec) for spec in response.policies),
        max_rows=response.max_rows,
        metadata=tuple(response.metadata),
    )
