"""The monitor's page as a browser shows it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.monitor.page import Pages
from services.monitor.snapshot import Snapshot
from tests.browser.chromium import Page, chromium, installed
from tests.services.monitor.conftest import Scene
from tests.services.monitor.simulated import label_asked, simulate

WIDER = "document.documentElement.scrollWidth - window.innerWidth"
TEXT = "document.body.innerText"
BROKEN = """[...document.querySelectorAll('.tiles .value')].flatMap(one => [...one.childNodes]).filter(part => {
  const range = document.createRange();
  range.selectNodeContents(part);
  return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1;
}).map(part => part.textContent)"""
"""Numbers and units of the cards that stand on more than one line."""


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium(installed()) as tab:
        yield tab


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models; the newer one has too few labels for the last quarter of an hour, and one writer is silent."""
    folder = tmp_path_factory.mktemp("monitor")
    scene = Scene(f"sqlite:///{folder / 'ledger.db'}")
    book = scene.book()
    now = label_asked(book, simulate(20_000, rate=0.1, seconds=6000))
    book.deploy(now, model="toy-ensemble:a-much-longer-name-of-a-model-than-any-page-would-wish-for")
    watch = scene.watch(now)
    (folder / "valid.html").write_text(Pages().page(watch.monitor.snapshot, "", now))
    scene.book(5, deploy=False, now=now - 100)
    published = watch.at(now)
    (folder / "invalid.html").write_text(Pages().page(published, "a ledger is away", now))
    (folder / "empty.html").write_text(Pages().page(Snapshot(), "starting", now))
    scene.close()
    return folder


@pytest.mark.parametrize("name", ["valid", "invalid", "empty"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_page_never_scrolls_sideways(page: Page, shown: Path, name: str, width: int) -> None:
    page.open(shown / f"{name}.html", width=width)
    for _ in range(2):
        assert page.value(WIDER) <= 0
        page.value("document.querySelectorAll('details').forEach(one => one.open = true)")


def test_nothing_but_the_page_is_asked_for_and_nothing_is_complained_about(page: Page, shown: Path) -> None:
    page.open(shown / "valid.html")
    urls = [event["request"]["url"] for event in page.named("Network.requestWillBeSent")]
    assert [url for url in urls if not url.startswith("data:")] == [(shown / "valid.html").as_uri()]
    assert page.named("Log.entryAdded") == []
    assert page.named("Runtime.exceptionThrown") == []


def test_a_valid_window_shows_its_curves_with_their_band(page: Page, shown: Path) -> None:
    page.open(shown / "valid.html")
    assert page.value("document.querySelectorAll('figure > svg').length") == 2
    for theme in (False, True):
        page.open(shown / "valid.html", dark=theme)
        fills = page.value("[...document.querySelectorAll('figure svg *')].map(p => getComputedStyle(p).fillOpacity)")
        assert "0.2" in fills
    text = page.value(TEXT)
    for words in (
        "Error-retention",
        "R-AUC",
        "Mean error of the system",
        "population stability index",
        "95 % interval",
    ):
        assert words in text


def test_a_window_that_is_not_valid_says_why_and_shows_no_figure(page: Page, shown: Path) -> None:
    page.open(shown / "invalid.html")
    text = page.value(TEXT)
    assert "withheld" in text
    assert "has not been heard of since" in text
    assert "Not up to date: a ledger is away" in text
    assert page.value("document.querySelectorAll('figure').length") == 0


@pytest.mark.parametrize("width", [390, 1200, 1280])
def test_neither_a_number_nor_its_unit_is_broken_in_two(page: Page, shown: Path, width: int) -> None:
    page.open(shown / "valid.html", width=width)
    units = page.value("[...document.querySelectorAll('.tiles .value small')].map(one => one.textContent)")
    assert units
    assert page.value(BROKEN) == []


def test_the_theme_follows_the_system(page: Page, shown: Path) -> None:
    colours = []
    for dark in (False, True):
        page.open(shown / "valid.html", dark=dark)
        colours.append(page.value("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 254, 251)", "rgb(20, 22, 26)"]
