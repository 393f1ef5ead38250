"""What ``demur calibrate`` prints for people."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from services.cli.evaluate_text import table

MOST_GROUPS = 200


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The outcome for all units, then the groups, one a row."""
    yield document["file"]
    for name, text in _outcome(document):
        yield textwrap.fill(f"{name:<9}  {text}", 118, subsequent_indent=" " * 11)
    if desk := document.get("desk"):
        yield (
            f"desk: {desk['deferrals_per_hour']:.4g} deferrals per hour keep {desk['reviewers']} reviewers "
            f"{desk['busy']:.0%} busy; mean wait {desk['wait_seconds']:.3g} s"
        )
    if groups := document.get("groups"):
        yield ""
        yield from _groups(document["by"], groups)
    yield from (f"note: {note}" for note in document["notes"])


def _outcome(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and text of each thing that is known."""
    threshold, certificate, judged = found["threshold"], found["certificate"], found["judged"]
    if threshold is None:
        yield ("threshold", found["reason"])
    else:
        yield ("threshold", f"{threshold:.9g}: answer where {found['measure']} is at most this")
    yield ("retention", f"{found['retention']:.4f} of {found['n']} units")
    if certificate is not None:
        yield ("promise", certificate["statement"])
        yield ("rests on", _evidence(certificate))
        yield ("procedure", certificate["procedure"])
        yield ("valid", f"{certificate['issued']} to {certificate['expires']}, for this model and score")
    if judged is not None:
        risk = (
            "" if judged["risk"] is None or not judged["answered"] else f"; risk of these {_interval(judged['risk'])}"
        )
        share = _interval(judged["retention"])
        yield ("judged", f"on {judged['n']} other units: {judged['answered']} answered, {share}{risk}")


def _groups(column: str, groups: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    shown = sorted(groups, key=lambda value: -groups[value]["n"])[:MOST_GROUPS]
    rows = [
        [value, str(one["n"]), _threshold(one["threshold"]), f"{one['retention']:.4f}", one["reason"]]
        for value, one in groups.items()
        if value in set(shown)
    ]
    reasons: Sequence[str] = [row.pop() for row in rows]
    text = list(table([column, "units", "threshold", "retention"], rows))
    yield text[0]
    yield from (f"{line}  {reason}".rstrip() for line, reason in zip(text[1:], reasons, strict=True))
    if len(shown) < len(groups):
        yield f"the {len(shown)} largest of {len(groups)} groups; --json has all"


def _evidence(certificate: Mapping[str, Any]) -> str:
    parts = [f"{certificate['n']} units", f"{certificate['answered']} of them answered"]
    if certificate["loss"] is not None:
        parts.append(f"with a loss of {certificate['loss']:g}")
    if certificate["pvalue"] is not None:
        parts.append(f"p = {certificate['pvalue']:.3g}")
    return ", ".join(parts)


def _interval(one: Mapping[str, float]) -> str:
    return f"{one['estimate']:.4f} [{one['low']:.4f}, {one['high']:.4f}]"


def _threshold(value: float | None) -> str:
    return "none" if value is None else f"{value:.6g}"
