"""Review console: what a reviewer waits for, in headless Chromium beside the real services.

python -m benchmarks.review [--only items list scans] [--items 500] [--waiting 10000]
"""

import gzip
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import nibabel
import numpy as np

import demur
from benchmarks import harness
from benchmarks.harness import Figure
from tests.browser.chromium import Page, chromium, installed
from tests.browser.review_trial import FIRST_NUMBER, NUMBER, send_situations
from tests.browser.views import NO_WEBGL2, log_in
from tests.services.review.consoles import PROJECT, Consoles, consoles

PARTS = ("items", "list", "scans")
CLAIMED_SCANS = 4
"""Number of scans of a reviewer: as many as the page claims at once."""
SCAN_SHAPE = (182, 218, 182)
_READY_SECONDS = 240.0
_LOOKED_AT_SECONDS = 3.0
_OPEN = "document.querySelector('.lesion[data-ready=yes]')"

_ITEM_CLOCK = f"""(() => {{
  const number = () => {{
    const row = [...document.querySelectorAll('.columns-table tr')].find((row) =>
      row.querySelector('th span') && row.querySelector('th span').innerText === '{NUMBER}');
    const label = document.querySelector('#label');
    return row && label && label.value === '' ? row.querySelector('td.num').innerText : '';
  }};
  window.shown = number();
  window.waits = [];
  let pressed = 0;
  addEventListener('keydown', (event) => {{ if (event.key === 'Enter') pressed = event.timeStamp; }}, true);
  const look = () => {{
    const now = number();
    if (now && now !== window.shown) {{
      window.shown = now;
      const since = pressed;
      const painted = new MessageChannel();
      painted.port1.onmessage = () => window.waits.push(performance.now() - since);
      requestAnimationFrame(() => painted.port2.postMessage(0));
    }}
  }};
  const all = {{ subtree: true, childList: true, characterData: true, attributes: true }};
  new MutationObserver(look).observe(document.body, all);
  return true;
}})()"""
"""Times from the key that submits to the frame that shows the next situation, ms, in ``waits``."""
_STALL_CLOCK = """(() => {
  window.stalls = [];
  new PerformanceObserver((list) => window.stalls.push(...list.getEntries().map((entry) => entry.duration)))
    .observe({ type: 'longtask' });
  let last = performance.now();
  window.gaps = [];
  const frame = (now) => { window.gaps.push(now - last); last = now; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
  return true;
})()"""
"""Durations of tasks that hold the page for more than 50 ms in ``stalls``, and between frames in ``gaps``, ms."""
_DRAW_CLOCK = """const drawImage = CanvasRenderingContext2D.prototype.drawImage;
CanvasRenderingContext2D.prototype.drawImage = function (...values) {
  if (values[0] instanceof ImageBitmap) window.pictures = [...(window.pictures || []), performance.now()];
  return drawImage.apply(this, values);
};
addEventListener('keydown', (event) => {
  if (event.key === 'Enter') { window.submitted = event.timeStamp; window.pictures = []; }
}, true);"""
"""Times of drawn pictures in ``pictures`` and of the last Enter in ``submitted``, ms of the page's clock."""


def main() -> None:
    parser = harness.parser("review", __doc__, parts=PARTS)
    parser.add_argument("--items", type=int, default=500, help="situations that are labelled")
    parser.add_argument("--waiting", type=int, default=10_000, help="requests in the list")
    options = parser.parse_args()
    harness.announce()
    harness.report(measure(options.only, options.items, options.waiting))


