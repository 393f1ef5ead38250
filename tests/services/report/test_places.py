"""Where a report is written, and what stays when it cannot be."""

from pathlib import Path

import pytest

from models.evaluation.evaluate import evaluate
from models.evaluation.unit_errors import BadFile
from tests.services.report.reading import written
from tests.services.report.simulated import constant, regression


def test_files_of_different_errors_are_refused(tmp_path: Path) -> None:
    files = [evaluate(constant()), evaluate(regression(n=50))]
    with pytest.raises(BadFile, match="one report needs one error"):
        written(tmp_path / "r", *files)
    with pytest.raises(ValueError, match="at least one"):
        written(tmp_path / "r")
    assert not (tmp_path / "r").exists()


@pytest.mark.long
def test_an_earlier_report_is_replaced_and_other_files_stay(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    written(folder, evaluate(regression(n=50)))
    (folder / "mine.txt").write_text("kept")
    page = written(folder, evaluate(regression(n=60, domains=False)))
    assert "60 units" in page
    assert not (folder / "figures" / "error-retention-in.svg").exists()
    assert sorted(path.name for path in folder.iterdir()) == ["figures", "mine.txt", "report.html"]


@pytest.mark.slow
def test_a_failure_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "r"
    earlier = written(folder, evaluate(regression(n=50)))
    original = Path.write_bytes

    def fails(path: Path, data: bytes) -> int:
        if path.suffix == ".png":
            raise OSError("disk full")
        return original(path, data)

    monkeypatch.setattr(Path, "write_bytes", fails)
    for target in (folder, tmp_path / "new"):
        with pytest.raises(OSError, match="disk full"):
            written(target, evaluate(regression(n=60)))
    assert (folder / "report.html").read_text() == earlier
    assert (folder / "figures" / "error-retention-in.svg").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
    assert len(list(folder.iterdir())) == 2
