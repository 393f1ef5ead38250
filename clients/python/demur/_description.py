"""Description of a service: its columns, heads and policies."""

from collections.abc import Iterable
from dataclasses import dataclass

from demur._messages import from_message
from demur._rows.intervals import Intervals, decode_intervals
from demur._rows.units import is_difference
from demur.v1.common_pb2 import DescribeResponse, HeadSpec, PolicySpec
from demur.v1.policy_pb2 import PolicyEvent


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
    """Names of classes 0, 1, 2 ... of a categorical head."""
    lower: float | None = None
    """Smallest possible value of the target, in ``unit``: predictions below it are deferred; None for none."""
    upper: float | None = None
    """Largest possible value of the target, in ``unit``; None for none."""
    intervals: Intervals | None = None
    """Table of intervals of a Gaussian head of rows; None where the service has none."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Rule that decides, for one head, between answering and deferring."""

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
    """Why everything is deferred (mode ``defer_all``), or why the target is not the requested one (mode
    ``target_retention``)."""
    audit_rate: float = 0.0
    """Share of answered units whose label is requested at random."""
    certificate: str = ""
    """JSON of the certificate of the threshold, where ``mode`` is ``certified``."""
    audits: str = ""
    """``uniform``, or ``stratified``: more often where an error would cost the error-retention curve more."""


@dataclass(frozen=True, slots=True)
class Description:
    """Response of a service to ``describe``."""

    task: str
    model: str
    schema_hash: str
    features: tuple[Feature, ...]
    heads: tuple[Head, ...]
    policies: tuple[Policy, ...]
    max_rows: int
    """Rows of one ``predict``; 0 where the service sets no limit."""
    metadata: tuple[str, ...] = ()
    """Columns of the task's files (time, place, labels) that may come along by name and are ignored."""
    intervals_digest: int = 0
    """Number that changes with the tables of intervals; 0 where the service does not tell it."""

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


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """Change of a head's policy."""

    number: int
    """1, 2, … for each head."""
    time: float
    """Seconds since 1970."""
    author: str
    reason: str
    policy: Policy


def description(response: DescribeResponse) -> Description:
    """Decode the description of a service."""
    return from_message(
        Description,
        response,
        features=tuple(from_message(Feature, feature) for feature in response.features),
        heads=tuple(from_message(Head, head, intervals=_intervals(head)) for head in response.heads),
        policies=policies(response.policies),
    )


def _intervals(head: HeadSpec) -> Intervals | None:
    return decode_intervals(head.intervals) if head.HasField("intervals") else None


def policies(specs: Iterable[PolicySpec]) -> tuple[Policy, ...]:
    """Decode policies."""
    return tuple(from_message(Policy, spec) for spec in specs)


def policy_change(event: PolicyEvent) -> PolicyChange:
    """Decode a change of a policy."""
    return from_message(PolicyChange, event, policy=from_message(Policy, event.policy))
