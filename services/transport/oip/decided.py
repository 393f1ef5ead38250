"""Decisions on units as tensors and parameters, common to all tasks."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from services.ledger.contract import Portion
from services.ledger.unit_ids import UnitIds
from services.policy.decision import Decision, Policy
from services.request.contract import ItemFailed
from services.runtime.errors import DemurError
from services.transport.answer import Record
from services.transport.binding import Parameter, TensorSpec
from services.transport.oip.datatypes import of_bytes

FAILURES = "failures"
"""Parameter with the items that failed, as JSON."""
_FEW = 16
"""Number of ids up to which a loop is faster than array operations."""
_DECISIONS = ", ".join(f"{decision.value}: {decision.name}" for decision in Decision)


def decided_specs(prefix: str = "", item: str = "row") -> tuple[TensorSpec, ...]:
    """Return the specs of the outputs of ``decided``; ``item`` names an element of the first axis."""
    return (
        TensorSpec(
            f"{prefix}uncertainty",
            "FP32",
            (-1,),
            "",
            f"of each {item}, compared with the threshold; unit of the measure",
        ),
        TensorSpec(f"{prefix}deferred", "BOOL", (-1,), "", "whether somebody else should answer"),
        TensorSpec(f"{prefix}decision", "INT8", (-1,), "", _DECISIONS),
        TensorSpec(
            f"{prefix}shifted",
            "UINT8",
            (-1,),
            "",
            "sum of 1: outside the range of training, 2: knowledge uncertainty above its reference, 4: prediction "
            "impossible, so that the uncertainty is infinite, 8: inputs unlikely together; 0: none",
        ),
        TensorSpec(f"{prefix}unit_ids", "BYTES", (-1,), "", "what labels and resolutions name the units by"),
    )


def decided(portions: Sequence[Portion], head: str, prefix: str = "") -> dict[str, NDArray[Any]]:
    """Return the decisions on the units [n] of a head, of all portions in order."""
    verdicts = [portion.verdicts[head] for portion in portions]
    decisions = joined([verdict.decisions for verdict in verdicts], np.uint8)
    return {
        f"{prefix}uncertainty": joined([verdict.uncertainty for verdict in verdicts], np.float32),
        f"{prefix}deferred": decisions != Decision.ANSWER.value,
        f"{prefix}decision": decisions.astype(np.int8),
        f"{prefix}shifted": joined([verdict.shifts for verdict in verdicts], np.uint8),
        f"{prefix}unit_ids": joined([unit_ids(portion.ids[head]) for portion in portions], np.dtype("S1")),
    }


def parameters(
    portions: Sequence[Portion], heads: Iterable[str], failures: Iterable[ItemFailed] = ()
) -> dict[str, Any]:
    """Return the parameters of an answer as a whole. ``recorded`` is true if all portions are recorded."""
    values: dict[str, Parameter] = {
        "model": portions[0].model,
        "profile": portions[0].profile,
        "purpose": portions[0].purpose,
        "recorded": all(portion.recorded for portion in portions),
    }
    named = tuple(heads)
    for head in named:
        values |= policy_parameters([part.verdicts[head].policy for part in portions], f"{head}_" if named[1:] else "")
    if documents := [_failure(failed.item, failed.error) for failed in failures]:
        values[FAILURES] = msgspec.json.encode(documents).decode()
    return values


def policy_parameters(policies: Sequence[Policy], prefix: str) -> dict[str, Parameter]:
    """Return version, measure and threshold; a threshold that is not finite is text, since JSON has no such numbers."""
    last = policies[-1]
    finite = bool(np.isfinite(last.threshold))
    return {
        f"{prefix}policy": ",".join(dict.fromkeys(policy.version for policy in policies)),
        f"{prefix}measure": last.measure,
        f"{prefix}threshold": float(last.threshold) if finite else str(last.threshold),
    }


def remarks(of_items: Iterable[Sequence[Record]]) -> NDArray[Any]:
    """Return the input warnings of each item as a JSON list."""
    return of_bytes(map(msgspec.json.encode, of_items))


def remarks_spec(known: str) -> TensorSpec:
    """Return the output of ``remarks``; ``known`` describes their codes."""
    description = (
        f"JSON list of what is unlike training, each with code, message, value, unit, lower, upper; codes: {known}"
    )
    return TensorSpec("remarks", "BYTES", (-1,), "", description)


def unit_ids(ids: UnitIds) -> NDArray[Any]:
    """Return the texts of ``UnitIds`` [n]; ids with the same number of digits are formatted in one operation."""
    if ids.count < _FEW:
        return of_bytes(ids.text(index).encode() for index in range(ids.count))
    stop = ids.first + ids.count
    parts = []
    first = ids.first
    while first < stop:
        last = min(stop, 10 ** len(str(first)))
        parts.append(_of_equal_length(ids.epoch, first, last))
        first = last
    return parts[0] if len(parts) == 1 else np.concatenate([part.astype(object) for part in parts])


def joined(arrays: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """Concatenate arrays; empty and of ``dtype`` if there are none."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays) if arrays else np.empty(0, dtype)


def _of_equal_length(epoch: int, first: int, stop: int) -> NDArray[Any]:
    """Return ids whose sequence numbers have the same number of digits, formatted in one operation."""
    head, width = f"{epoch:016x}-".encode(), len(str(first))
    text = np.empty((stop - first, len(head) + width), np.uint8)
    text[:, : len(head)] = np.frombuffer(head, np.uint8)
    numbers = np.arange(first, stop)
    for place in range(width - 1, -1, -1):
        numbers, digit = np.divmod(numbers, 10)
        text[:, len(head) + place] = digit + ord("0")
    return text.view(f"S{text.shape[1]}").reshape(-1)


def _failure(item: int, error: DemurError) -> dict[str, Any]:
    return {"item": item, "code": error.code, "message": error.message}
