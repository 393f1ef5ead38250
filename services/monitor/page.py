"""The page for people: for each head its curves, its figures with intervals, and why they may not be believed."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from html import escape

from models.estimation.intervals import Estimate
from models.evaluation.unit_errors import BadFile
from models.head import Head
from models.live.units import StreamKey
from models.live.window_evaluator import WindowResult
from models.live.windows import LAST
from services import __version__
from services.monitor.figures import figures, strokes
from services.monitor.snapshot import Snapshot, StreamState
from services.report import glossary, numerals
from services.report.marks import legend
from services.report.style import SCRIPT, STYLE

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_RELOAD_SECONDS = 60
_OWN_STYLE = """
.reasons{border-left:3px solid var(--series-2);padding:.1rem 0 .1rem 1rem;margin:1.2rem 0 0;max-width:48em}
.reasons p{margin:.35rem 0;color:var(--ink)}
.fine{color:var(--series-3)}.bad{color:var(--series-2)}
td small{color:var(--soft);font-size:.8125rem;white-space:nowrap}
"""
_SOURCES = {"requested": "labels that were asked for", "census": "labels of a declared population"}
_FIGURES = ("r_auc", "f1_auc", "f1_at_95", "error", "answered_error", "mean_error", "system_error")
_HEADINGS = {
    "r_auc": "R-AUC",
    "f1_auc": "F1-AUC",
    "f1_at_95": "F1 at 95 %",
    "error": "Error at the operating point",
    "answered_error": "Mean error of answers",
    "mean_error": "Mean error of the model",
    "system_error": "Mean error of the system",
}
_READ = {True: "read", False: "being read"}
_SHARES = ("f1_auc", "f1_at_95")


class Pages:
    """Makes the page; figures are drawn once for each judgement that is shown."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # drawing changes settings that all threads share
        self._drawn: dict[tuple[object, ...], str] = {}

    def page(self, known: Snapshot, hindrance: str, now: float) -> str:
        """The whole document.

        Args:
            hindrance: why figures are not those of now; empty where they are.
            now: seconds since 1970.
        """
        streams = sorted(known.streams, key=lambda one: one.key)
        newest = _newest(known)
        parts = [self._stream(one, known, now, one.key in newest) for one in streams]
        if not streams:
            parts = ["<section><h2>Nothing to show yet</h2><p>No service has written into a ledger.</p></section>"]
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta http-equiv="refresh" content="{_RELOAD_SECONDS}">'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
            '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
            f"<title>demur monitor</title><style>{STYLE}{_OWN_STYLE}</style></head>\n<body>"
            f"{_header(known, hindrance)}<main>{''.join(parts)}{_footnotes(known)}</main>"
            f"<footer>demur {escape(__version__)}. Numbers for programs: <code>/metrics</code>, <code>/v1/live</code>, "
            f"<code>/v1/what-if</code>.</footer>\n<script>{SCRIPT}</script></body></html>\n"
        )

    def _stream(self, stream: StreamState, known: Snapshot, now: float, newest: bool) -> str:
        own = [one for one in known.windows if one.key == stream.key]
        shown = _shown(own)
        name = f"{stream.key.task}: {stream.key.head}"
        lead = f"<p>Model <code>{escape(stream.key.model)}</code>, {escape(stream.head.label)}.</p>"
        policy = known.policies.get((stream.key.task, stream.key.head))
        if shown is None:
            return f"<section><h2>{escape(name)}</h2>{lead}</section>"
        body = [
            _tiles(stream.head, shown, stream, now),
            _reasons(shown),
            self._curves(stream, shown),
            _table(stream.head, own),
            _drift(shown),
            ""
            if policy is None or policy.measure != stream.measure
            else f"<p class=note>Threshold in force: {numerals.numeral(policy.threshold)} "
            f"of <code>{escape(policy.measure)}</code> ({escape(policy.mode.replace('_', ' '))}).</p>",
        ]
        inside = f"{lead}{''.join(body)}"
        if newest:
            return f"<section><h2>{escape(name)}</h2>{inside}</section>"
        summary = f"<summary>{escape(name)}, {escape(stream.key.model)}</summary>"
        return f"<section><details>{summary}{inside}</details></section>"

    def _curves(self, stream: StreamState, shown: WindowResult) -> str:
        place = (shown.key, shown.window, shown.source, shown.end, shown.labels, shown.units)
        with self._lock:
            if place not in self._drawn:
                for old in [one for one in self._drawn if one[:3] == place[:3]]:
                    del self._drawn[old]
                self._drawn[place] = _panels(stream, shown)
            return self._drawn[place]


