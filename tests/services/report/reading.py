"""Writing a report and reading its page as a browser would."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from html.parser import HTMLParser
from pathlib import Path

import pytest

from models.evaluation.compare import Comparison
from models.evaluation.evaluate import Evaluation
from services.report import charts, drawing, write_report

VOID = {"meta", "link", "br", "hr", "img", "input"}


def quiet(share: float, note: str) -> None:
    assert 0 <= share <= 1
    assert note


@contextmanager
def page_alone() -> Iterator[None]:
    """Draw figures for the page only: their files stay empty, and a report takes a third of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charts, "chart", lambda *frame, **options: drawing.chart(*frame, **{**options, "files": False}))
        yield


def written(
    folder: Path,
    *evaluations: Evaluation,
    comparison: Comparison | None = None,
    human: float = 0.9,
    files: bool = False,
) -> str:
    """Write a report and return its page; without ``files`` the figures beside it are empty."""
    with nullcontext() if files else page_alone():
        return write_report(folder, evaluations, comparison, human, quiet).read_text(encoding="utf-8")


class Reader(HTMLParser):
    """Checks that tags nest; collects tables, ids and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tables: dict[str, list[tuple[str, list[list[float]]]]] = {}
        self.text: list[str] = []
        self._caption, self._row, self._head, self._cells = "", "", False, list[list[float]]()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        if values.get("id"):
            self.ids.append(str(values["id"]))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "th":
            assert values.get("scope") in ("row", "col")
            self._head = values["scope"] == "row"
        if tag == "tr":
            self._row, self._cells = "", []
        if tag == "td":
            self._cells.append([])
        if tag == "data":
            self._cells[-1].append(float(str(values["value"])))

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag == "caption":
            self.tables.setdefault(self._caption, [])
        if tag == "th":
            self._head = False
        if tag == "tr" and self._row:
            self.tables[self._caption].append((self._row, self._cells))

    def handle_data(self, data: str) -> None:
        if "caption" in self.open:
            self._caption = data
        if self._head:
            self._row += data
        if "script" not in self.open and "style" not in self.open:
            self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader
