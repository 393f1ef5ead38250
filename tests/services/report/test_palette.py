"""Colours that can be read, and replaced without mistake."""

from services.report.palette import DASHES, INKS, SERIES, stroke


def luminance(colour: str) -> float:
    """Relative luminance (Web Content Accessibility Guidelines 2.1)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, other: str) -> float:
    low, high = sorted((luminance(first), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_all_that_is_written_or_drawn_has_enough_contrast_in_both_themes() -> None:
    for theme in ("light", "dark"):
        for paper in ("paper", "raised"):
            behind = getattr(INKS[paper], theme)
            for name in ("ink", "soft", "link", "random", "optimal", "plain", "marked", *SERIES):
                assert contrast(getattr(INKS[name], theme), behind) >= 4.5, (theme, paper, name)


def test_each_light_colour_has_one_purpose() -> None:
    colours = [ink.light for ink in INKS.values()]
    assert len(set(colours)) == len(colours)


def test_five_files_differ_in_colour_and_in_dash() -> None:
    strokes = [stroke(place) for place in range(5)]
    assert len({style.ink for style in strokes}) == len({style.dash for style in strokes}) == 5
    assert len(DASHES) == 5


def test_there_is_a_stroke_for_any_number_of_files() -> None:
    assert stroke(1000).ink in INKS
