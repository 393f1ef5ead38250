"""The console's pages and dialogs by the rules of WCAG 2.2 AA: both themes, wide and narrow, every view of inputs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from models.schema import Feature, Schema
from models.tasks.lesion.spec import LESIONS
from models.tasks.motion.spec import TRAJECTORIES
from models.tasks.translation.spec import HYPOTHESES
from models.tasks.vessel.data.table import FEATURES as SHIP_COLUMNS
from models.tasks.vessel.spec import POWER
from models.tasks.weather.data.features import SCHEMA as STATION
from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE
from services.labels.label_types import ROW_TYPE
from tests.browser.accessibility import WIDTHS, check
from tests.browser.chromium import Page, chromium, installed
from tests.browser.test_lesion_view import scan_file
from tests.browser.test_motion_view import DRAFT, a_street
from tests.browser.views import NO_WEBGL2, foreign_requests, log_in
from tests.services.review.consoles import SITUATION
from tests.services.review.stub_service import Prepared, StubService, console_beside

pytestmark = pytest.mark.long

SHIP = Schema(SHIP_COLUMNS)
PLACES = Schema.of(
    (
        Feature("latitude", "°", -90, 90, "Latitude of the station."),
        Feature("longitude", "°", -180, 180, "Longitude of the station."),
        Feature("pressure", "hPa", 800, 1100, "Pressure at sea level.", nullable=True),
        Feature("ground", "1", 0, 1, "Kind of the ground.", values=(0.0, 1.0), categories=("rock", "sand")),
    )
)
LINES = ("The committee met on Tuesday.", "Комитет собрался во вторник.", "Комитет встретился во вторник, днём.")
HEADS = {
    "stations": PRECIPITATION,
    "vessel": POWER,
    "weather": TEMPERATURE,
    "translation": HYPOTHESES,
    "motion": TRAJECTORIES,
    "lesion": LESIONS,
}
STYLE = """(rule => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rule);
  document.adoptedStyleSheets = [sheet];
})"""
FIELD = "document.activeElement && document.activeElement.id === 'label'"


def packed(schema: Schema, values: Mapping[str, float]) -> bytes:
    """Return a row as the ledger keeps it; columns that are not named have a value within their range."""
    row = [values.get(own.name, min(max(own.lower, 1.0), own.upper)) for own in schema.features]
    return np.array(row, "<f4").tobytes()


def stubs() -> dict[str, StubService]:
    """Return services whose requests have a draft and two answers where their view shows them."""
    ship = packed(SHIP, SITUATION)
    station = packed(STATION, {})
    place = packed(PLACES, {"latitude": 54.3, "longitude": 10.1, "pressure": float("nan")})
    text = Prepared.small("text/plain; charset=utf-8", LINES[0].encode(), draft={"texts": LINES[1:]}, answers=LINES[1:])
    return {
        "stations": StubService(
            PRECIPITATION, [Prepared.small(ROW_TYPE, place, PLACES, draft=6, answers=(6, 2))] * 40, schema=PLACES
        ),
        "vessel": StubService(POWER, [Prepared.small(ROW_TYPE, ship, SHIP, draft=31_000.0)] * 40, schema=SHIP),
        "weather": StubService(
            TEMPERATURE, [Prepared.small(ROW_TYPE, station, STATION, draft=4.5)] * 40, schema=STATION
        ),
        "translation": StubService(HYPOTHESES, [text] * 60),
        "motion": StubService(TRAJECTORIES, [Prepared("application/x-protobuf", a_street(), DRAFT)] * 40),
        "lesion": StubService(LESIONS, [Prepared("application/x-nifti", scan_file("LPS"))] * 40),
    }


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with console_beside(stubs()) as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    """One for all tests: its start takes longer than most of them."""
    with chromium(installed(), webgl=True) as tab:
        yield tab


@pytest.fixture
def page(browser: Page, url: str) -> Iterator[Page]:
    """A page on which nobody is logged in."""
    browser.call("Network.clearBrowserCookies")
    yield browser
    assert foreign_requests(browser, url) == []


@dataclass(frozen=True)
class View:
    """View of a task's inputs, and how it is shown to hold something."""

    task: str
    shown: str = FIELD
    """Expression that is true once the input is on the screen."""
    queue: str = "blind"
    keys: str = ""
    """Keys that change what is shown."""
    widths: tuple[int, ...] = WIDTHS[:1]


