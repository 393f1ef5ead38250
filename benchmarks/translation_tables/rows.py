"""What the tables have a line for: sets, alone or together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.translation_tables.data import HELD, NTREX, SHIFTED, TATOEBA, WMT22, WMT24
from benchmarks.translation_tables.kept import Kept, joined

Loads = Callable[[str], Kept]
"""A set, by name, as one model translated it."""
IN, AWAY, FULL, APART = "in", "shifted", "full", "tatoeba-apart"


@dataclass(frozen=True)
class Row:
    """A line of the tables."""

    name: str
    title: str
    sets: tuple[str, ...]
    apart: bool = False
    """Without lines that are near to a training sentence."""

    def kept(self, loads: Loads, near: frozenset[str]) -> Kept:
        """Its lines.

        Args:
            near: sentences that have one in training that is almost the same.
        """
        found = joined([loads(name) for name in self.sets])
        if not self.apart:
            return found
        return found.take(np.array([pair.english not in near for pair in found.pairs], bool))


def shifted(row: Row, loads: Loads) -> NDArray[np.bool_]:
    """Of each of its lines, whether it is of no domain that was trained on."""
    return np.concatenate([np.full(len(loads(name)), name not in HELD) for name in row.sets])


_ALL_SHIFTED = "all shifted"
ROWS = (
    Row(IN, "**held out**", HELD),
    *(Row(name, name.removeprefix("held-"), (name,)) for name in HELD),
    Row(AWAY, f"**{_ALL_SHIFTED}**", SHIFTED),
    *(Row(name, name, (name,)) for name in SHIFTED),
    Row(FULL, "**held out and shifted**", (*HELD, *SHIFTED)),
    Row("wmt22", "**WMT22**", WMT22),
    *(Row(name, name.replace("wmt22-", "WMT22 "), (name,)) for name in WMT22),
    Row(NTREX, "**NTREX-128** (news)", (NTREX,)),
    Row(TATOEBA, "**Tatoeba1000** (everyday)", (TATOEBA,)),
    Row(APART, "Tatoeba1000 without near-duplicates", (TATOEBA,), apart=True),
    Row("wmt24", "**WMT24**", WMT24),
    *(Row(name, name.replace("wmt24-", "WMT24 "), (name,)) for name in WMT24),
)
MAIN = (IN, AWAY, FULL)
PUBLIC = ("wmt22", NTREX, TATOEBA, "wmt24")
"""All of each public test set."""
BY_NAME = {row.name: row for row in ROWS}
