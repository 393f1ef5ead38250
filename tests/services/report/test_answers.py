"""What answers cost: of the model alone, or with a human beside it."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import ErrorColumn
from services.report import retention_sections
from services.report.number_format import numeral
from tests.services.report.reading import written
from tests.services.report.simulated import constant, regression


def test_without_a_human_the_answers_alone_are_drawn(tmp_path: Path) -> None:
    judged = regression(n=400, domains=False)
    page = written(tmp_path / "r", evaluate(judged), human=0.0)
    names = {path.stem for path in (tmp_path / "r" / "figures").iterdir()}
    assert "answered-error" in names
    assert "system-error" not in names
    assert "Error of the whole system" not in page
    assert "<code>--human-error</code>" in page
    certain = judged.error.values[np.argsort(judged.uncertainty, kind="stable")]
    for share in (0.95, 0.8, 0.5):
        assert f"{numeral(certain[: round(share * 400)].mean())}\u202f°C² with {100 * share:g}\u202f%" in page


def test_with_a_human_the_system_is_drawn(tmp_path: Path) -> None:
    page = written(tmp_path / "r", evaluate(regression(n=400)), human=0.7)
    names = {path.stem for path in (tmp_path / "r" / "figures").iterdir()}
    assert "system-error" in names
    assert "answered-error" not in names
    assert "Somebody with a mean error of 0.7" in page


@pytest.mark.parametrize("human", [-1.0, np.nan, np.inf])
def test_a_human_error_that_is_none_is_refused(human: float, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="human_error is"):
        written(tmp_path / "r", evaluate(regression(n=30)), human=human)


def test_a_rise_of_the_answered_error_has_a_sign(tmp_path: Path) -> None:
    errors = np.r_[np.full(95, 2.0), np.full(5, 1.0)]
    column = {"error": ErrorColumn(errors, "m", None)}
    page = written(tmp_path / "r", evaluate(constant(errors=column, measures={"u": np.arange(100.0)})))
    assert re.search(r">\+3\u202f% against all<", page)


@pytest.mark.parametrize("n", [1, 7, 400])
def test_line_and_dot_of_f1_stand_at_one_place(n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, Any, Any]] = []
    original = retention_sections.charts.lines

    def lines(frame: Any, series: Any, marks: Any = (), upright: Any = None) -> Any:
        seen.append((frame.name, marks[0].x, upright))
        return original(frame, series, marks, upright)

    monkeypatch.setattr(retention_sections.charts, "lines", lines)
    judged = constant(errors={"error": ErrorColumn(np.full(n, 0.5), "m", 1.0)}, measures={"u": np.arange(n) * 1.0})
    written(tmp_path / "r", evaluate(judged))
    assert [name for name, *_ in seen if name.startswith("f1")] == ["f1-retention-full"]
    assert all(place == upright for _, place, upright in seen)
