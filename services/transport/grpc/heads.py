"""Decided heads as protobuf messages, and rows and wishes from them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from demur.v1 import common_pb2
from models.calibration import IntervalTable
from models.familiarity import Departures
from models.predictive import Categorical, Gaussian
from models.schema import Schema
from services.ledger.contract import Portion, Purpose
from services.policy.decision import Policy
from services.request.pipeline import Description
from services.request.row_task import Named, Packed, shown
from services.request.validate import Column
from services.runtime.errors import InvalidInput
from services.transport.binding import Options, stricter

_PURPOSES: dict[int, Purpose | None] = {
    common_pb2.PURPOSE_UNSPECIFIED: None,
    common_pb2.PURPOSE_DECIDE: "decide",
    common_pb2.PURPOSE_EXPLORE: "explore",
    common_pb2.PURPOSE_REPLAY: "replay",
}


def options(message: Any, heads: tuple[str, ...]) -> Options:
    """Purpose, stricter threshold and form of answers, of a request or a stream's first frame.

    Raises:
        InvalidInput: a purpose that is not in the contract, or see ``stricter``.
    """
    wanted = purpose(message.purpose)
    wish = message.defer_above if message.HasField("defer_above") else None
    by_head = dict(message.defer_above_by_head)
    if by_head and wish is not None:
        raise InvalidInput(
            "defer_above and defer_above_by_head are both given; one of them says it",
            code="two_goals",
            field="defer_above",
            value=f"{wish:g}",
        )
    return Options(wanted, stricter(by_head or wish, heads), message.plain)


def purpose(number: int) -> Purpose | None:
    """Why the caller asks; None: the transport's default.

    Raises:
        InvalidInput: a number that is not in the contract.
    """
    if number not in _PURPOSES:
        raise InvalidInput(
            f"purpose = {number} is unknown; use decide, explore or replay",
            code="unknown_purpose",
            field="purpose",
            value=str(number),
        )
    return _PURPOSES[number]


def rows(message: Any, schema: Schema) -> Packed | Named:
    """The rows of a request.

    Of named columns no more are looked at than the schema has and one: among those one is unknown or doubled, and
    validation names it. A message can hold millions of empty ones.

    Raises:
        InvalidInput: neither form is given.
    """
    form = message.WhichOneof("form")
    if form == "packed":
        packed = message.packed
        return Packed(packed.row_count, packed.values, packed.schema_hash)
    if form == "named":
        columns = message.named.columns[: len(schema) + len(schema.metadata) + 1]
        return Named(tuple(Column(c.name, c.values, c.unit) for c in columns))
    raise InvalidInput("the request holds no rows; fill rows.packed or rows.named", code="no_rows", field="rows")


def encode(portion: Portion, head: str, intervals: Any) -> Any:
    """A decided head as its message."""
    predictive = portion.predictives[head]
    if isinstance(predictive, Gaussian):
        return _gaussian(portion, head, predictive, intervals)
    if isinstance(predictive, Categorical):
        return _categorical(portion, head, predictive)
    raise TypeError(f"no message for a {type(predictive).__name__} head")


def _gaussian(portion: Portion, head: str, predictive: Gaussian, intervals: Any) -> Any:
    """Deferred predictions are NaN where the policy withholds them."""
    verdict = portion.verdicts[head]
    members = portion.payload.members.get(head, ())
    mean, total, data, knowledge = shown(predictive, verdict)
    message = common_pb2.GaussianHead(
        mean=pack(mean),
        total=pack(total),
        data=pack(data),
        knowledge=b"" if knowledge is None else pack(knowledge),
        deferral=deferral(portion, head),
        intervals=intervals,
    )
    if members and not verdict.policy.withhold:  # a member's word gives a hidden prediction away
        message.member_means, message.member_variances = pack(members[0]), pack(members[1])
    return message


def _categorical(portion: Portion, head: str, predictive: Categorical) -> Any:
    """Deferred predictions are NaN where the policy withholds them."""
    verdict = portion.verdicts[head]
    members = portion.payload.members.get(head, ())
    probabilities, total, data, knowledge = shown(predictive, verdict)
    message = common_pb2.CategoricalHead(
        classes=probabilities.shape[1],
        probabilities=pack(probabilities),
        total=pack(total),
        data=b"" if data is None else pack(data),
        knowledge=b"" if knowledge is None else pack(knowledge),
        deferral=deferral(portion, head),
    )
    if members and not verdict.policy.withhold:
        message.member_probabilities = pack(members[0].transpose(0, 2, 1))
    return message


def deferral(portion: Portion, head: str, item: int | None = None) -> Any:
    """How the units of a head were decided; with ``item``, the one of that place in the portion."""
    verdict, ids = portion.verdicts[head], portion.ids[head]
    units = slice(0, ids.count) if item is None else slice(item, item + 1)
    return common_pb2.Deferral(
        ids=common_pb2.UnitIds(epoch=ids.epoch, first=ids.first + units.start, count=units.stop - units.start),
        policy=verdict.policy.version,
        measure=verdict.policy.measure,
        threshold=verdict.policy.threshold,
        uncertainty=pack(verdict.uncertainty[units]),
        decisions=verdict.decisions[units].tobytes(),
        shifts=verdict.shifts[units].tobytes(),
    )


def shifted_inputs(departures: Departures, description: Description) -> Any:
    """Inputs that make rows unlike training; None where there are none."""
    if not len(departures):
        return None
    assert description.schema is not None
    positions, columns = np.unique(departures.columns, return_inverse=True)
    features = description.schema.features
    ranges = [description.trained_range(column) for column in positions.tolist()]
    return common_pb2.ShiftedInputs(
        rows=departures.rows.astype("<u4").tobytes(),
        columns=columns.astype("<u4").tobytes(),
        values=pack(departures.values),
        deviations=pack(departures.deviations),
        expected=pack(departures.expected),
        inputs=[
            common_pb2.ShiftedInput(
                name=features[column].name, unit=features[column].unit, trained_lower=lower, trained_upper=upper
            )
            for column, (lower, upper) in zip(positions.tolist(), ranges, strict=True)
        ],
    )


@lru_cache(maxsize=64)
def intervals(table: IntervalTable | None) -> Any:
    """The interval table; empty where the artefact has none."""
    if table is None:
        return common_pb2.Intervals()
    return common_pb2.Intervals(levels=table.levels, multipliers=table.multipliers)


def describe(description: Description, policies: tuple[Any, ...]) -> Any:
    """The description of a task."""
    schema = description.schema
    features = () if schema is None else schema.features
    lower = description.trained_lower or (float("nan"),) * len(features)
    upper = description.trained_upper or (float("nan"),) * len(features)
    by_head = {policy.head: policy for policy in policies}
    return common_pb2.DescribeResponse(
        task=description.task,
        model=description.model,
        schema_hash="" if schema is None else schema.hash,
        features=[
            common_pb2.FeatureSpec(
                name=f.name,
                unit=f.unit,
                lower=f.lower,
                upper=f.upper,
                description=f.description,
                nullable=f.nullable,
                trained_lower=low,
                trained_upper=high,
                sentinels=f.sentinels,
                values=f.values,
            )
            for f, low, high in zip(features, lower, upper, strict=True)
        ],
        heads=[
            common_pb2.HeadSpec(
                name=head.name,
                kind=head.kind,
                unit=head.unit,
                measure=by_head[head.name].measure,
                label=head.label,
                error=head.error,
                error_unit=head.error_unit,
                acceptable=head.acceptable,
                class_names=head.class_names,
                lower=head.lower,
                upper=head.upper,
            )
            for head in description.heads
        ],
        policies=[policy_spec(policy) for policy in policies],
        max_rows=description.max_rows,
        metadata=() if schema is None else schema.metadata,
    )


def policy_spec(policy: Policy) -> Any:
    """A policy as its message."""
    return common_pb2.PolicySpec(
        head=policy.head,
        version=policy.version,
        measure=policy.measure,
        threshold=policy.threshold,
        mode=policy.mode,
        target_retention=policy.target_retention,
        retention_band=policy.retention_band,
        calibration_units=policy.calibration_units,
        defer_on_shift=policy.defer_on_shift,
        withhold=policy.withhold,
        model=policy.model,
        profile=policy.profile,
        reason=policy.reason,
        audit_rate=policy.audit_rate,
        certificate=policy.certificate,
        audits=policy.audits,
    )


def pack(values: NDArray[np.float32]) -> bytes:
    """Little-endian float32 bytes."""
    return values.astype("<f4", copy=False).tobytes()