VIEWS = {
    "rows": View(
        "stations",
        "document.querySelector('.classes input') && document.querySelector('figure canvas')",
        keys="3",
        widths=WIDTHS,
    ),
    "rows, two labels": View("stations", "document.querySelector('.two button')", "adjudication"),
    "vessel": View("vessel", keys="-5"),  # which is not possible, and said so
    "weather": View("weather", keys="21"),
    "translation": View("translation", widths=WIDTHS),
    "translation, drafts": View("translation", "document.querySelector('.proposals')", "drafts"),
    "translation, two labels": View("translation", "document.querySelector('.two button')", "adjudication"),
    "motion": View("motion", "document.querySelector('canvas.scene')", keys="]d"),
    "motion, drafts": View("motion", "document.querySelector('canvas.scene')", "drafts", keys="2"),
    "lesion": View("lesion", "document.querySelector('.lesion[data-ready=yes]')", keys="2 "),
}


def opened(page: Page, url: str, view: View) -> None:
    log_in(page, url)
    page.value(f"location.hash = '#/review/{view.task}/{HEADS[view.task].name}/{view.queue}'")
    page.until(view.shown, 60)
    page.type(view.keys)


BROKEN = {
    "document.querySelector('label[for=login]').removeAttribute('for')": "critical label",
    f"{STYLE}('h1 {{ color: #777; background: #888 }}')": "serious color-contrast",
    f"{STYLE}('h1 {{ min-width: 330px }}')": "px wide in a window of 320 px",
}
"""Changes that break the login page, with the finding of each."""


def test_what_is_wrong_is_found(page: Page, url: str) -> None:
    for change, finding in BROKEN.items():
        page.visit(url)
        page.until("document.querySelector('#login')")
        page.value(change)
        with pytest.raises(AssertionError, match=finding):
            check(page, "login", WIDTHS[:1])


def test_login(page: Page, url: str) -> None:
    page.visit(url)
    page.until("document.querySelector('#login')")
    check(page, "login")
    page.type("<b>")
    page.press("Enter")
    page.until("document.querySelector('[role=alert]')")
    check(page, "login, refused")


def test_queue(page: Page, url: str) -> None:
    log_in(page, url)
    page.until("document.querySelectorAll('.rows .row').length > 10")
    check(page, "queue")


@pytest.mark.parametrize("name", VIEWS)
def test_view(page: Page, url: str, name: str) -> None:
    opened(page, url, VIEWS[name])
    check(page, name, VIEWS[name].widths)


def test_slices_without_webgl(page: Page, url: str) -> None:
    script = page.call("Page.addScriptToEvaluateOnNewDocument", source=NO_WEBGL2)
    try:
        opened(page, url, VIEWS["lesion"])
        check(page, "lesion without WebGL2", WIDTHS[:1])
    finally:
        page.call("Page.removeScriptToEvaluateOnNewDocument", **script)


def test_dialogs_and_what_follows_an_answer(page: Page, url: str) -> None:
    opened(page, url, VIEWS["translation"])
    page.press("?", "Alt")
    page.until("document.querySelector('dialog[open] table.keys')")
    check(page, "help", WIDTHS)
    page.press("Escape")
    page.until("!document.querySelector('dialog[open]')")
    for key in "fs":
        page.press(key, "Alt")
        page.until("document.querySelector('dialog[open] textarea')")
        check(page, f"dialog of {key}", WIDTHS[:1])
        page.press("Escape")
        page.until("!document.querySelector('dialog[open]')")
    for text in ("one", "two"):
        page.type(text)
        page.press("Enter", "Control")
        page.until("document.querySelector('#label').value === ''")
    page.press("Enter", "Control")
    page.until("document.querySelector('.message').innerText.length > 0")
    page.press("r", "Alt")
    page.until("document.querySelector('.reveal')")
    check(page, "reveal", WIDTHS)
