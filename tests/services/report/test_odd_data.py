"""Reports of data that leave little to draw."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.evaluation.compare import Comparison, Interval
from models.evaluation.evaluate import Evaluation, evaluate
from models.evaluation.unit_errors import ErrorColumn, Normals, UnitErrors
from tests.services.report.reading import read, written
from tests.services.report.simulated import constant, regression

EDGES: dict[str, Callable[[], UnitErrors]] = {
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


@pytest.mark.long
@pytest.mark.parametrize("case", EDGES)
def test_odd_data_give_a_whole_page(case: str, tmp_path: Path) -> None:
    reader = read(written(tmp_path / "r", evaluate(EDGES[case]())))
    text = " ".join(reader.text)
    assert not re.search(r"\bnan\b|\binf\b|None", text)
    for rows in reader.tables.values():
        assert all(math.isfinite(value) for _, cells in rows for cell in cells for value in cell)


def unsure(values: Any) -> UnitErrors:
    return constant(errors={"error": ErrorColumn(ROWS, "m", 9.0)}, measures={"u": np.asarray(values, float)})


def wrong(values: Any, **changes: Any) -> UnitErrors:
    return constant(errors={"error": ErrorColumn(np.asarray(values, float), "m", 1.0)}, **changes)


def normal(variance: Any, squared: Any = 1.0) -> UnitErrors:
    """Fifty rows of these variances and squared errors."""
    variance, squared = (np.broadcast_to(np.asarray(values, float), 50) for values in (variance, squared))
    own = {"ence": math.inf, "cv": math.nan, "lence": math.inf, "r3": math.inf}
    return constant(
        errors={"squared_error": ErrorColumn(squared, "m²", 1.0)},
        measures={"variance": variance},
        normals=Normals(np.zeros(50), variance, np.sqrt(squared), "m"),
        own=(lambda mask: own) if not variance.all() else None,
    )


ROWS = np.arange(50.0)
EVERY_OTHER = ROWS % 2 == 0
EXTREMES: dict[str, Callable[[], UnitErrors]] = {
    "tiny and huge variances": lambda: normal(np.where(EVERY_OTHER, 1e-16, 1e37)),
    "one huge variance": lambda: normal(np.where(ROWS == 7, 1e37, 1e-16)),
    "huge variances": lambda: normal(1e300),
    "the largest variances": lambda: normal(np.where(EVERY_OTHER, 1e-300, 1.7e308)),
    "the smallest variances": lambda: normal(np.geomspace(1e-320, 1e-300, 50)),
    "some variances of zero": lambda: normal(EVERY_OTHER),
    "all variances of zero": lambda: normal(0.0),
    "variances and errors of zero": lambda: normal(0.0, 0.0),
    "one infinite error": lambda: wrong(np.r_[ROWS[1:], np.inf]),
    "infinite errors": lambda: wrong(np.full(50, np.inf)),
    "one infinite error, shifted": lambda: wrong(np.r_[ROWS[1:], np.inf], shifted=ROWS == 49),
    "infinite errors of both signs": lambda: wrong(np.r_[ROWS[2:], np.inf, -np.inf]),
    "the largest errors": lambda: wrong(np.where(EVERY_OTHER, -1e307, 1e307)),
    "the smallest errors": lambda: wrong(ROWS * 1e-320),
    "uncertainties without end": lambda: unsure(np.r_[ROWS[3:], np.inf, -np.inf, np.nan]),
    "uncertainties of minus infinity": lambda: unsure(np.full(50, -np.inf)),
    "the largest uncertainties": lambda: unsure(np.where(EVERY_OTHER, -1.7e308, 1.7e308)),
    "uncertainties of all sizes": lambda: unsure(np.geomspace(1e-320, 1e308, 50)),
    "a large constant uncertainty": lambda: unsure(np.full(50, 1e37)),
    "neighbouring uncertainties": lambda: unsure(np.where(EVERY_OTHER, 1.0, np.nextafter(1.0, 2.0))),
    "a long name": lambda: constant(errors={"a_long_name_of_an_error_" * 9: ErrorColumn(ROWS, "m", 1.0)}),
}


COMPARED = ("infinite errors of both signs", "uncertainties without end")
"""Extremes that are also drawn beside a second file in CI; all are with ``-m slow``."""
DRAWN = ("uncertainties of all sizes", "a long name")
"""Extremes whose figures are also drawn as files in CI; all are with ``-m slow``."""


def extreme(case: str) -> Evaluation:
    with np.errstate(all="ignore"):
        return evaluate(EXTREMES[case]())


@pytest.mark.long
@pytest.mark.parametrize("case", EXTREMES)
def test_extreme_data_are_drawn_without_a_warning(case: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    read(written(tmp_path / "one", extreme(case)))
    assert caplog.records == []


@pytest.mark.long
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[] if case in DRAWN else pytest.mark.slow) for case in EXTREMES]
)
def test_files_of_extreme_figures_are_drawn_without_a_warning(
    case: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    written(tmp_path / "one", extreme(case), files=True)
    assert all(path.stat().st_size for path in (tmp_path / "one" / "figures").iterdir())
    assert caplog.records == []


@pytest.mark.parametrize(
    ("case", "files"),
    [pytest.param(case, False) for case in COMPARED]
    + [pytest.param(case, True, marks=pytest.mark.slow) for case in EXTREMES],
)
def test_two_files_of_extreme_data_are_drawn_without_a_warning(
    case: str, files: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    evaluation = extreme(case)
    copy = replace(evaluation, judged=replace(evaluation.judged, source="copy.csv"))
    read(written(tmp_path / "two", evaluation, copy, comparison=made_up(evaluation, copy), human=0.0, files=files))
    assert caplog.records == []


def made_up(first: Evaluation, other: Evaluation) -> Comparison:
    """Differences as odd as the data."""
    odd = {"error": Interval(0.0, 0.0, 0.0), "prr": Interval(1e307, -1e308, 1.7e308), "r_auc": Interval(1e-320, 0, 1)}
    odd["f1_auc"] = Interval(math.nan, -math.inf, math.inf)
    return Comparison(first.judged.source, 0.95, 1000, {other.judged.source: odd})


def test_an_infinite_error_is_shown_as_such(tmp_path: Path) -> None:
    errors = np.r_[np.linspace(0, 3, 49), np.inf]
    with np.errstate(invalid="ignore"):
        evaluation = evaluate(constant(errors={"error": ErrorColumn(errors, "m", 1.0)}))
    page = written(tmp_path / "r", evaluation)
    read(page)
    assert "∞" in page
