"""Values of labels (numbers, texts, positions, masks) and their messages."""

import gzip
import io
import os
from typing import Any

import numpy as np

from demur import _files
from demur._errors import InvalidInput, wrong_argument
from demur._messages import FLOAT64
from demur._numbers import positions
from demur._rows.columns import carries_unit
from demur.v1 import labels_pb2

_GZIP = b"\x1f\x8b"
"""First bytes of a gzipped file."""


def refuse_quantity(value: Any) -> None:
    """Check that a label is not a quantity of astropy or pint, whose unit would be lost.

    Raises:
        InvalidInput: it is one.
    """
    if carries_unit(type(value)):
        unit = str(getattr(value, "unit", None) or getattr(value, "units", ""))
        raise InvalidInput(
            f"value is a quantity in {unit!r}; labels are plain numbers in the unit of the head (describe().heads): "
            "convert it and pass its numbers",
            code="wrong_unit",
            field="value",
            value=unit,
            allowed="plain numbers in the unit of the head",
        )


def encode_value(value: Any) -> labels_pb2.LabelValue:
    """Encode the value of a label.

    Raises:
        InvalidInput: it is neither a number, a text, a mask nor positions; it carries a unit; or its file cannot be
            read.
    """
    if isinstance(value, str):
        return labels_pb2.LabelValue(text=value)
    if (file := mask_file(value)) is not None:
        return labels_pb2.LabelValue(file=file)
    refuse_quantity(value)
    try:
        array = positions(value, "value") if isinstance(value, (list, tuple)) else np.asarray(value, np.float64)
    except (TypeError, ValueError):
        array = np.zeros((0, 0, 0))
    if value is None or array.ndim not in (0, 2):
        raise wrong_argument("value", value, "a number, a text, a mask [x, y, z] or its file, or positions [T, 2]")
    if array.ndim == 0:
        return labels_pb2.LabelValue(number=float(array))
    return labels_pb2.LabelValue(doubles=np.ascontiguousarray(array, FLOAT64).tobytes())


def decode_value(message: Any) -> Any:
    """Decode the value of a label; positions are float64 [T, 2]."""
    form = message.WhichOneof("form")
    if form is None:
        return None
    value = getattr(message, form)
    return np.frombuffer(value, FLOAT64).reshape(-1, 2) if form == "doubles" else value


def mask_file(value: Any) -> bytes | None:
    """Return the file of a mask: unchanged if it is one, else compressed; None where the value is not a mask.

    Raises:
        InvalidInput: the file cannot be read, or an array of three axes holds something else than 0 and 1.
    """
    if isinstance(value, np.ndarray):
        if value.ndim != 3:
            return None
        marked = value == 1
        if not (known := marked | (value == 0)).all():
            raise wrong_argument("value", value[~known][0].item(), "0 or 1 in each voxel of a mask")
        file = io.BytesIO()
        np.save(file, marked.astype(np.uint8))
        return _zipped(file.getvalue())
    content = _files.content(value, "value")
    if content is None or isinstance(value, (bytes, bytearray, memoryview, os.PathLike)) or content[:2] == _GZIP:
        return content
    return _zipped(content)  # of an image, such as nibabel's


def _zipped(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=1, mtime=0)
