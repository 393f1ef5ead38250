"""The review console as a browser shows it, driven by keys alone beside a real service."""

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browser import accessibility
from tests.browser.chromium import Page, chromium, installed
from tests.browser.views import complaints, foreign_requests, log_in, stored
from tests.services.review.consoles import SITUATION, Consoles, consoles

pytestmark = pytest.mark.long

BLIND_WORDS = ("prediction", "uncertainty", "decision", "propensity", "audit", "threshold", "evidence", "knowledge")
"""Names that must not occur in anything that a browser gets of a unit before its label."""


@pytest.fixture
def page() -> Iterator[Page]:
    with chromium(installed()) as tab:
        yield tab


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Consoles]:
    settings = {"DEMUR_AUDIT_RATE": "0.5", "DEMUR_VESSEL_DRAFTS": "1"}
    with consoles(tmp_path_factory.mktemp("home"), **settings) as started:
        started.situations(120)
        yield started


def start(page: Page, queue: str = "blind") -> None:
    page.value(f"location.hash = '#/review/vessel/power/{queue}'")
    page.until("document.activeElement && document.activeElement.id === 'label'")


def answers(page: Page) -> list[str]:
    """Lines of the last answers, the newest first."""
    lines: list[str] = page.value("[...document.querySelectorAll('.outbox li')].map(line => line.innerText)")
    return lines


def labelled(running: Consoles) -> int:
    """Number of labels in the vessel's ledger."""
    counts = httpx.get(f"{running.vessel}/v1/requests").json()["heads"]
    return int(counts["power"]["labelled"])


def test_one_label_by_keys_alone_reaches_the_caller(page: Page, running: Consoles) -> None:
    log_in(page, running.url)
    before = labelled(running)
    for _ in range(40):  # to the button of the only head
        page.press("Tab")
        if page.value("document.activeElement.classList.contains('main')"):
            break
    page.press("Enter")
    page.until("document.activeElement && document.activeElement.id === 'label'")
    page.type("90x00")  # letters are commands or nothing, not part of a number
    page.press("Enter")
    page.until("document.querySelectorAll('.outbox li').length === 1")
    assert "9,000 kW" in answers(page)[0]
    page.press("Backspace")
    page.until("document.querySelector('#label').value === '9000'")
    page.type("1")
    page.press("Enter")
    page.until("document.querySelectorAll('.outbox li').length === 1")
    page.press("Enter", "Shift")
    page.until("document.querySelector('.outbox li.sent')")
    assert "90,001 kW" in answers(page)[0]
    page.press("r")
    page.until("document.querySelector('.reveal')")
    assert "predicted" in page.value("document.querySelector('.reveal').innerText")
    page.press("Escape")
    page.press("p")
    page.until("document.querySelector('#label').value === '90001'")
    page.press("Backspace")
    page.press("Enter")
    page.press("Enter", "Shift")
    page.until("[...document.querySelectorAll('.outbox li.sent')].some(line => line.innerText.includes('9,000 kW'))")
    page.press("Escape")
    page.until("location.hash === '#/'")
    assert labelled(running) == before + 1
    assert complaints(page) == []
    assert foreign_requests(page, running.url) == []


def test_theme_and_language_keep_what_is_claimed(page: Page, running: Consoles) -> None:
    log_in(page, running.url, "dora")
    start(page)
    page.type("9123")
    page.value("[...document.querySelectorAll('.bar button')].find(own => /Dark|Light/.test(own.innerText)).click()")
    language = "document.querySelector('.bar select')"
    page.value(f"{language}.value = 'de', {language}.dispatchEvent(new Event('change', {{ bubbles: true }}))")
    page.until("document.documentElement.lang === 'de'")
    assert page.value("document.querySelector('#label').value") == "9123"
    page.value("document.querySelector('#label').focus()")
    page.press("Enter")
    page.press("Enter", "Shift")
    page.until("document.querySelector('.outbox li.sent')")
    page.value(f"{language}.value = 'en', {language}.dispatchEvent(new Event('change', {{ bubbles: true }}))")
    released = [event for event in page.named("Network.requestWillBeSent") if "/release" in event["request"]["url"]]
    assert (released, complaints(page)) == ([], [])


