"""Report of ``demur evaluate``: an HTML page of evaluations, with its figures as files."""

from services.report.write import write_report

__all__ = ["write_report"]
