"""Paths of vehicles in a browser: typed by arrows, dragged, drawn and picked, in metres of the agent's frame."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from models.label_errors.trajectories import CorrectedNll
from models.tasks.motion.spec import TRAJECTORIES
from tests.browser.chromium import Page, chromium, installed
from tests.browser.views import complaints, drag, foreign_requests, log_in, next_figure, submitted
from tests.models.motion import towns
from tests.services.review.stub_service import Prepared, StubService, console_beside
from tests.services.review.test_scenes import kept

pytestmark = pytest.mark.long

SPEED = 8.0
TIMES = 0.2 * np.arange(1, 26)
PLANS = [[[SPEED * time, side * time**2] for time in TIMES.tolist()] for side in (0.0, 0.3, -0.3, 0.6, -0.6)]
DRAFT = {"plans": PLANS, "weights": [0.4, 0.3, 0.2, 0.06, 0.04]}


@pytest.fixture
def page() -> Iterator[Page]:
    with chromium(installed()) as tab:
        yield tab


def a_street() -> bytes:
    """A car that drives north on a street, with another one and a pedestrian."""
    scene = towns.empty()
    towns.drive(scene, 7, (100.0, -50.0), math.pi / 2, SPEED)
    towns.drive(scene, 8, (96.0, -20.0), -math.pi / 2, 5.0)
    towns.walk(scene, 9, (106.0, -30.0), (0.0, 1.0), (0.6, 0.6))
    towns.road(scene, [(90, -150), (110, -150), (110, 150), (90, 150)])
    towns.lane(scene, [(100, -150), (100, 150)])
    towns.lane(scene, [(96, 150), (96, -150)])
    return kept(scene, 7)


def opened(page: Page, url: str, queue: str = "blind", **options: object) -> None:
    log_in(page, url, **options)
    page.value(f"location.hash = '#/review/motion/trajectories/{queue}'")
    page.until("document.querySelector('canvas.scene')")
    page.until("document.querySelector('canvas.scene').width > 300")


def stub() -> StubService:
    return StubService(TRAJECTORIES, [Prepared("application/x-protobuf", a_street(), DRAFT)] * 12)


def test_a_path_by_arrows_alone(page: Page) -> None:
    service = stub()
    with console_beside({"motion": service}) as url:
        opened(page, url)
        page.press("Enter")
        page.until("document.querySelector('.message').innerText.length > 0")
        assert service.values == {}, "that it drives on is no answer of the reviewer"
        for key in ("ArrowLeft",) * 10:
            page.press(key)
        words = page.value("document.querySelector('canvas.scene').getAttribute('aria-label')")
        assert "8 m/s" in words
        assert "vehicles 1, pedestrians 1" in words
        assert "40 m ahead, 5 m to the left" in words
        bent = submitted(page, service.values)
        next_figure(page, "motion", service.values)
        page.press("c")
        page.press("[")
        page.press("[")
        page.press("ArrowRight", "Shift")
        local = submitted(page, service.values)
        next_figure(page, "motion", service.values)
        page.press("x")
        page.press("ArrowUp")
        page.press("z", "Control")
        stands = submitted(page, service.values)
        assert (complaints(page), foreign_requests(page, url)) == ([], [])
    np.testing.assert_allclose(bent, np.stack([SPEED * TIMES, 5 * (TIMES / 5) ** 2], axis=1), atol=1e-3)
    local = np.array(local)
    np.testing.assert_allclose(local[:, 0], SPEED * TIMES, atol=1e-3)
    assert local[14, 1] == -2
    assert np.abs(local[[4, 9, 19, 24], 1]).max() < 1e-9
    assert (np.array(stands) == 0).all()
    for value in (bent, local.tolist(), stands):
        CorrectedNll(TRAJECTORIES).label(value)


def test_a_path_by_buttons_alone(page: Page) -> None:
    """Nothing needs dragging."""
    service = stub()
    with console_beside({"motion": service}) as url:
        opened(page, url)
        for way in ("to the left", "to the left", "ahead"):
            page.value(f"document.querySelector('[aria-label=\"Handle 0.5 m {way}\"]').click()")
        page.until("document.querySelector('canvas.scene').getAttribute('aria-label').includes('1 m to the left')")
        value = submitted(page, service.values)
    np.testing.assert_allclose(value[-1], (SPEED * TIMES[-1] + 0.5, 1.0), atol=1e-3)


def test_time_plays_through_the_past_and_along_the_path(page: Page) -> None:
    with console_beside({"motion": stub()}) as url:
        opened(page, url)
        clock = "document.querySelector('.clock').innerText"
        assert page.value(clock) == "now"
        for _ in range(30):
            page.press(",")
        page.until(f"{clock} === '4.8 s ago'")
        page.press(".")
        page.until(f"{clock} === '4.6 s ago'")
        page.press(" ")
        page.until(f"{clock} === 'now'", 15)
        page.press("c")
        page.press(".")
        page.until(f"{clock}.startsWith('in 0.2 s')")


def test_a_handle_is_dragged_and_a_line_is_drawn(page: Page) -> None:
    service = stub()
    with console_beside({"motion": service}) as url:
        opened(page, url, height=1000)
        left, top, width, height = page.value(
            "(b => [b.left, b.top, b.width, b.height])(document.querySelector('canvas.scene').getBoundingClientRect())"
        )
        ahead = max(32, SPEED * 6.25)  # the scale of the first picture
        scale, middle = height / (ahead * 1.3), ahead * 0.36

        def at(x: float, y: float) -> tuple[float, float]:
            return left + width / 2 - y * scale, top + height / 2 - (x - middle) * scale

        drag(page, [at(40, 0), at(40, 3), at(36, 6)])
        dragged = submitted(page, service.values)
        next_figure(page, "motion", service.values)
        page.press("d")
        drag(
            page,
            [at(0, 0), *(at(20 * math.sin(angle), 20 - 20 * math.cos(angle)) for angle in np.linspace(0.1, 1.5, 30))],
        )
        drawn = submitted(page, service.values)
    np.testing.assert_allclose(dragged[24], (36, 6), atol=0.15)
    x, y = np.array(drawn).T
    np.testing.assert_allclose(np.hypot(x, y - 20), 20, atol=0.3)
    assert np.hypot(*(np.array(drawn[0]))) == pytest.approx(0.2 * SPEED, rel=0.1), "it begins at its present speed"
    assert x[24] == pytest.approx(20 * math.sin(1.5), abs=0.3)


def test_proposals_are_picked_by_digits_where_a_draft_is_shown(page: Page) -> None:
    service = stub()
    with console_beside({"motion": service}) as url:
        opened(page, url)
        assert "Path 1" not in page.value("document.body.innerText")
        page.press("2")
        page.press("Enter")
        page.until("document.querySelector('.message').innerText.length > 0")
        page.value("location.hash = '#/'")
        page.until("document.querySelector('table.heads')")
        page.value("location.hash = '#/review/motion/trajectories/drafts'")
        page.until("document.querySelector('canvas.scene')")
        page.until("document.body.innerText.includes('Path 5, 4 %')")
        page.press("2")
        page.until("document.querySelector('[aria-pressed=true]')")
        assert submitted(page, service.values) == PLANS[1]
        next_figure(page, "motion", service.values)
        page.press("a")
        assert submitted(page, service.values) == PLANS[0]


@pytest.mark.parametrize("dark", [False, True])
def test_the_scene_fits_a_narrow_screen_and_is_drawn(page: Page, dark: bool) -> None:
    with console_beside({"motion": stub()}) as url:
        opened(page, url, dark=dark, width=390)
        assert page.value("document.documentElement.scrollWidth - window.innerWidth") <= 0
        drawn = """new Set(new Uint32Array((c => c.getContext('2d').getImageData(0, 0, c.width, c.height))(
            document.querySelector('canvas.scene')).data.buffer)).size"""
        assert page.value(drawn) > 20