def measure(parts: list[str], items: int, waiting: int) -> Iterator[Figure]:
    """Yield the figures of some parts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "items" in parts or "list" in parts:
            home = folder / "vessel"
            home.mkdir()
            with consoles(home, DEMUR_AUDIT_RATE="1") as running:
                if "items" in parts:
                    yield from _items(running, items)
                if "list" in parts:
                    yield from _list(running, waiting)
        if "scans" in parts:
            yield from _scans(folder)


def _items(running: Consoles, count: int) -> Iterator[Figure]:
    """Time of the next item, and of the page for each item, while situations are labelled as fast as keys come."""
    send_situations(running, count + 20)
    part = f"{count} situations of the vessel, labelled by keys"
    with chromium(installed()) as page:
        log_in(page, running.url)
        page.value("location.hash = '#/review/vessel/power/blind'")
        page.until("document.activeElement && document.activeElement.id === 'label'", 30)
        page.until(_ITEM_CLOCK)
        keys_s, begin = 0.0, time.perf_counter()
        for done in range(1, count + 1):
            typing = time.perf_counter()
            page.type("9000")
            page.press("Enter")
            keys_s += time.perf_counter() - typing
            page.until(f"window.waits.length >= {done}", 30)
        seconds = time.perf_counter() - begin
        waits = np.array(page.value("window.waits"))[:count]
        page.press("Enter", "Shift")
        page.until("!document.querySelector('.outbox li:not(.sent)')", 30)
    labelled = httpx.get(f"{running.vessel}/v1/requests").json()["heads"]["power"]["labelled"]
    yield Figure(part, "next item, p95", float(np.quantile(waits, 0.95)), "ms", at_most=150, note=_spread(waits))
    yield Figure(
        part,
        "the page, for each item",
        (seconds - keys_s) / count,
        "s",
        at_most=1,
        note=f"{seconds / count:.3f} s with the dispatch of its keys; {labelled} labels kept",
    )


def _list(running: Consoles, count: int) -> Iterator[Figure]:
    """Longest stall while the list of waiting requests is loaded, scrolled and filtered."""
    open_ones = httpx.get(f"{running.vessel}/v1/requests").json()["heads"]["power"]["requested"]
    send_situations(running, count - open_ones, first=2 * FIRST_NUMBER)
    part = f"List of {count:,} waiting requests"
    rows = "document.querySelector('.list .rows')"
    with chromium(installed()) as page:
        log_in(page, running.url)
        page.until(_STALL_CLOCK)
        page.until(f"document.querySelector('.list').getAttribute('aria-rowcount') >= {count - 100}", 120)
        yield _stall(page, part, "while it is loaded")
        for step in range(200):
            page.value(f"{rows}.scrollTop = {rows}.scrollHeight * {(step * 37 % 200) / 200}")
            time.sleep(0.02)
        page.value(f"{rows}.scrollTop = {rows}.scrollHeight")
        page.until("document.querySelectorAll('.list .rows .row').length > 5")
        yield _stall(page, part, "while it is scrolled")
        for _ in range(10):
            for choice, value in ((4, "claimed"), (4, ""), (3, "week"), (3, ""), (2, "hour"), (2, "")):
                page.value(_chosen(choice, value))
                time.sleep(0.05)
        yield _stall(page, part, "while it is filtered")


def _stall(page: Page, part: str, name: str) -> Figure:
    """Longest task since the last call."""
    time.sleep(0.3)
    stalls, gaps = page.value("[window.stalls.splice(0), window.gaps.splice(0)]")
    note = f"{len(stalls)} tasks of more than 50 ms; longest time between frames {max(gaps):.0f} ms"
    return Figure(part, f"longest stall, {name}", max(stalls, default=0.0), "ms", at_most=100, note=note)


def _chosen(place: int, value: str) -> str:
    return f"""(() => {{
      const choice = document.querySelectorAll('.filters select')[{place}];
      choice.value = '{value}';
      choice.dispatchEvent(new Event('change', {{ bubbles: true }}));
    }})()"""


def _scans(folder: Path) -> Iterator[Figure]:
    """Time until a scan can be worked on, as slices and as a volume, beside the real service."""
    part = f"Scans of {' × '.join(map(str, SCAN_SHAPE))} voxels"
    home = folder / "lesion"
    home.mkdir()
    settings = {"DEMUR_AUDIT_RATE": "1", "DEMUR_LESION_KEEP_PAYLOAD": "on"}
    with consoles(home, ("lesion",), **settings) as running:
        running.ready(f"http://127.0.0.1:{3004 + running.offset}", _READY_SECONDS)
        scans = _full_scans(running, folder)
        packed = _send_scans(running, scans, CLAIMED_SCANS)
        with _lesion_page(running, "slices", NO_WEBGL2) as (page, begin):
            first = page.until("(window.pictures || [])[0]", 30) - begin
            yield Figure(
                part, "first slice, the first scan", first, "ms", at_most=300, note=f"{packed / 1e6:.1f} MB packed"
            )
            waits = [_next_scan(page, "window.pictures[0]") for _ in range(CLAIMED_SCANS - 1)]
            note = f"longest of {len(waits)}"
            yield Figure(part, "first slice, the next scan", max(waits), "ms", at_most=300, note=note)
        _send_scans(running, scans, CLAIMED_SCANS)
        with _lesion_page(running, "volumes") as (page, begin):
            page.until(_OPEN, 60)
            first = page.value("performance.now()") - begin
            yield Figure(part, "volume by WebGL in software, the first scan", first / 1e3, "s", at_most=5)
            waits = [_next_scan(page, "performance.now()") for _ in range(CLAIMED_SCANS - 1)]
            yield Figure(part, "volume by WebGL in software, the next", max(waits) / 1e3, "s", at_most=5, note=note)


def _next_scan(page: Page, end: str) -> float:
    """Submit a mask of one voxel after some seconds, and return the time until the next scan is there, ms."""
    page.until(_OPEN, 60)
    time.sleep(_LOOKED_AT_SECONDS)
    page.press("2")
    page.press(" ")
    done = page.value("document.querySelector('.lesion').dataset.request")
    page.press("Enter")
    page.until(f"document.querySelector(`.lesion[data-ready=yes]:not([data-request='{done}'])`)", 60)
    if "pictures" in end:
        page.until("window.pictures.length", 60)
    return float(page.value(f"{end} - window.submitted"))


@contextmanager
def _lesion_page(running: Consoles, reviewer: str, *scripts: str) -> Iterator[tuple[Page, float]]:
    """Open the lesion's queue; yield the page and the time of that, ms of the page's clock."""
    with chromium(installed(), webgl=True) as page:
        for script in (*scripts, _DRAW_CLOCK):
            page.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        log_in(page, running.url, reviewer)
        yield (
            page,
            page.value("(() => { location.hash = '#/review/lesion/lesions/blind'; return performance.now(); })()"),
        )


def _full_scans(running: Consoles, folder: Path) -> Iterator[Path]:
    """Yield files of a simulated scan in the middle of a volume of the full size, each with noise of its own."""
    words = ["data", "lesion", "simulate", "--scale", "0.02", "--sites", "site_b", "--out", str(folder / "simulated")]
    command = [sys.executable, "-m", "services.cli", *words]
    subprocess.run(command, cwd=PROJECT, env=running.environment, check=True, capture_output=True)
    source = sorted((folder / "simulated" / "site_b" / "eval_in" / "flair").iterdir())[0]
    image: Any = nibabel.load(source)
    brain = np.asanyarray(image.dataobj)
    rng = np.random.default_rng(0)
    place = tuple(
        slice((whole - own) // 2, (whole - own) // 2 + own) for own, whole in zip(brain.shape, SCAN_SHAPE, strict=True)
    )
    for number in itertools.count():
        full = np.zeros(SCAN_SHAPE, np.float32)
        full[place] = np.where(brain != 0, brain + rng.normal(0, 1e-3, brain.shape), 0)
        path = folder / f"scan-{number}.nii.gz"
        path.write_bytes(gzip.compress(nibabel.Nifti1Image(full, image.affine).to_bytes(), 6))
        yield path


def _send_scans(running: Consoles, scans: Iterator[Path], count: int) -> int:
    """Send scans that all become requests; return the size of the last file, bytes."""
    size = 0
    with demur.connect(f"127.0.0.1:{4004 + running.offset}", timeout=600) as client:
        for path in itertools.islice(scans, count):
            client.lesion.predict(path)
            size = path.stat().st_size
    return size


def _spread(waits_ms: np.ndarray) -> str:
    return f"median {np.median(waits_ms):.0f} ms, longest {waits_ms.max():.0f} ms, {len(waits_ms)} items"


if __name__ == "__main__":
    main()
