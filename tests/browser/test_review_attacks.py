"""Markup and scripts in names: columns, units, classes, files and reasons stand on the console's pages as text."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import httpx
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import demur
from models.schema import Feature, Schema
from models.tasks.vessel.spec import POWER
from services.cli import main
from services.labels.label_types import ROW_TYPE
from tests.browser.chromium import Page, chromium, installed
from tests.browser.views import complaints, foreign_requests, log_in
from tests.services.review.consoles import Consoles, consoles
from tests.services.review.stub_service import Prepared, StubService, console_beside

pytestmark = pytest.mark.long

RUN = "window.ran=1"
IMAGE = f"<img src=x onerror={RUN}>"
SCRIPT = f"'><script>{RUN}</script>"
QUOTED = f'"><img src="x" onerror="{RUN}">'
NUMBERS = (IMAGE, SCRIPT, f"javascript:{RUN}", f"${{{RUN}}}", "constructor", "__proto__")
"""Columns of numbers; the last two are properties that every object of the page has."""
TEXTS = f"' onfocus={RUN} autofocus='"
CATEGORIES = (f"<svg onload={RUN}>", "</td></table>")
CLASSES = (f"</label><iframe srcdoc='<script>parent.{RUN}</script>'>", f'<a href="javascript:{RUN}">yes</a>')
CLASS_LABEL = f"<script>{RUN}</script> or not"
UNIT = f"<b onclick={RUN}>kg</b>"
DESCRIPTION = f'"><details open ontoggle={RUN}>'
CHOICE, AMOUNT = "toString", "amount"
"""Heads: the most hostile name that is accepted, and one of a number, whose labels are in the column ``QUOTED``."""
ROWS = 40
PATHS = ("/static/", "/api/")
"""Beginnings of what the console's pages load."""


@dataclass(frozen=True)
class Attacked:
    """Console beside a service whose model has hostile names."""

    running: Consoles
    service: str
    """URL of the service."""


def table(rows: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return rows and their labels."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({name: random.normal(size=rows).astype(np.float32) for name in NUMBERS})
    frame[TEXTS] = np.array(CATEGORIES)[random.integers(0, 2, rows)]
    value = frame[IMAGE] + (frame[TEXTS] == CATEGORIES[0]) + 0.3 * random.normal(size=rows)
    return frame, pd.DataFrame({CHOICE: np.where(value > 0, *CLASSES), QUOTED: value})


def schema(names: tuple[str, str] = (CHOICE, AMOUNT)) -> str:
    """Return the schema of the model; ``names`` are those of its heads."""
    quoted = json.dumps
    columns = [
        f"[[columns]]\nname = {quoted(name)}\nunit = {quoted(UNIT)}\ndescription = {quoted(DESCRIPTION)}\n"
        "lower = -100.0\nupper = 100.0"
        for name in NUMBERS
    ]
    columns.append(f"[[columns]]\nname = {quoted(TEXTS)}\ncategories = {quoted(list(CATEGORIES))}")
    targets = [
        f"[[targets]]\ncolumn = {quoted(CHOICE)}\nname = {quoted(names[0])}\nkind = 'classification'\n"
        f"label = {quoted(CLASS_LABEL)}",
        f"[[targets]]\ncolumn = {quoted(QUOTED)}\nname = {quoted(names[1])}\nkind = 'regression'\n"
        f"unit = {quoted(UNIT)}",
    ]
    return "\n".join(columns + targets)


def build(home: Path, text: str, name: str = "hostile") -> None:
    frame, labels = table(600, 0)
    models = {
        target: make_pipeline(
            make_column_transformer((OneHotEncoder(), [TEXTS]), remainder="passthrough"), estimator
        ).fit(frame, labels[target])
        for target, estimator in ((CHOICE, LogisticRegression()), (QUOTED, LinearRegression()))
    }
    path = home / "schema.toml"
    path.write_text(text)
    calibration, truth = table(600, 1)
    demur.build(models, calibration, truth, name=name, schema=path, home=home)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """All rows are requests; their inputs lie in files whose names are hostile."""
    home, inputs = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("inputs")
    build(home, schema())
    settings = {"AUDIT_RATE": "1", "KEEP_PAYLOAD": "off", "INPUTS": str(inputs), "DRAFTS": "1"}
    with consoles(home, (), **{f"DEMUR_HOSTILE_{name}": value for name, value in settings.items()}) as running:
        running.start("serve", "rows", "--model", "hostile")
        service = f"http://127.0.0.1:{3021 + running.offset}"
        running.ready(service)
        frame, _ = table(ROWS, 2)
        answer = httpx.post(f"{service}/v1/predict", json={"rows": frame.to_dict("records")}, timeout=60)
        assert answer.status_code == 200, answer.text
        for head in (CHOICE, AMOUNT):
            for row, unit in enumerate(answer.json()[head]["prediction_ids"]):
                values = [*frame[list(NUMBERS)].iloc[row], CATEGORIES.index(frame[TEXTS][row])]
                (inputs / f"{unit}.{QUOTED}").write_bytes(np.array(values, "<f4").tobytes())
        yield Attacked(running, service)


@contextmanager
def harmless(url: str) -> Iterator[Page]:
    """A page on which nothing runs and nothing is loaded that the console does not bring."""
    with chromium(installed()) as page:
        yield page
        assert page.value("window.ran") is None
        assert page.named("Page.javascriptDialogOpening") == []
        refused = [one for one in complaints(page) if one.get("entry", {}).get("source") != "network"]
        assert refused == [], "nor is anything stopped by the policy alone"
        assert foreign_requests(page, url) == []
        paths = [urlsplit(str(event["request"]["url"])).path for event in page.named("Network.requestWillBeSent")]
        assert [path for path in paths if not path.startswith(PATHS) and path not in ("/", "")] == []


def text(page: Page) -> str:
    shown: str = page.value("document.body.innerText")
    return shown


def elements(page: Page) -> int:
    """Return the number of elements that only a name could have brought."""
    names = "img, svg, iframe, body script, b[onclick], main.review details, a[href^=javascript]"
    number: int = page.value(f"document.querySelectorAll('{names}').length")
    return number


def test_names_of_a_model_are_text_wherever_they_are_shown(attacked: Attacked) -> None:
    with harmless(attacked.running.url) as page:
        log_in(page, attacked.running.url)
        assert CLASS_LABEL in text(page)
        page.value(f"location.hash = '#/review/hostile/{CHOICE}/blind'")
        page.until("document.querySelectorAll('.classes input').length === 2")
        shown = text(page)
        for name in (*NUMBERS, TEXTS, *CLASSES, CLASS_LABEL, UNIT, DESCRIPTION):
            assert name in shown, name
        assert any(name in shown for name in CATEGORIES)
        titles = page.value("[...document.querySelectorAll('.columns-table tr[title]')].map(row => row.title)")
        assert titles[: len(NUMBERS)] == [DESCRIPTION] * len(NUMBERS)
        assert page.value("document.querySelectorAll('.range').length") == len(NUMBERS), "with their training ranges"
        assert QUOTED not in shown, "reviewers do not learn the file of an input"
        assert elements(page) == 0
        page.press("1")
        page.press("Enter")
        page.until("document.querySelector('.outbox li')")
        page.press("r")
        page.until("document.querySelector('.reveal')", 30)
        assert page.value("document.querySelector('.reveal dd').innerText") == CLASSES[0]
        assert elements(page) == 0
        page.value(f"location.hash = '#/review/hostile/{AMOUNT}/drafts'")
        page.until("document.querySelector('#label')")
        page.press("a")
        page.until("document.querySelector('#label').value !== ''")
        page.press("Enter")
        page.until("[...document.querySelectorAll('.outbox .summary')].some(line => line.innerText.includes('kg'))")
        assert UNIT in text(page)
        assert elements(page) == 0


def test_columns_named_like_properties_have_no_range_unless_training_had_one() -> None:
    columns = Schema.of(Feature(name, "1", 0, 1, name) for name in NUMBERS)
    row = Prepared.small(ROW_TYPE, np.full(len(columns), 0.5, "<f4").tobytes(), columns)
    with (
        console_beside({"made": StubService(POWER, [row] * 4, schema=columns, trained=None)}) as url,
        harmless(url) as page,
    ):
        log_in(page, url)
        page.value(f"location.hash = '#/review/made/{POWER.name}/blind'")
        page.until("document.querySelector('.columns-table')")
        assert page.value("document.querySelectorAll('.columns-table tbody tr').length") == len(NUMBERS)
        assert page.value("document.querySelectorAll('.range').length") == 0


def test_reasons_and_notes_are_text(attacked: Attacked) -> None:
    with harmless(attacked.running.url) as page:
        log_in(page, attacked.running.url)
        page.value(f"location.hash = '#/review/hostile/{AMOUNT}/blind'")
        for key, words in (("s", f"{SCRIPT}{QUOTED}"), ("f", QUOTED)):
            page.until("document.activeElement && document.activeElement.id === 'label'")
            page.press(key)
            page.until("document.querySelector('dialog[open] textarea')")
            page.value("document.querySelector('dialog[open] textarea').focus()")
            page.type(words)
            page.press("Enter", "Control")
            page.until("!document.querySelector('dialog[open]')")
        page.until("document.querySelector('.message').innerText.includes('kept')")
        page.press("Enter", "Shift")
        page.until("document.querySelector('.outbox li.sent')")
        assert f"skipped: {SCRIPT}{QUOTED}" in text(page)
        assert elements(page) == 0


def test_names_in_an_address_are_text(attacked: Attacked) -> None:
    """A link that somebody else made: no service and no head of that name."""
    with harmless(attacked.running.url) as page:
        log_in(page, attacked.running.url)
        for place in (IMAGE, QUOTED, "__proto__", f"javascript:{RUN}"):
            page.value(f"location.hash = '#/review/' + encodeURIComponent({json.dumps(place)})")
            page.until("document.querySelector('[role=alert]')")
            assert place in text(page)
            assert elements(page) == 0


def test_label_studio_gets_names_as_text(
    attacked: Attacked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEMUR_HOME", str(attacked.running.home))
    path, config = tmp_path / f"{QUOTED}.json", tmp_path / "config.xml"
    words = ["--url", attacked.service]
    export = ["review", "export", "hostile", "-o", str(path), "--config", str(config), "--head", CHOICE, "--count", "2"]
    assert main([*export, *words]) == 0
    root = ElementTree.fromstring(config.read_text())
    assert root.find("Header").attrib == {"value": CLASS_LABEL}  # type: ignore[union-attr]
    assert {choice.attrib["value"] for choice in root.iter("Choice")} == set(CLASSES)
    tasks = json.loads(path.read_bytes())
    assert all(f"{name} ({UNIT})" in task["data"]["columns"] for task in tasks for name in NUMBERS)
    for value, task in zip((CLASSES[0], IMAGE), tasks, strict=True):
        result = {
            "id": "1",
            "from_name": "label",
            "to_name": "columns",
            "type": "choices",
            "value": {"choices": [value]},
        }
        task |= {"id": 1, "annotations": [{"id": 1, "completed_by": 1, "result": [result], "was_cancelled": False}]}
    path.write_text(json.dumps(tasks))
    capsys.readouterr()
    assert main(["review", "import", "hostile", str(path), "--json", *words]) == 1
    accepted, refused = json.loads(capsys.readouterr().out)["annotations"]
    assert accepted["outcome"] == "accepted"
    assert refused["outcome"] == "refused"
    assert IMAGE in refused["message"]


@pytest.mark.parametrize("name", [IMAGE, f"javascript:{RUN}", "constructor\n", "../review"])
def test_a_model_of_such_a_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"name = .*: must be small letters and digits"):
        build(tmp_path, schema(), name)


@pytest.mark.parametrize("name", [IMAGE, SCRIPT])
def test_a_reviewer_of_such_a_name_is_refused(attacked: Attacked, name: str) -> None:
    with harmless(attacked.running.url) as page:
        page.visit(attacked.running.url)
        page.until("document.activeElement && document.activeElement.id === 'login'")
        page.type(name)
        page.press("Enter")
        page.until("document.querySelector('[role=alert]')")
        assert "name" in page.value("document.querySelector('[role=alert]').innerText")
        assert elements(page) == 0