def test_skipping_flagging_giving_back_and_help_by_keys(page: Page, running: Consoles) -> None:
    log_in(page, running.url, "ben")
    start(page)
    page.press("u")
    page.press("s")
    page.until("document.querySelector('dialog[open]')")
    page.press("2")
    page.until("document.querySelectorAll('.outbox li').length === 2")
    page.press("f")
    page.until("document.querySelector('dialog[open] textarea')")
    page.value("document.querySelector('dialog[open] textarea').focus()")
    page.type("<img src=x onerror=alert(1)>")
    page.press("Enter", "Control")
    page.until("document.querySelector('.message').innerText.includes('kept')")
    page.press("?")
    page.until("document.querySelector('dialog[open] table.keys')")
    assert page.value("document.querySelectorAll('dialog table.keys tr').length") >= 12
    page.press("Escape")
    page.until("!document.querySelector('dialog[open]')")
    page.press("g")
    page.until("document.querySelector('dialog[open]')")
    page.press("1")
    page.until("!document.querySelector('dialog[open]')")
    page.press("Enter", "Shift")
    page.until("document.querySelectorAll('.outbox li.sent').length === 2")
    assert complaints(page) == []


def test_a_common_key_must_be_free_in_every_view(page: Page, running: Consoles) -> None:
    log_in(page, running.url, "eva")
    start(page)
    page.press("?")
    change = "[...document.querySelectorAll('dialog .keys button')].find(own => own.ariaLabel.includes('Skip')).click()"
    for key, word in (("x", "in another view"), ("f", "is used for")):
        page.until("document.querySelector('dialog[open] table.keys')")
        page.value(change)
        page.press(key)
        page.until(f"(document.querySelector('dialog [role=alert]') || {{}}).innerText?.includes('{word}')")
    page.value(change)
    page.press("#")
    page.until("[...document.querySelectorAll('dialog .keys kbd')].some(own => own.innerText === '#')")
    page.press("Escape")
    page.until("!document.querySelector('dialog[open]')")
    page.press("#")
    page.until("document.querySelector('dialog[open] textarea')")
    assert complaints(page) == []


def test_a_chosen_request_that_somebody_took_is_told(page: Page, running: Consoles) -> None:
    rows = httpx.get(f"{running.vessel}/v1/requests/waiting", params={"limit": 100}).json()["requests"]
    first, second = [row["request"] for row in rows if row["state"] == "requested"][-2:]
    body = {"count": 1, "requests": [second]}
    assert len(httpx.post(f"{running.vessel}/v1/requests/claim", json=body).json()["requests"]) == 1
    log_in(page, running.url, "finn")
    page.value(f"location.hash = '#/review/vessel/power/blind/{first}'")
    page.until("document.activeElement && document.activeElement.id === 'label'")
    assert not page.value("Boolean(document.querySelector('main [role=alert]'))")
    claims = [json.loads(event["request"]["postData"]) for event in posted(page, "/claim")]
    assert [claim.get("requests") for claim in claims][:1] == [[first]]
    page.press("Escape")
    page.until("location.hash === '#/'")
    page.value(f"location.hash = '#/review/vessel/power/blind/{second}'")
    page.until("(document.querySelector('main [role=alert]') || {}).innerText?.includes('no longer open')")
    page.until("document.activeElement && document.activeElement.id === 'label'")
    page.press("u")
    page.until("!document.querySelector('main [role=alert]')")


