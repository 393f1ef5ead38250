"""Accessibility of a page by axe-core, at every width and in both themes."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import Page

_PROJECT = Path(__file__).resolve().parents[2]
SCRIPT = Path(os.environ.get("DEMUR_AXE", _PROJECT / ".axe" / "axe_playwright_python" / "axe.min.js"))
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
"""Rules of WCAG 2.2, levels A and AA."""
SERIOUS = ("serious", "critical")
WIDTHS = (1280, 390)
REFLOW_PX = 320
"""Width at which nothing but tables and pictures may need scrolling to the side (WCAG 1.4.10)."""
_RUN = """axe.run({runOnly: {type: "tag", values: TAGS}, rules: {"label-content-name-mismatch": {enabled: true}},
  preload: false, resultTypes: ["violations"]}).then((result) => result.violations)""".replace("TAGS", str(list(TAGS)))
"""Names that differ from what a button shows are a rule of level A, which axe-core calls experimental."""


@dataclass(frozen=True)
class Finding:
    """Elements that break a rule."""

    where: str
    rule: str
    impact: str
    elements: tuple[str, ...]
    """Each with its selector, its source and what is wrong."""

    def __str__(self) -> str:
        return f"{self.where}: {self.impact} {self.rule}" + "".join(f"\n    {element}" for element in self.elements)


def script() -> str:
    """Return the source of axe-core; the test is skipped where it is not installed, and fails in CI."""
    if not SCRIPT.is_file():
        missing = f"no axe-core at {SCRIPT}: run `make .axe/ready`, or set DEMUR_AXE to an axe.min.js"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return SCRIPT.read_text()


def check(page: Page, where: str, widths: Sequence[int] = WIDTHS) -> None:
    """Assert that a page has no serious finding at these widths in both themes; print the lesser ones.

    Args:
        where: name of the page or its state.
        widths: widths of the window, pixels; the page is left at the first one.
    """
    _resize(page, REFLOW_PX)
    wide = page.value("document.documentElement.scrollWidth")
    findings = []
    for width in (*reversed(widths[1:]), widths[0]):
        _resize(page, width)
        for theme in ("dark", "light"):
            page.value(f"document.documentElement.dataset.theme = '{theme}'")
            time.sleep(0.15)  # colours change over a tenth of a second
            findings += _findings(page, f"{where}, {width} px, {theme}")
    for finding in findings:
        print(finding)
    serious = [finding for finding in findings if finding.impact in SERIOUS]
    assert not serious, "\n" + "\n".join(map(str, serious))
    assert wide <= REFLOW_PX, f"{where}: the page is {wide} px wide in a window of {REFLOW_PX} px"


def _resize(page: Page, width: int) -> None:
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)


def _findings(page: Page, where: str) -> list[Finding]:
    if not page.value("Boolean(window.axe)"):
        page.value(f"{script()}; null")  # the page's own policy admits no script of ours; DevTools is not bound by it
    violations: list[dict[str, Any]] = page.awaited(_RUN)
    return [_finding(where, each) for each in violations]


def _finding(where: str, rule: dict[str, Any]) -> Finding:
    elements = (
        f"{' '.join(map(str, node['target']))}: {node['html'][:160]}: {node['failureSummary']}".replace("\n", " ")
        for node in rule["nodes"]
    )
    return Finding(where, rule["id"], rule["impact"], tuple(elements))
