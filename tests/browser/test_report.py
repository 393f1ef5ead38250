"""The report as a browser shows it: light and dark, on a phone, without network."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from models.evaluation.compare import Comparison, compare
from models.evaluation.evaluate import Evaluation, evaluate
from models.evaluation.unit_errors import ErrorColumn
from tests.browser.chromium import Page, chromium, installed
from tests.services.report.forms import FORMS
from tests.services.report.reading import written
from tests.services.report.simulated import compared, constant, regression, three_files

pytestmark = pytest.mark.long

SPILLED = """[...document.querySelectorAll('figure > svg')].flatMap(drawn => {
  const paper = drawn.getBoundingClientRect();
  return [...drawn.querySelectorAll('text')].filter(one => {
    const box = one.getBoundingClientRect();
    return box.left < paper.left - 4 || box.right > paper.right + 4
      || box.top < paper.top - 4 || box.bottom > paper.bottom + 4;
  }).map(one => one.textContent);
})"""
"""What is written beyond the edges of its figure; widths of letters are a little different in every browser."""
WIDER = "document.documentElement.scrollWidth - window.innerWidth"
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(255, 254, 251)", "rgb(20, 22, 26)"


def shown(folder: Path, evaluations: list[Evaluation], comparison: Comparison | None, human: float) -> Path:
    """Write a report whose page is looked at, without its figures' files."""
    written(folder, *evaluations, comparison=comparison, human=human)
    return folder / "report.html"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium(installed()) as tab:
        yield tab


@pytest.fixture(scope="module", params=FORMS)
def form(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of small files of each form."""
    folder = tmp_path_factory.mktemp(request.param)
    files = FORMS[request.param](folder)
    comparison = compare(files) if len(files) > 1 else None
    evaluations = [evaluate(file, tuple(file.groups)) for file in files]
    return shown(folder / "report", evaluations, comparison, 0.0)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files, comparison = three_files()
    return shown(tmp_path_factory.mktemp("browser") / "report", files, comparison, 1.2)


def test_nothing_but_the_page_is_asked_for_and_nothing_is_complained_about(page: Page, report: Path) -> None:
    page.open(report)
    urls = [event["request"]["url"] for event in page.named("Network.requestWillBeSent")]
    assert [url for url in urls if not url.startswith("data:")] == [report.as_uri()]
    assert page.named("Log.entryAdded") == []
    assert page.named("Runtime.exceptionThrown") == []


def test_the_theme_follows_the_system(page: Page, report: Path, tmp_path: Path) -> None:
    pixels = []
    for dark, colour in ((False, LIGHT), (True, DARK)):
        page.open(report, dark=dark)
        assert page.value(BACKGROUND) == colour
        page.screenshot(tmp_path / "shot.png")
        pixels.append((tmp_path / "shot.png").read_bytes())
    assert pixels[0] != pixels[1]


def test_axes_and_lines_change_with_the_theme(page: Page, report: Path) -> None:
    drawn = "getComputedStyle(document.querySelector('figure svg text')).fill"
    line = "getComputedStyle(document.querySelector('figure .swatch path')).stroke"
    colours = []
    for dark in (False, True):
        page.open(report, dark=dark)
        colours.append((page.value(drawn), page.value(line)))
    assert colours[0][0] != colours[1][0]
    assert colours[0][1] != colours[1][1]


def test_the_button_turns_the_theme_and_back(page: Page, report: Path) -> None:
    page.open(report)
    assert page.value("document.getElementById('theme').offsetWidth > 0")
    assert page.value("document.getElementById('theme').textContent") == "Dark"
    page.value("document.getElementById('theme').click()")
    assert page.value(BACKGROUND) == DARK
    assert page.value("document.getElementById('theme').textContent") == "Light"
    page.value("document.getElementById('theme').click()")
    assert page.value(BACKGROUND) == LIGHT


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_the_page_never_scrolls_sideways(page: Page, report: Path, width: int) -> None:
    page.open(report, width=width)
    for _ in range(2):
        assert page.value(WIDER) <= 0
        page.value("document.querySelectorAll('details').forEach(one => one.open = true)")


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_no_form_scrolls_sideways_or_writes_beyond_its_figures(page: Page, form: Path, width: int) -> None:
    page.open(form, width=width)
    assert page.value(SPILLED) == []
    for _ in range(2):
        assert page.value(WIDER) <= 0
        page.value("document.querySelectorAll('details').forEach(one => one.open = true)")


def test_long_names_do_not_widen_the_page(page: Page, tmp_path: Path) -> None:
    files = [evaluate(regression(f"{'long' * 40}{place}.npz", n=200), ("climate",)) for place in range(2)]
    made = shown(tmp_path / "r", files, compared(files), 0.0)
    page.open(made, width=390)
    page.value("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.value(WIDER) <= 0


def test_long_units_and_errors_do_not_widen_the_page(page: Page, tmp_path: Path) -> None:
    column = ErrorColumn(np.arange(50.0), "kilowatt hours a tonne and a nautical mile", 9.0)
    files = [evaluate(constant(errors={"error_of_the_consumption_by_distance_and_displacement": column}))]
    made = shown(tmp_path / "r", files, None, 0.0)
    page.open(made, width=390)
    assert page.value(WIDER) <= 0
    assert page.value(SPILLED) == []


def test_words_in_figures_can_be_read_on_a_phone(page: Page, report: Path) -> None:
    page.open(report, width=390)
    heights = "[...document.querySelectorAll('figure > svg text')].map(one => one.getBoundingClientRect())"
    smallest = page.value(f"Math.min(...{heights}.map(box => Math.min(box.width, box.height)).filter(one => one > 0))")
    scale = page.value(
        "Math.min(...[...document.querySelectorAll('figure > svg')].map(one =>"
        " one.getBoundingClientRect().width / one.viewBox.baseVal.width))"
    )
    assert smallest > 0
    assert scale * 11 >= 8.5, "11 pixels as drawn"


def test_without_scripts_the_page_is_whole(page: Page, report: Path) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(report, dark=True)
        assert page.value(BACKGROUND) == DARK
        assert page.value("document.getElementById('theme').offsetWidth") == 0
        assert page.value("document.querySelectorAll('figure > svg').length") > 10
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)


def test_it_prints_in_light_colours(page: Page, report: Path) -> None:
    page.open(report, dark=True)
    page.value("document.documentElement.dataset.theme = 'dark'")
    for theme in ("dark", ""):
        page.value(f"document.documentElement.dataset.theme = '{theme}'")
        dark = [{"name": "prefers-color-scheme", "value": "dark"}]
        page.call("Emulation.setEmulatedMedia", media="print", features=dark)
        try:
            assert page.value(BACKGROUND) == LIGHT
            assert (
                page.value("getComputedStyle(document.querySelector('figure svg text')).fill") != "rgb(169, 171, 178)"
            )
        finally:
            page.call("Emulation.setEmulatedMedia", media="")
