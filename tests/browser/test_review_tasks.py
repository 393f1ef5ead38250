"""The console beside the real service of each task: claim, decide, undo, send, by keys alone; resolved at the caller.

``DEMUR_SHOTS=FOLDER`` keeps a screenshot of each view in both themes.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import select

import demur
from services.ledger.database import Database
from services.ledger.tables import item
from services.ledger.unit_ids import unit_text
from tests.browser import accessibility
from tests.browser.chromium import Page, chromium, installed
from tests.browser.views import complaints, foreign_requests, log_in
from tests.services.review.consoles import PROJECT, SITUATION, Consoles, consoles

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

LINES = (
    "The committee met on Tuesday, and nobody had read the report.",
    "He opened the door. She was not there!",
    "Prices rose by 4.5% in the third quarter, the ministry said.",
)
_ANSWERS = "document.querySelectorAll('.outbox li').length"
_SENT = "document.querySelector('.outbox li.sent')"
_READY_SECONDS = 240.0


@dataclass(frozen=True)
class Case:
    """A task with the requests of its caller, and the keys of its reviewer."""

    task: str
    head: str
    ports: int
    """Offset of the service's ports from 3000 and 4000."""
    send: Callable[[Consoles, Path], None]
    shown: str
    """Expression that is true once the input is on the screen."""
    keys: tuple[tuple[str, ...], ...]
    """Keys of an answer, each with its modifiers."""
    submit: tuple[str, ...] = ("Enter",)
    command: tuple[str, ...] = ()
    """Modifiers of keys of commands, which texts need."""
    webgl: bool = False


def _simulated(running: Consoles, task: str, folder: Path, *more: str) -> Path:
    words = [sys.executable, "-m", "services.cli", "data", task, "simulate", *more, "--out", str(folder / task)]
    subprocess.run(words, cwd=PROJECT, env=running.environment, check=True, capture_output=True)
    return folder / task


def _grpc(running: Consoles, ports: int) -> str:
    return f"127.0.0.1:{4000 + ports + running.offset}"


def _vessel(running: Consoles, folder: Path) -> None:
    rows = [SITUATION | {"awind_vcomp_provider": 40.0 + number} for number in range(5)]
    httpx.post(f"{running.vessel}/v1/predict", json={"rows": rows}, timeout=60).raise_for_status()


def _weather(running: Consoles, folder: Path) -> None:
    path = _simulated(running, "weather", folder, "--scale", "0.0005") / "eval_in.csv"
    names, *lines = path.read_text().splitlines()
    columns = names.split(",")
    with demur.connect(_grpc(running, 1)) as client:
        features = [feature.name for feature in client.weather.describe().features]
        cells = [dict(zip(columns, line.split(","), strict=True)) for line in lines[:5]]
        client.weather.predict({name: np.array([float(row[name] or "nan") for row in cells]) for name in features})


def _translation(running: Consoles, folder: Path) -> None:
    with demur.connect(_grpc(running, 2)) as client:
        client.translation.predict("\n".join(LINES))


def _motion(running: Consoles, folder: Path) -> None:
    data = _simulated(running, "motion", folder, "--scale", "0.01", "--cities", "AnnArbor")
    with demur.connect(_grpc(running, 3)) as client:
        for scene in sorted((data / "eval_pb").rglob("*.pb"))[:3]:
            client.motion.predict(scene)


def _lesion(running: Consoles, folder: Path) -> None:
    data = _simulated(running, "lesion", folder, "--scale", "0.01", "--sites", "site_b")
    (scan,) = (data / "site_b" / "eval_in" / "flair").iterdir()
    with demur.connect(_grpc(running, 4)) as client:
        client.lesion.predict(scan)


_FIELD = "document.activeElement && document.activeElement.id === 'label'"
CASES = (
    Case("vessel", "power", 5, _vessel, _FIELD, tuple((key,) for key in "31250")),
    Case("weather", "temperature", 1, _weather, _FIELD, tuple((key,) for key in "21.5")),
    Case("translation", "hypotheses", 2, _translation, _FIELD, (("A",), ("b",)), ("Enter", "Control"), ("Alt",)),
    Case(
        *("motion", "trajectories", 3, _motion),
        "document.querySelector('canvas.scene') && document.querySelector('.motion')",
        (*[("ArrowLeft",)] * 4, ("ArrowUp",)),
    ),
    Case(
        *("lesion", "lesions", 4, _lesion, "document.querySelector('.lesion[data-ready=yes]')"),
        (("2",), (" ",), (".",), (" ",)),
        webgl=True,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.task)
def test_a_reviewer_decides_undoes_and_sends(case: Case, tmp_path: Path) -> None:
    name = case.task.upper()
    settings = {"DEMUR_AUDIT_RATE": "1", f"DEMUR_{name}_KEEP_PAYLOAD": "on", f"DEMUR_{name}_DRAFTS": "1"}
    home = tmp_path / "home"
    home.mkdir()
    with consoles(home, (case.task,), **settings) as running:
        running.ready(f"http://127.0.0.1:{3000 + case.ports + running.offset}", _READY_SECONDS)
        case.send(running, tmp_path)
        with chromium(installed(), webgl=case.webgl) as page:
            log_in(page, running.url)
            _labelled(page, case)
            assert (complaints(page), foreign_requests(page, running.url)) == ([], [])
        resolved = [own for own in _resolutions(running, case) if own["status"] == "resolved"]
        assert len(resolved) == 1, "at the caller, once"


def _labelled(page: Page, case: Case) -> None:
    page.value(f"location.hash = '#/review/{case.task}/{case.head}/blind'")
    page.until(case.shown, 90)
    time.sleep(1)
    for key in case.keys:
        page.press(*key)
    _shots(page, case)
    _accessible(page, case.task)
    page.press(*case.submit)
    page.until(f"{_ANSWERS} === 1")
    time.sleep(0.5)
    page.press("Backspace", *case.command)
    page.until(f"{_ANSWERS} === 0")
    page.until(case.shown, 60)
    time.sleep(0.5)
    page.press(*case.submit)
    page.until(f"{_ANSWERS} === 1")
    page.press("Enter", "Shift", *case.command)
    page.until(_SENT, 30)
    page.press("r", *case.command)
    page.until("document.querySelector('.reveal')", 30)
    _shots(page, case, "-reveal")
    _accessible(page, f"{case.task}, reveal")


def _accessible(page: Page, where: str) -> None:
    """Check the page by axe-core, where it is installed; ``test_accessibility.py`` requires it."""
    if accessibility.SCRIPT.is_file():
        accessibility.check(page, where)


def _shots(page: Page, case: Case, end: str = "") -> None:
    folder = os.environ.get("DEMUR_SHOTS")
    if not folder:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        page.value(f"document.documentElement.dataset.theme = '{theme}'")
        time.sleep(0.6)
        page.screenshot(Path(folder) / f"{case.task}{end}-{theme}.png")
    page.value("document.documentElement.dataset.theme = 'light'")


def _resolutions(running: Consoles, case: Case) -> list[dict[str, Any]]:
    engine = Database(f"sqlite:///{running.home / 'ledger' / f'{case.task}.db'}").reading()
    with engine.connect() as connection:
        units = [(row.epoch, row.sequence) for row in connection.execute(select(item).where(item.c.head == case.head))]
    engine.dispose()
    base = f"http://127.0.0.1:{3000 + case.ports + running.offset}"
    return [httpx.get(f"{base}/v1/units/{unit_text(unit)}/resolution").json() for unit in units]
