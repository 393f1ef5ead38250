"""Reports of data that leave little to draw."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from models.evaluation.evaluate import evaluate
from models.evaluation.judged import ErrorColumn, Judged
from tests.services.report.reading import read, written
from tests.services.report.simulated import constant, regression

EDGES: dict[str, Callable[[], Judged]] = {
    "one unit": lambda: regression(n=1, members=1, domains=False),
    "two units": lambda: regression(n=2, members=2),
    "constant errors": constant,
    "constant uncertainty": lambda: constant(measures={"u": np.full(50, 0.5)}),
    "no uncertainty": lambda: constant(measures={"u": np.full(50, np.nan)}),
    "infinite uncertainty": lambda: constant(measures={"u": np.r_[np.arange(40.0), np.full(10, np.inf)]}),
    "no error at all": lambda: constant(errors={"error": ErrorColumn(np.zeros(50), "1", 0.5)}),
    "no acceptable error": lambda: constant(errors={"error": ErrorColumn(np.full(50, 9.0), "1", 0.5)}),
    "negative errors": lambda: constant(errors={"error": ErrorColumn(np.linspace(-9, 4, 50), "nat", 0.5)}),
    "huge errors": lambda: constant(errors={"error": ErrorColumn(np.geomspace(1e-30, 1e30, 50), "kW²", 1.0)}),
    "all shifted": lambda: constant(shifted=np.ones(50, bool)),
}


@pytest.mark.parametrize("case", EDGES)
def test_odd_data_give_a_whole_page(case: str, tmp_path: Path) -> None:
    reader = read(written(tmp_path / "r", evaluate(EDGES[case]())))
    text = " ".join(reader.text)
    assert not re.search(r"\bnan\b|\binf\b|None", text)
    for rows in reader.tables.values():
        assert all(math.isfinite(value) for _, cells in rows for cell in cells for value in cell)


def test_an_infinite_error_is_shown_as_such(tmp_path: Path) -> None:
    errors = np.r_[np.linspace(0, 3, 49), np.inf]
    with np.errstate(invalid="ignore"):
        evaluation = evaluate(constant(errors={"error": ErrorColumn(errors, "m", 1.0)}))
    page = written(tmp_path / "r", evaluation)
    read(page)
    assert "∞" in page
