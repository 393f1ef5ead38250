"""The report of ``demur evaluate``: one page to look at, made of evaluations."""

from services.report.write import write_report

__all__ = ["write_report"]
