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
    categories: tuple[str, ...] = ()
    """Texts of a categorical column, in the order of their codes in packed rows; empty for numbers."""
    other: bool = False
    """True if other texts than the categories are accepted; their rows are flagged as unlike the training data."""

    @property
    def difference(self) -> bool:
        """True for a difference of temperatures, as the range shows: it has no zero point, so 1 K is 1 °C."""
        return is_difference(self.unit, self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class TrainingLabels:
    """Labels of a head in some training rows, against one of their columns."""

    column: str
    """Name of the column."""
    values: tuple[float, ...]
    """Value of the column by row, in its unit."""
    labels: tuple[float, ...]
    """Label by row, in the unit of the head."""


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
    training_labels: TrainingLabels | None = None
    """Labels of some training rows, which show where labels lay; None where the artefact has none."""


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

    def __str__(self) -> str:
        return contract(self)

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


def contract(described: Description) -> str:
    """Return what a service takes and answers, as text for people: columns, heads and policies."""
    lines = [f"{described.task}, model {described.model}", "", *_aligned([_COLUMNS, *map(_column, described.features)])]
    if described.metadata:
        lines.append(f"may come along, unread: {', '.join(described.metadata)}")
    lines += ["", *_aligned([_HEADS, *map(_head, described.heads)])]
    for policy in described.policies:
        limit = (
            "everything is deferred" if policy.mode == "defer_all" else f"{policy.measure} <= {policy.threshold:.6g}"
        )
        lines.append(f"{policy.head} is answered where {limit} ({policy.mode}, version {policy.version})")
    if described.max_rows:
        lines.append(f"up to {described.max_rows} rows a call, any number in a stream")
    return "\n".join(lines)


_COLUMNS = ("column", "unit", "possible", "seen in training", "missing", "description")
_HEADS = ("head", "kind", "unit", "measure", "classes", "label")
_SHOWN = 8
"""Categories or classes that are shown; the rest is counted."""


def _column(feature: Feature) -> tuple[str, ...]:
    if feature.categories:
        possible = _listed(feature.categories) + (", or others" if feature.other else "")
        return feature.name, "text", possible, "", "yes" if feature.nullable else "no", feature.description
    possible = ", ".join(f"{value:g}" for value in feature.values) or f"{feature.lower:g} to {feature.upper:g}"
    seen = (
        ""
        if feature.trained_lower != feature.trained_lower
        else f"{feature.trained_lower:g} to {feature.trained_upper:g}"
    )
    return feature.name, feature.unit, possible, seen, "yes" if feature.nullable else "no", feature.description


def _head(head: Head) -> tuple[str, ...]:
    return head.name, head.kind, head.unit, head.measure, _listed(head.class_names), head.label


def _listed(texts: tuple[str, ...]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


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
        heads=tuple(
            from_message(Head, head, intervals=_intervals(head), training_labels=_training_labels(head))
            for head in response.heads
        ),
        policies=policies(response.policies),
    )


def _intervals(head: HeadSpec) -> Intervals | None:
    return decode_intervals(head.intervals) if head.HasField("intervals") else None


def _training_labels(head: HeadSpec) -> TrainingLabels | None:
    return from_message(TrainingLabels, head.training_labels) if head.HasField("training_labels") else None


def policies(specs: Iterable[PolicySpec]) -> tuple[Policy, ...]:
    """Decode policies."""
    return tuple(from_message(Policy, spec) for spec in specs)


def policy_change(event: PolicyEvent) -> PolicyChange:
    """Decode a change of a policy."""
    return from_message(PolicyChange, event, policy=from_message(Policy, event.policy))
