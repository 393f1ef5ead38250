"""Readers of arrays from files, with errors that name file, field and position."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.evaluation.unit_errors import BadFile, Mask
from models.extras import library

Array = NDArray[Any]


def read_npz(path: Path) -> dict[str, Array]:
    """Read all arrays of an NPZ file; nothing is unpickled.

    Raises:
        BadFile: no such file, or not an NPZ file of plain arrays.
    """
    try:
        with path.open("rb") as file:  # opened here, so that it is closed after any error of numpy
            if not file.read(2).startswith(b"PK"):
                raise BadFile(f"{path} is no NPZ file; numpy.savez writes one")
            file.seek(0)
            archive = np.load(file, allow_pickle=False)
            return {name: _array(path, archive, name) for name in archive.files}
    except BadFile:
        raise
    except ValueError as error:
        raise BadFile(f"{path} cannot be read as NPZ of plain numbers: {error}") from error
    except Exception as error:  # garbled archives and headers fail in a dozen ways, token errors among them
        raise BadFile(f"{path} cannot be read as NPZ: {error}") from error


def _array(path: Path, archive: Mapping[str, Array], name: str) -> Array:
    try:
        array = archive[name]
        if not isinstance(array, np.ndarray):  # numpy returns members that are not arrays as bytes
            raise ValueError("no array begins there")
        return array
    except ValueError as error:  # such as objects, which are not unpickled
        raise BadFile(f"{path}: {name} cannot be read as plain numbers or text: {error}") from error


def numbers(path: Path, arrays: Mapping[str, Array], name: str, axes: str, sizes: dict[str, int]) -> Array:
    """Return the named array as float64; otherwise as ``stored_numbers``."""
    return np.asarray(stored_numbers(path, arrays, name, axes, sizes), np.float64)


def stored_numbers(path: Path, arrays: Mapping[str, Array], name: str, axes: str, sizes: dict[str, int]) -> Array:
    """Return the named array in the precision of the file, which saves memory, and check its axes.

    Args:
        axes: one word per axis, such as ``"M N 2"``; digits are fixed lengths, words must agree with ``sizes``.
        sizes: lengths of axes found so far by word; new ones are added.

    Raises:
        BadFile: missing, not numeric, or not of that shape.
    """
    if name not in arrays:
        raise BadFile(f"{path}: {name} is missing; the file has {', '.join(arrays) or 'no arrays'}")
    array = arrays[name]
    if array.dtype.kind not in "fiub":
        raise BadFile(f"{path}: {name} has the type {array.dtype}; numbers are needed")
    words = axes.split()
    shape = f"[{', '.join(words)}]"
    if array.ndim != len(words):
        raise BadFile(f"{path}: {name} has the shape {list(array.shape)}; {shape} is needed")
    for length, word in zip(array.shape, words, strict=True):
        expected = int(word) if word.isdigit() else sizes.setdefault(word, length)
        if length != expected:
            known = ", ".join(f"{key} = {size}" for key, size in sizes.items())
            raise BadFile(f"{path}: {name} has the shape {list(array.shape)}; {shape} with {known} is needed")
        if not length:
            raise BadFile(f"{path}: {name} has the shape {list(array.shape)}; axis {word} is empty")
    return array


def finite(path: Path, name: str, values: Array) -> Array:
    """Return the array itself if all values are finite.

    Raises:
        BadFile: a value is NaN or infinite; the message names the first position.
    """
    _refuse(~np.isfinite(values), path, name, values, "finite numbers are needed")
    return values


def within(path: Path, name: str, values: Array, largest: float) -> None:
    """Check that no value is beyond ``largest`` in size.

    Raises:
        BadFile: a value is; the message names the first position.
    """
    _refuse(np.abs(values) > largest, path, name, values, f"at most {largest:g} in size is needed")


def shifted_flags(path: Path, name: str, values: Array | None, n: int) -> Mask | None:
    """Convert 0 and 1 to a mask [n]; None if there are none.

    Raises:
        BadFile: another length, or a value that is neither 0 nor 1.
    """
    if values is None:
        return None
    if values.shape != (n,):
        raise BadFile(f"{path}: {name} has the shape {list(values.shape)}; [N] with N = {n} is needed")
    if values.dtype.kind not in "fiub" or not np.isin(values, (0, 1)).all():
        place, wrong = next((row, value) for row, value in enumerate(values.tolist()) if value not in (0, 1))
        raise BadFile(f"{path}: {name}[{place}] is {wrong!r}; 0 (in-domain) or 1 (shifted) is needed")
    return values.astype(bool)


def group_columns(path: Path, arrays: Mapping[str, Array], names: Sequence[str], n: int) -> dict[str, Array]:
    """Return the columns [n] for which figures are broken down.

    Raises:
        BadFile: a column is missing or has another length.
    """
    for name in names:
        if name not in arrays:
            raise BadFile(f"{path}: there is no column {name!r}; the file has {', '.join(arrays) or 'none'}")
        if arrays[name].shape != (n,):
            shape = list(arrays[name].shape)
            raise BadFile(f"{path}: column {name!r} has the shape {shape}; [N] with N = {n} is needed")
    return {name: arrays[name] for name in names}


def variances(path: Path, name: str, values: Array) -> Array:
    """Return the array itself if all values are variances; zero is allowed.

    Raises:
        BadFile: a variance that is negative or not finite.
    """
    _refuse(~((values >= 0) & np.isfinite(values)), path, name, values, "a variance is finite and at least 0")
    return values


def _refuse(wrong: Array, path: Path, name: str, values: Array, needed: str) -> None:
    """Raise BadFile with the position and value of the first ``wrong`` one, if there is one."""
    if wrong.any():
        place = [int(index) for index in np.argwhere(wrong)[0]]
        raise BadFile(f"{path}: {name}{place} is {values[tuple(place)]}; {needed}")


def need(module: str, purpose: str) -> Any:
    """Import an optional library.

    Raises:
        BadFile: it is not installed; the message says how to install it.
    """
    return library(module, f"{purpose} needs", "evaluate", BadFile)
