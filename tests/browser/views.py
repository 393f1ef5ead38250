"""Views of the console in a browser, beside a stub of a service."""

from typing import Any

from tests.browser.chromium import Page

NO_WEBGL2 = """const own = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return kind === "webgl2" ? null : own.call(this, kind, ...rest);
};"""
"""Script of a page whose browser has no WebGL2; Chromium itself falls back to software."""


def log_in(page: Page, url: str, name: str = "anna", **options: Any) -> None:
    """Open the console and log in, unless the browser has been logged in at another port."""
    page.visit(url, **options)
    heads = "document.querySelector('table.heads')"
    page.until(f"{heads} || (document.activeElement && document.activeElement.id === 'login')")
    if not page.value(f"Boolean({heads})"):
        page.type(name)
        page.press("Enter")
    page.until(heads)


def submitted(page: Page, values: dict[str, Any]) -> Any:
    """Submit the answer on the screen by keys, send it, and return what the service got of it."""
    before = len(values)
    page.press("Enter")
    page.until("document.querySelector('.outbox li')")
    page.press("Enter", "Shift")
    page.until(f"document.querySelectorAll('.outbox li.sent').length > {before}")
    assert len(values) == before + 1
    return list(values.values())[-1]


def next_figure(page: Page, kind: str, values: dict[str, Any]) -> None:
    """Wait for the figure of the request behind those that were submitted."""
    done = "".join(f":not([data-request='{name}'])" for name in values)
    page.until(f"document.querySelector(`.{kind}{done}`)", 60)


def mouse(page: Page, kind: str, x: float, y: float, held: bool = True) -> None:
    """``kind`` is Pressed, Moved or Released."""
    buttons = {"button": "left", "buttons": int(held), "clickCount": 1} if held or kind != "Moved" else {}
    page.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **buttons)


def drag(page: Page, places: list[tuple[float, float]]) -> None:
    mouse(page, "Pressed", *places[0])
    for place in places[1:]:
        mouse(page, "Moved", *place)
    mouse(page, "Released", *places[-1])


def complaints(page: Page) -> list[Any]:
    """Errors of scripts, and breaches of the content security policy."""
    return page.named("Runtime.exceptionThrown") + page.named("Log.entryAdded")


def foreign_requests(page: Page, url: str) -> list[str]:
    urls = [str(event["request"]["url"]) for event in page.named("Network.requestWillBeSent")]
    return [own for own in urls if not own.startswith((url, "data:", f"blob:{url}"))]


def stored(page: Page) -> str:
    """All that the browser keeps for the console, as JSON."""
    page.value(_READ_ANSWERS)
    answers = page.until("window.storedAnswers")
    areas: str = page.value("JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)])")
    return f"[{areas}, {answers}]"


_READ_ANSWERS = """window.storedAnswers = "", indexedDB.open("demur-answers", 1).onsuccess = (opened) => {
  opened.target.result.transaction("answers").objectStore("answers").getAll().onsuccess = (read) => {
    window.storedAnswers = JSON.stringify(read.target.result);
  };
}, null"""