def _panels(stream: StreamState, shown: WindowResult) -> str:
    try:
        charts = figures(stream.head, shown, "-".join(stream.key))
    except BadFile as error:  # a library that is not installed
        return f"<p class=note>Curves are not drawn: {escape(str(error))}</p>"
    if not charts:
        return ""
    size = {1: " one", 2: " two"}[len(charts)]
    inside = "".join(
        f"<figure>{chart.inline}<figcaption>{escape(chart.message)}</figcaption></figure>" for chart in charts
    )
    return f'{legend(strokes())}<div class="panels{size}">{inside}</div>'


def _newest(known: Snapshot) -> set[StreamKey]:
    """The stream of each head that decided last; of those that have decided nothing any one."""
    found: dict[tuple[str, str], tuple[float, StreamKey]] = {}
    for one in known.windows:
        place = (one.key.task, one.key.head)
        when = one.start if one.window == LAST and one.units else 0.0
        if place not in found or when >= found[place][0]:
            found[place] = (when, one.key)
    return {key for _, key in found.values()}


def _shown(own: Sequence[WindowResult]) -> WindowResult | None:
    """The window that is drawn: the last units, or the first valid one."""
    order = sorted(own, key=lambda one: (not one.valid, one.window != LAST, one.source != "requested"))
    return order[0] if order else None


def _header(known: Snapshot, hindrance: str) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(known.time)) if known.time else "starting"
    valid = sum(one.valid for one in known.windows)
    sentence = f"{valid} of {len(known.windows)} windows valid" if known.windows else "No window yet"
    if hindrance:
        sentence = f"Not up to date: {hindrance}"
    return (
        '<header><div class="bar"><span><b>demur</b> monitor</span>'
        '<button id="theme" type="button" hidden>Dark</button></div>'
        f'<p class="kicker">Live retention, {when} UTC</p><h1 class="long">{escape(sentence)}</h1></header>'
    )


def _tiles(head: Head, one: WindowResult, stream: StreamState, now: float) -> str:
    unit = head.error_unit
    tiles: list[tuple[str, str, str]] = [
        ("Deferred", numerals.percent(one.abstained), f"of {numerals.count(one.units)} units ({_window(one)})")
    ]
    for name in ("system_error", "r_auc", "f1_at_95"):
        found = one.figures.get(name)
        if one.valid and found is not None:
            known = "1" if name in _SHARES else unit
            tiles.append((_HEADINGS[name], _value(found.estimate, known), _interval(found, known)))
    waiting = stream.requests.get("requested", 0) + stream.requests.get("claimed", 0)
    age = "none waits" if stream.oldest_request is None else f"the oldest for {_duration(now - stream.oldest_request)}"
    tiles.append(("Requests that wait", numerals.count(waiting), age))
    items = "".join(
        f'<div><dt>{escape(label)}</dt><dd><span class="value">{value}</span>'
        f'<div class="foot" style="border:0;padding:0">{escape(foot)}</div></dd></div>'
        for label, value, foot in tiles
    )
    return f'<dl class="tiles">{items}</dl>'


def _value(value: float, unit: str) -> str:
    """Large, with its unit whole behind or below it."""
    known = numerals.shown(unit)
    return f"{numerals.numeral(value, unit)}{f' <small>{escape(known)}</small>' if known else ''}"


def _reasons(one: WindowResult) -> str:
    if one.valid:
        return ""
    texts = "".join(f"<p>{escape(text)}</p>" for _, text in one.reasons)
    return f'<div class="reasons"><p class="bad">The figures of {escape(_window(one))} are withheld.</p>{texts}</div>'


