"""Texts of a categorical column as the codes that packed rows hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from demur._errors import InvalidInput
from demur._numbers import is_null

_LISTED = 10
"""Categories that a message names; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Categories:
    """Texts of a column, in the order of their codes."""

    texts: tuple[str, ...]
    other: bool = False
    """True if other texts are accepted; their code is the number of categories."""
    nullable: bool = False


def coded(values: Any, name: str, categories: Categories) -> NDArray[np.float64]:
    """Return the codes of a text, a list, an array or a series of texts; a missing value is NaN.

    Raises:
        InvalidInput: a value that is no text, or none of the categories of a column that takes no others.
    """
    if isinstance(values, str | int | float) or is_null(values):
        return np.array(_code(values, name, categories, 0))
    known = {text: float(code) for code, text in enumerate(categories.texts)}
    texts = _listed(values, name)
    try:
        return np.array([known[text] for text in texts], np.float64)
    except (KeyError, TypeError):
        return np.array([_code(text, name, categories, row) for row, text in enumerate(texts)], np.float64)


def _listed(values: Any, name: str) -> Sequence[Any]:
    """Return the values of a list, an array or a series of pandas, polars or pyarrow as a list."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            listed = getattr(values, method)()
            return listed if isinstance(listed, list) else [listed]
    if isinstance(values, Sequence):
        return values
    raise InvalidInput(
        f"column {name!r} is a {type(values).__name__}; give a text, or a list, array or series of texts",
        code="not_a_text",
        field=name,
    )


def _code(value: Any, name: str, categories: Categories, row: int) -> float:
    if isinstance(value, str):
        if value in categories.texts:
            return float(categories.texts.index(value))
        if categories.other:
            return float(len(categories.texts))
        near = get_close_matches(value, categories.texts, 1)
        hint = f"; {near[0]!r} is similar" if near else ""
        raise _refused(value, "unknown_category", name, categories, row, hint)
    if is_null(value) or (isinstance(value, float | np.floating) and np.isnan(value)):
        if categories.nullable:
            return float("nan")
        raise _refused("null", "not_finite", name, categories, row, "")
    raise _refused(repr(value), "not_a_text", name, categories, row, "; codes are for arrays and packed rows only")


def _refused(value: str, code: str, name: str, categories: Categories, row: int, hint: str) -> InvalidInput:
    allowed = ", ".join(categories.texts[:_LISTED])
    if (more := len(categories.texts) - _LISTED) > 0:
        allowed += f" and {more} more"
    missing = " (missing: null)" if categories.nullable else ""
    return InvalidInput(
        f"{name} = {value} in row {row}: must be a text, one of {allowed}{missing}; correct the value or drop the "
        f"row{hint}",
        code=code,
        field=name,
        value=value,
        allowed=allowed,
        index=row,
    )
