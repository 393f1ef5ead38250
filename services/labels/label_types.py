"""Types of the label service: its answers, JSON forms of labels and inputs, and ranges of arguments."""

import base64
import binascii
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.head import Head
from models.schema import Schema
from services.labels.label_validation import Rejection
from services.labels.queue_entries import ClaimedRequest
from services.ledger.unit_ids import Unit
from services.runtime.errors import InvalidInput

ROW_TYPE = "application/x-demur-row-f32"
"""Media type of a row of the declared schema, float32 little-endian."""
OTHER_TYPE = "application/octet-stream"
"""Media type of inputs of which none is known."""
_SMALL_TYPES = (ROW_TYPE, "text/plain")
BYTES_FIELD = "base64"
MOST_CLAIMED = 100
LEASE_SECONDS = (1.0, 86_400.0)
DEFAULT_LEASE_SECONDS = 900.0
MOST_WAIT_SECONDS = 60.0
MOST_UNITS = 10_000
"""Most units of one call about resolutions."""


class Eraser(Protocol):
    """Interface of ``Erasure``."""

    async def erase(self, units: Iterable[Unit], actor: str, reason: str) -> int: ...


class ContentStore(Protocol):
    """Interface of ``Store``, which holds large values; both methods may take long."""

    def put(self, content: bytes) -> str: ...

    def get(self, reference: str) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Batch:
    """Outcomes of a batch of labels, in their order."""

    outcomes: bytes
    """Values of ``Outcome``, one byte a label."""
    rejected: tuple[Rejection, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """Claimed request with everything that a reviewer needs."""

    claimed: ClaimedRequest
    head: Head
    input: dict[str, Any] | None
    """Input as JSON, see ``input_json``, or only its media type where large inputs are left out; None where inputs are
    not kept.
    """
    payload: bytes | None = None
    """Input as bytes; None, too, where large inputs are left out."""
    draft: object = None
    """Prediction to be edited, see ``LabelRule.prediction``; only in the queue of drafts."""
    answers: tuple[object, ...] = ()
    """Labels that differ, in random order; only in the queue of adjudications."""


@dataclass(frozen=True, slots=True)
class RevealedPrediction:
    """Prediction that is shown to a reviewer after the label was given."""

    head: Head
    prediction: object
    """See ``LabelRule.prediction``; None where it is not kept or was impossible."""
    error: float | None
    """Error of the prediction by this label, in the head's error unit; None: none, or not finite."""
    uncertainty: float | None
    """In the unit of the measure; None: not finite."""
    deferred: bool
    measure: str
    """Empty where the policy is not in the ledger."""
    threshold: float | None
    """In the unit of the measure; None: not finite, or the policy is not in the ledger."""


def check_units(units: Sequence[Unit]) -> None:
    """Check the number of units of a call.

    Raises:
        InvalidInput: there are none, or too many.
    """
    check_range("units", len(units), 1, MOST_UNITS, "units")


def check_lease(seconds: float) -> None:
    """Check the duration of a lease.

    Raises:
        InvalidInput: it is too long or too short.
    """
    check_range("seconds", seconds, *LEASE_SECONDS, "s")


def check_range(field: str, value: float, lower: float, upper: float, unit: str) -> None:
    """Check that a value is in a closed range.

    Raises:
        InvalidInput: it is not; NaN never is.
    """
    if not lower <= value <= upper:
        try:
            text = f"{value:g}"
        except OverflowError:  # a whole number of hundreds of digits
            text = "a number beyond 1e308"
        raise InvalidInput.about(field, text, code="out_of_range", allowed=f"[{lower:g}, {upper:g}]", unit=unit)


def from_json(value: Any) -> object:
    """Return a label's value; ``{"base64": "..."}`` stands for the bytes of a file.

    Raises:
        InvalidInput: the text is not base64.
    """
    if not isinstance(value, dict) or set(value) != {BYTES_FIELD} or not isinstance(value[BYTES_FIELD], str):
        return value
    try:
        return base64.b64decode(value[BYTES_FIELD], validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInput(f"value.{BYTES_FIELD}: must be base64: {error}", code="bad_label", field="value") from error


def to_json(value: object) -> Any:
    """Return a label's value as JSON, the inverse of ``from_json``."""
    return {BYTES_FIELD: base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def is_small(kind: str | None) -> bool:
    """Return True if inputs of a media type are small, and always come with their request: rows and texts."""
    return (kind or OTHER_TYPE).startswith(_SMALL_TYPES)


def input_json(payload: bytes | None, kind: str | None, schema: Schema | None) -> dict[str, Any] | None:
    """Return the input of a prediction in a form that reviewers can read; None where inputs are not kept.

    Rows of the declared schema become ``{"columns": [{"name", "value", "unit", "description"}, ...]}``, with ``text``
    in categorical columns; anything else its media type and bytes.
    """
    if payload is None:
        return None
    if kind == ROW_TYPE and schema is not None and len(payload) == 4 * len(schema):
        row = np.frombuffer(payload, "<f4")
        columns = [
            {"name": feature.name, "value": value, "unit": feature.unit, "description": feature.description}
            | ({"text": feature.text(float(code))} if feature.categories else {})
            for feature, value, code in zip(schema.features, row_values(row), row, strict=True)
        ]
        return {"media_type": kind, "columns": columns}
    return {"media_type": kind or OTHER_TYPE, BYTES_FIELD: base64.b64encode(payload).decode()}


def row_values(row: NDArray[np.float32]) -> list[float | None]:
    """Return the values of a row as people read them: 12.6, not 12.600000381469727; None where not finite."""
    return [float(str(value)) if math.isfinite(value) else None for value in row]
