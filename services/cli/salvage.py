"""Recovery of the valid rows of a chunk that the service refused."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeVar

import demur
from services.cli.row_chunks import Table

A = TypeVar("A")

PIECE_ROWS = 64
"""Rows of one request: a chunk of n rows, b of them bad, is at most n / 64 + 2 b requests."""


def salvaged(predict: Callable[[Table], A], table: Table) -> tuple[list[A], list[int], dict[int, str]]:
    """Predict all rows but those that the service refuses individually.

    Args:
        predict: predicts some of the rows, one request each.
        table: the rows [n, F].

    Returns:
        The answers, in order; the indices of their rows; the errors of refused rows, by index.

    Raises:
        demur.InvalidInput: an error that names no row, so it concerns all of them.
        demur.DemurError: any other failure.
    """
    answers: list[A] = []
    rows: list[int] = []
    faults: dict[int, str] = {}
    pending = deque((start, min(start + PIECE_ROWS, len(table))) for start in range(0, len(table), PIECE_ROWS))
    while pending:
        start, stop = pending.popleft()
        if start == stop:
            continue
        try:
            answers.append(predict(table[start:stop]))
            rows.extend(range(start, stop))
        except demur.InvalidInput as error:
            if error.index is None or not 0 <= error.index < stop - start:
                raise
            bad = start + error.index
            faults[bad] = without_row(error)
            pending.extendleft(((bad + 1, stop), (start, bad)))
    return answers, rows, faults


def without_row(error: demur.InvalidInput) -> str:
    """Return the message of an error without its row number, which counts within the request."""
    return str(error).replace(f" in row {error.index}", "", 1)
