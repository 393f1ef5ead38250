"""Colours and strokes of page and figures, for a light and a dark theme.

Figures are drawn in the light colours. Each colour has one purpose, so that a figure inside the page can refer to the
purpose (a CSS variable) instead of the colour and follow the theme. Series colours are those of Okabe and Ito,
darkened or lightened to at least 4.5 : 1 against the paper; dashes tell them apart without colour.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ink:
    """Colour of one purpose in both themes, as #rrggbb."""

    light: str
    dark: str


INKS: dict[str, Ink] = {
    "paper": Ink("#fffefb", "#14161a"),
    "raised": Ink("#f5f3ec", "#1d2026"),
    "ink": Ink("#1a1a1c", "#eceae4"),
    "soft": Ink("#56565c", "#a9abb2"),
    "rule": Ink("#d8d5cb", "#363a43"),
    "grid": Ink("#e9e6dd", "#282b32"),
    "link": Ink("#0b5a8f", "#7cc0ee"),
    "series-1": Ink("#0069a8", "#5ab4ec"),
    "series-2": Ink("#b84a00", "#f2994d"),
    "series-3": Ink("#00745a", "#35c79a"),
    "series-4": Ink("#9b3f86", "#e59ac8"),
    "series-5": Ink("#736000", "#e3d254"),
    "series-6": Ink("#4a4e9e", "#a3a8f5"),
    "random": Ink("#6e6e75", "#8f929b"),
    "optimal": Ink("#6c6c74", "#90929c"),
    "plain": Ink("#5b6470", "#9fa8b4"),
    "marked": Ink("#a8174f", "#ff86ae"),
}
SERIES = tuple(name for name in INKS if name.startswith("series-"))

Dash = tuple[float, ...]
DASHES: tuple[Dash, ...] = ((), (7.0, 2.5), (7.0, 2.0, 1.6, 2.0), (2.4, 1.8), (11.0, 2.0, 2.0, 2.0, 2.0, 2.0))
"""On and off lengths of lines in pixels; () is solid. With six colours they repeat after thirty series."""
_NAMED: dict[str, tuple[Dash, float]] = {
    "random": ((1.4, 2.2), 1.4),
    "optimal": ((4.0, 2.2), 1.4),
    "plain": ((), 1.6),
    "marked": ((5.0, 1.8), 1.6),
}


@dataclass(frozen=True, slots=True)
class Stroke:
    """Colour, dash and width of a series."""

    ink: str
    """Name in ``INKS``."""
    dash: Dash
    width: float
    """Pixels."""


Key = int | str
"""Key of a series: a file by its place, a reference (``random``, ``optimal``) or a class (``plain``, ``marked``)."""


def stroke(key: Key) -> Stroke:
    """Return the stroke of a series.

    Raises:
        KeyError: an unknown name.
    """
    if isinstance(key, str):
        return Stroke(key, *_NAMED[key])
    return Stroke(SERIES[key % len(SERIES)], DASHES[key % len(DASHES)], 2.0)
