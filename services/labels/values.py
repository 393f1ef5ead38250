"""Labels and inputs as JSON values: for those who label, and for those who asked."""

from __future__ import annotations

import base64
import binascii
import math
from typing import Any

import numpy as np

from models.schema import Schema
from services.runtime.errors import InvalidInput

ROW_TYPE = "application/x-demur-row-f32"
"""Media type of a row of the declared schema, float32 little-endian."""
BYTES_FIELD = "base64"


def from_json(value: Any) -> object:
    """A label's value; ``{"base64": "..."}`` stands for the bytes of a file.

    Raises:
        InvalidInput: the text is no base64.
    """
    if not isinstance(value, dict) or set(value) != {BYTES_FIELD} or not isinstance(value[BYTES_FIELD], str):
        return value
    try:
        return base64.b64decode(value[BYTES_FIELD], validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInput(f"value.{BYTES_FIELD} is no base64: {error}", code="bad_label", field="value") from error


def to_json(value: object) -> Any:
    """The inverse."""
    return {BYTES_FIELD: base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def input_json(payload: bytes | None, kind: str | None, schema: Schema | None) -> dict[str, Any] | None:
    """What a prediction was asked for, as who labels can read it; None where inputs are not kept.

    Rows of the declared schema become ``{"columns": [{"name", "value", "unit", "description"}, ...]}``, anything else
    its media type and bytes.
    """
    if payload is None:
        return None
    if kind == ROW_TYPE and schema is not None and len(payload) == 4 * len(schema):
        values = [float(str(value)) for value in np.frombuffer(payload, "<f4")]  # 12.6, not 12.600000381469727
        columns = [
            {
                "name": feature.name,
                "value": value if math.isfinite(value) else None,
                "unit": feature.unit,
                "description": feature.description,
            }
            for feature, value in zip(schema.features, values, strict=True)
        ]
        return {"media_type": kind, "columns": columns}
    return {"media_type": kind or "application/octet-stream", BYTES_FIELD: base64.b64encode(payload).decode()}