def test_a_chosen_request_is_still_on_the_screen_after_a_crash(page: Page, running: Consoles) -> None:
    rows = httpx.get(f"{running.vessel}/v1/requests/waiting", params={"limit": 100}).json()["requests"]
    chosen = [row["request"] for row in rows if row["state"] == "requested"][-1]
    log_in(page, running.url, "hugo")
    page.value(f"location.hash = '#/review/vessel/power/blind/{chosen}'")
    page.until("document.activeElement && document.activeElement.id === 'label'")
    stored = "sessionStorage.getItem(Object.keys(sessionStorage).find(key => key.includes('claimed.vessel')))"
    kept = json.loads(page.until(stored))
    page.value("fetch = () => new Promise(() => {}); Storage.prototype.removeItem = () => {}; true")  # as if it crashed
    page.reload()
    page.until("document.activeElement && document.activeElement.id === 'label'")
    assert not page.value("Boolean(document.querySelector('main [role=alert]'))")
    assert json.loads(page.until(stored))[0]["lease"] == kept[0]["lease"]


def posted(page: Page, end: str) -> list[dict[str, Any]]:
    return [own for own in page.named("Network.requestWillBeSent") if own["request"]["url"].endswith(end)]


def test_nothing_of_a_prediction_reaches_the_browser_before_the_label(page: Page, running: Consoles) -> None:
    """All answers, storage and the document, while labels are given blindly; audits are among them."""
    log_in(page, running.url, "cleo")
    start(page)
    for number in range(12):
        page.type(str(8000 + number))
        page.press("Enter")
        page.until("document.querySelector('#label') && document.querySelector('#label').value === ''")
    page.press("Enter", "Shift")
    page.until("document.querySelectorAll('.outbox li.sent').length >= 10")
    bodies = page.bodies(f"{running.url}/api/")
    assert sum("/claim" in url for url in bodies) >= 3
    assert betrayals(page, bodies) == []


def betrayals(page: Page, bodies: dict[str, str]) -> list[tuple[str, str]]:
    """Places in answers, storage and the document that hold a word of a prediction or a decision."""
    places = {**bodies, "storage": stored(page), "document": page.value("document.documentElement.outerHTML")}
    betrayed = []
    for place, text in places.items():
        document = text.lower()
        if place.endswith("/api/tasks"):
            document = json.dumps([task["counts"] for task in json.loads(text)["tasks"]])  # heads are the same for all
        if place == "document":
            document = document.replace("show the prediction of the last answer", "")
        betrayed += [(place, word) for word in BLIND_WORDS if word in document]
    return betrayed


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_five_hundred_audits_are_blind(page: Page, tmp_path: Path) -> None:
    """Answered units alone: every word of a prediction would be one of an audit. Unsent answers are in the storage."""
    with consoles(tmp_path, DEMUR_AUDIT_RATE="1") as audited:
        rows = [SITUATION | {"stw": 12 + number / 100} for number in range(500)]
        answer = httpx.post(f"{audited.vessel}/v1/predict", json={"rows": rows}, timeout=60).json()["power"]
        assert answer["decision"].count("ANSWER") >= 495, "nearly all are audits"
        predictions = {f"{int(value * 10) / 10:.1f}" for value in answer["mean"]}
        log_in(page, audited.url, "anna")
        start(page)
        searched = 0
        for number in range(500):
            page.until("document.querySelector('#label') && document.querySelector('#label').value === ''")
            page.type(str(400_000 + number))
            page.press("Enter")
            if number % 20 == 19:
                bodies = page.bodies(f"{audited.url}/api/")
                searched += len(bodies)
                assert betrayals(page, bodies) == []
                text = json.dumps(bodies) + stored(page)
                numbers = set(re.findall(r"(?<![\d.])\d{3,}\.\d", text))  # not parts of longer ones
                assert not numbers & predictions, "nor its number"
                page.events.clear()
        page.press("Enter", "Shift")
        page.until("document.querySelectorAll('.outbox li.sent').length >= 10")
        counts = httpx.get(f"{audited.vessel}/v1/requests").json()["heads"]["power"]
        print(f"{searched} answers of the server searched, {counts}")
        assert counts["labelled"] >= 490


