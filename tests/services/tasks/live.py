"""Figures of a ledger as the monitor tells them, and those of ``demur evaluate``."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from models.live.window_evaluator import WindowResult
from services.cli import main
from services.monitor.snapshot import Snapshot
from tests.services.monitor.watching import Watch


def watched(task: str, home: Path, **options: Any) -> Snapshot:
    """What a monitor publishes of the ledger of a task."""
    watch = Watch(f"sqlite:///{home / 'ledger' / f'{task}.db'}", now=time.time() + 2, **options)
    try:
        return watch.at()
    finally:
        watch.monitor.close()


def judged(task: str, home: Path) -> dict[str, WindowResult]:
    """Source to the judgement of the last day, of a task with one head."""
    return {window.source: window for window in watched(task, home).windows if window.window == "1d"}


def evaluated(task: str, capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """Figures by measure, as ``demur evaluate`` prints them."""
    capsys.readouterr()
    assert main(["evaluate", "--task", task, *map(str, arguments), "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out)["measures"])
