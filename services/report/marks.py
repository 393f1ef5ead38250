"""Samples of strokes beside names, as the figures draw them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from services.report.palette import Key, stroke


def swatch(series: Key) -> str:
    """A short stroke of a series, as inline SVG."""
    pen = stroke(series)
    dashes = f' stroke-dasharray="{" ".join(f"{length:g}" for length in pen.dash)}"' if pen.dash else ""
    return (
        '<svg class="swatch" viewBox="0 0 30 10" aria-hidden="true"><path d="M1 5H29" fill="none" '
        f'style="stroke: var(--{pen.ink})" stroke-width="{pen.width + 0.4:g}"{dashes}/></svg>'
    )


def named(series: Key, name: str) -> str:
    """A name behind its stroke."""
    return f'<span class="series">{swatch(series)}<span>{escape(name)}</span></span>'


def legend(entries: Sequence[tuple[str, Key]]) -> str:
    """Names with their strokes; nothing without entries."""
    if not entries:
        return ""
    items = "".join(f"<li>{named(key, label)}</li>" for label, key in entries)
    return f'<ul class="legend">{items}</ul>'
