"""Masks as the bytes of a file, small enough for one message."""

from __future__ import annotations

import gzip
import io
import os
from typing import Any

import numpy as np

from demur import _files
from demur._errors import wrong_argument


def mask_file(value: Any) -> bytes | None:
    """The file of a mask: as it is where it is one, else compressed; None where the value is no mask at all.

    Raises:
        InvalidInput: the file cannot be read, or an array of three axes holds something else than 0 and 1.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, os.PathLike):
        return _files.content(value, "value")
    if isinstance(value, np.ndarray) and value.ndim == 3:
        marked = value == 1
        if not (known := marked | (value == 0)).all():
            raise wrong_argument("value", value[~known][0].item(), "0 or 1 in each voxel of a mask")
        file = io.BytesIO()
        np.save(file, marked.astype(np.uint8))
        return _zipped(file.getvalue())
    write = getattr(value, "to_bytes", None)
    if callable(write) and not isinstance(value, int):  # an image, such as nibabel's; numbers have one, too
        found: bytes = write()
        return found if found[:2] == b"\x1f\x8b" else _zipped(found)
    return None


def _zipped(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=1, mtime=0)