def _table(head: Head, own: Sequence[WindowResult]) -> str:
    names = [name for name in _FIGURES if any(name in one.figures for one in own if one.valid)]
    headings = "".join(f"<th>{escape(_HEADINGS[name])}</th>" for name in names)
    rows = []
    for one in own:
        validity = '<span class="fine">valid</span>' if one.valid else f'<span class="bad">{_words(one)}</span>'
        cells = "".join(f"<td>{_cell(one, name, head.error_unit)}</td>" for name in names)
        completion = numerals.percent(one.completion)
        rows.append(
            f"<tr><th>{escape(_window(one))}</th><td>{validity}</td><td class=num>{numerals.count(one.units)}</td>"
            f"<td class=num>{numerals.count(one.labels)}</td><td class=num>{numerals.percent(one.abstained)}</td>"
            f"<td class=num>{completion}</td>{cells}</tr>"
        )
    error = glossary.heading(glossary.error(head.error).label)
    unit = f", {numerals.shown(head.error_unit)}" if numerals.shown(head.error_unit) else ""
    return (
        f'<div class="scroll"><table><caption><span>All windows. Errors: {escape(error + unit)}; below each figure '
        "its 95 % interval.</span></caption><thead><tr><th>Window</th><th></th><th class=num>Units</th>"
        "<th class=num>Labels</th><th class=num>Deferred</th><th class=num>Requests done</th>"
        f"{headings}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(one: WindowResult, name: str, unit: str) -> str:
    found = one.figures.get(name)
    if not one.valid or found is None:
        return f'<span class="none">{numerals.MISSING}</span>'
    known = "1" if name in _SHARES else unit
    return f"{numerals.numeral(found.estimate, known)}<br><small>{escape(_interval(found, known))}</small>"


def _drift(one: WindowResult) -> str:
    known = one.drift
    said = []
    if known.psi == known.psi:
        said.append(
            f"Uncertainty against in-domain data: population stability index {numerals.numeral(known.psi)} "
            f"({numerals.numeral(known.psi_expected)} by chance)."
        )
    wealth = numerals.numeral(known.log_wealth)
    said.append(f"Change of the uncertainty since the first unit: {_alarm(known.alarm)} (log wealth {wealth}).")
    if one.risk.baseline:
        wealth = numerals.numeral(one.risk.log_wealth)
        said.append(f"Rise of the risk above the {one.risk.baseline}: {_alarm(one.risk.alarm)} (log wealth {wealth}).")
    items = "".join(f"<li>{escape(text)}</li>" for text in said)
    return f'<h3>Drift</h3><ul class="notes">{items}</ul>'


def _footnotes(known: Snapshot) -> str:
    ledgers = "".join(
        f"<dt><code>{escape(one.url)}</code></dt><dd>{escape(one.problem or _READ[one.caught_up])}</dd>"
        for one in known.ledgers
    )
    labels = "".join(
        f"<dt>{escape(task)}, {escape(source)}</dt><dd>{numerals.count(count)} {escape(verdict)}</dd>"
        for (task, source, verdict), count in sorted(known.labels.items())
    )
    return f'<section><h2>Read from</h2><dl class="words">{ledgers}{labels}</dl></section>' if ledgers else ""


def _alarm(given: bool) -> str:
    return "alarm" if given else "no alarm"


def _words(one: WindowResult) -> str:
    return escape(", ".join(dict.fromkeys(word.replace("_", " ") for word, _ in one.reasons)))


def _window(one: WindowResult) -> str:
    name = "the last units" if one.window == LAST else f"the last {one.window}"
    return name if one.source == "requested" else f"{name}, {_SOURCES.get(one.source, one.source)}"


def _interval(found: Estimate, unit: str) -> str:
    return f"{numerals.numeral(found.low, unit)} to {numerals.numeral(found.high, unit)}"


def _duration(seconds: float) -> str:
    for size, word in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f}{numerals.THIN}{word}"
    return f"{max(seconds, 0):.0f}{numerals.THIN}s"