def test_answers_survive_a_reload_and_a_lost_console(page: Page, running: Consoles) -> None:
    log_in(page, running.url, "dora")
    start(page)
    page.type("7001")
    page.press("Enter")
    page.until("document.querySelectorAll('.outbox li').length === 1")
    page.reload()
    page.until("document.activeElement && document.activeElement.id === 'label'")
    assert len(answers(page)) == 1
    running.kill("review")
    page.type("7002")
    page.press("Enter")
    page.press("Enter", "Shift")
    page.until("[...document.querySelectorAll('.outbox li')].some(line => line.innerText.includes('no connection'))")
    running.start("review")
    running.ready(running.url)
    page.until("document.querySelectorAll('.outbox li.sent').length === 2", 60)
    labels = sorted(line.split(" kW")[0] for line in answers(page))
    assert labels == ["7,001", "7,002"]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_the_screen_in_both_themes(
    page: Page, running: Consoles, tmp_path: Path, width: int, dark: bool
) -> None:
    log_in(page, running.url, "eva", width=width, dark=dark)
    assert page.value("document.documentElement.scrollWidth - window.innerWidth") <= 0
    start(page)
    time.sleep(0.3)
    assert page.value("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert page.value("getComputedStyle(document.body).backgroundColor") == (
        "rgb(20, 22, 26)" if dark else "rgb(255, 254, 251)"
    )
    drawn = """[...document.querySelectorAll('canvas')].map(canvas => new Set(new Uint32Array(
        canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size)"""
    assert min(page.value(drawn)) > 2, "no canvas is blank"
    assert "labels of the training data" in page.value("document.querySelector('main').innerText"), "their points"


PLOTS = "document.querySelectorAll('.columns-table svg.near').length"


@pytest.mark.parametrize("dark", [False, True])
def test_columns_show_their_neighbours_in_time(page: Page, running: Consoles, tmp_path: Path, dark: bool) -> None:
    """A plot for each column with its words, in the colours of the theme; the focus stays in the label."""
    log_in(page, running.url, "gina", dark=dark)
    start(page)
    page.until(f"{PLOTS} === 10")
    assert page.value("document.activeElement.id") == "label"
    words = page.value("[...document.querySelectorAll('svg.near')].map(plot => plot.getAttribute('aria-label'))")
    draught, *_ = words
    assert re.fullmatch(r"(\d+ before: 12.6 to 12.6; )?this: 12.6(; \d+ after: 12.6 to 12.6)?", draught), draught
    colours = page.value("""(plot => [getComputedStyle(plot.querySelector('path')).stroke,
        getComputedStyle(plot.querySelector('circle')).fill])(document.querySelector('svg.near'))""")
    assert colours == (
        ["rgb(169, 171, 178)", "rgb(242, 153, 77)"] if dark else ["rgb(86, 86, 92)", "rgb(184, 74, 0)"]
    ), "of the theme"
    if folder := os.environ.get("DEMUR_SHOTS"):
        page.screenshot(Path(folder) / f"neighbours-{'dark' if dark else 'light'}.png")
    assert complaints(page) == []


def test_without_neighbours_there_is_no_column_for_them(page: Page, running: Consoles) -> None:
    log_in(page, running.url, "hans", width=390)
    start(page)
    page.until(f"{PLOTS} === 10")
    assert page.value("document.querySelector('svg.near').getBoundingClientRect().width") == 0, "hidden: no room"
    page.call("Network.enable")
    page.call("Network.setBlockedURLs", urls=["*/neighbours"])
    page.type("9000")
    page.press("Enter")
    page.until("document.querySelector('#label').value === ''")
    time.sleep(1)
    heads = "document.querySelectorAll('.columns-table thead th').length"
    assert (page.value(PLOTS), page.value(heads)) == (0, 4)
    page.call("Network.setBlockedURLs", urls=[])
    page.press("Enter", "Shift")
    page.until("document.querySelector('.outbox li.sent')")
    fetched = "performance.getEntriesByType('resource').filter(entry => entry.name.endsWith('/neighbours')).length"
    before = page.value(fetched)
    page.press("p")
    page.until(f"document.querySelector('#label').value === '9000' && {fetched} > {before}")
    time.sleep(0.3)  # to be drawn
    assert (page.value(PLOTS), page.value(heads)) == (0, 4), "after the label, the answer is empty"


