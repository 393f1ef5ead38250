"""Names of files and columns for display: short, unique and free of control characters."""

from collections.abc import Sequence
from itertools import takewhile
from pathlib import PurePath

LONGEST_LABEL = 34


def clean(text: str) -> str:
    """Return text that every file format can hold: control characters and broken bytes become U+FFFD."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in whole)


def labels(sources: Sequence[str]) -> list[str]:
    """Return short, unique names of files: the last parts of their paths, long ones cut in the middle."""
    paths = [PurePath(source) for source in sources]
    deepest = max((len(path.parts) for path in paths), default=1)
    for depth in range(1, deepest + 1):
        names = [str(PurePath(*path.parts[-depth:])) for path in paths]
        if len(set(names)) == len(set(sources)):
            break
    names = [clean(name) for name in names]
    chosen: list[str] = []
    for name in _shortened(names):
        number, unique = 2, name
        while unique in chosen:
            number, unique = number + 1, f"{name} ({number})"
        chosen.append(unique)
    return chosen


def _shortened(names: Sequence[str]) -> list[str]:
    """Return names of at most LONGEST_LABEL letters; names that would look the same lose their common beginning."""
    short = [_short(name) for name in names]
    for twin in {name for name in short if short.count(name) > 1}:
        places = [place for place, name in enumerate(short) if name == twin]
        letters = zip(*(names[place] for place in places), strict=False)
        common = sum(1 for _ in takewhile(lambda alike: len(set(alike)) == 1, letters))
        for place in places:
            if len(names[place]) > common > 0:
                short[place] = _short(f"…{names[place][common:]}")
    return short


def _short(name: str) -> str:
    if len(name) <= LONGEST_LABEL:
        return name
    half = (LONGEST_LABEL - 1) // 2
    return f"{name[:half]}…{name[-half:]}"
