"""Measured figures, their targets, and how they are shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One measured number."""

    part: str
    name: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.at_most is not None:
            return self.value <= self.at_most
        if self.at_least is not None:
            return self.value >= self.at_least
        return None

    @property
    def target(self) -> str:
        if self.at_most is not None:
            return f"≤ {self.at_most:g}"
        return f"≥ {self.at_least:g}" if self.at_least is not None else ""


def plain(figures: Iterable[Figure]) -> list[dict[str, Any]]:
    """As JSON values."""
    return [asdict(figure) | {"met": figure.met} for figure in figures]


def table(figures: Iterable[Figure]) -> str:
    """One line a figure, parts under their headings."""
    lines: list[str] = []
    part = ""
    for figure in figures:
        if figure.part != part:
            part = figure.part
            lines += ["", part]
        verdict = {True: "met", False: "MISSED", None: ""}[figure.met]
        lines.append(
            f"  {figure.name:<46} {_number(figure.value):>10} {figure.unit:<10} {figure.target:<8} {verdict:<7}"
            f"{figure.note}".rstrip()
        )
    return "\n".join(lines)


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"