def test_drafts_are_accepted_by_a_key_and_the_page_speaks_german(page: Page, running: Consoles) -> None:
    log_in(page, running.url, "fritz")
    choose = "field.value = 'de'; field.dispatchEvent(new Event('change', {bubbles: true}))"
    page.value(f"(field => {{ {choose} }})(document.querySelector('select'))")
    page.until("document.querySelector('h1').innerText.includes('Menschen')")
    start(page, "drafts")
    page.until("document.body.innerText.includes('Entwurf des Modells')")
    page.press("a")
    page.until("Number(document.querySelector('#label').value) > 1000")
    page.press("Enter")
    page.press("Enter", "Shift")
    page.until("document.querySelector('.outbox li.sent')")
    assert "gesendet" in answers(page)[0]


def opinions_known(monitor: str, count: int) -> None:
    """Wait until the monitor knows so many second opinions."""
    end = time.monotonic() + 60
    while True:
        heads = httpx.get(f"{monitor}/v1/reviewers").json().get("heads", [])
        if heads and heads[0]["second_opinions"] >= count:
            return
        assert time.monotonic() < end, heads
        time.sleep(0.2)


def test_operators_see_reviewers_and_the_worth_of_labels(page: Page, tmp_path: Path) -> None:
    """Two reviewers label and give second opinions; then the page of operators shows what follows."""
    settings = {"DEMUR_AUDIT_RATE": "1", "DEMUR_VESSEL_SECOND_OPINIONS": "1", "DEMUR_MONITOR_WINDOWS": "1h"}
    with consoles(tmp_path, **settings) as running:
        running.start("monitor", "run")
        running.ready(f"http://127.0.0.1:{3000 + running.offset}")
        running.situations(40)
        hostile = "<img src=x onerror=window.ran=1>"  # no name at the console, but a service takes it from a program
        with httpx.Client(base_url=f"{running.vessel}/v1/requests") as caller:
            for name, count, offset in (("anna", 20, 0), (hostile, 20, 300), (hostile, 100, 300)):
                caller.headers["demur-actor"] = name
                claim = {"count": count, "seconds": 600, "head": "power", "queue": "blind"}
                for request in caller.post("/claim", json=claim).json()["requests"]:
                    label = {"lease": request["lease"], "value": 30_000 + offset, "seconds": 12.5}
                    sent = caller.post(f"/{request['request']}/submit", json=label)
                    assert sent.status_code == 200, sent.text
        opinions_known(f"http://127.0.0.1:{3000 + running.offset}", 20)  # the page asks again after half a minute only
        log_in(page, running.url, "operator")
        page.value("location.hash = '#/operators'")
        page.until("document.body.innerText.includes('second opinions and')", 20)
        text = page.value("document.body.innerText")
        for words in ("45,000 kW²", "Krippendorff’s alpha", "anna", hostile, "What a label is worth"):
            assert words in text, text
        assert page.value("window.ran") is None
        assert page.value("document.querySelectorAll('img').length") == 0
        assert (complaints(page), foreign_requests(page, running.url)) == ([], [])
        page.until("document.body.innerText.includes('One label narrows it by')", 20)
        page.value("document.querySelectorAll('details').forEach(own => { own.open = true; })")
        accessibility.check(page, "operators")
