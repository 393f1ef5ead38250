"""Example sentences for readers: the most and the least uncertain of the quotable sets, doubtful words in bold."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import machine
from studies import pages
from studies.translation_tables.data import TATOEBA
from studies.translation_tables.judge import ScoredLines
from studies.translation_tables.kept import Doubt, Kept

SHOWN = 5
"""Number of the most and of the least uncertain sentences of each set."""
SHORTEST, LONGEST = 3, 16
"""Range of the number of words of a quoted English sentence."""
QUOTED = {
    TATOEBA: "Tatoeba (the 1,000 sentences of LASER's test set), contributors of tatoeba.org, CC BY 2.0 FR",
    "held-medical": "TICO-19, Translation Initiative for COVID-19, CC0, held out",
}
"""Sets whose licences allow quotation, with their attribution; nothing else is quoted."""
LEVEL = 0.9
"""Share of words of held-out translations that are less doubtful than a word in bold."""
_WORD = re.compile(r"\S+")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")
_ORDERS = (("Most doubted", True), ("Least doubted", False))


@dataclass(frozen=True)
class Example:
    """Sentence with its translation, reference and uncertainty."""

    english: str
    translation: str
    doubts: tuple[Doubt, ...]
    reference: str
    uncertainty: float
    """SCR-PE, nats a token."""
    error: float
    """Error, 100 - eGLEU."""


def examples(lines: ScoredLines, most: bool) -> list[Example]:
    """Return the most or the least uncertain short sentences, each text once."""
    ranks = lines.ranks()
    short = [SHORTEST <= len(pair.english.split()) <= LONGEST for pair in lines.kept.pairs]
    usable = np.flatnonzero(np.array(short, bool) & lines.kept.whole)
    order = usable[np.argsort(-ranks[usable] if most else ranks[usable], kind="stable")]
    by_source: dict[str, Example] = {}
    for row in order.tolist():
        pair = lines.kept.pairs[row]
        by_source.setdefault(
            pair.english,
            Example(
                pair.english,
                lines.kept.texts[row][0],
                lines.kept.doubts[row],
                pair.russian,
                float(ranks[row]),
                float(lines.errors[row]),
            ),
        )
        if len(by_source) == SHOWN:
            break
    return list(by_source.values())


def limit(kept: Kept) -> float:
    """Return the doubt that ``LEVEL`` of the words of these translations do not reach, nats."""
    every = [
        doubt
        for text, doubts in zip(kept.first, kept.doubts, strict=True)
        if doubts
        for _, _, doubt in words(text, doubts)
    ]
    return float(np.quantile(every, LEVEL)) if every else float("inf")


def words(text: str, doubts: Sequence[Doubt]) -> list[Doubt]:
    """Return each word of a translation with the doubt of its most doubtful token."""
    spans = []
    for word in _WORD.finditer(text):
        inside = [total for start, stop, total in doubts if start < word.end() and stop > word.start()]
        spans.append((word.start(), word.end(), max(inside, default=0.0)))
    return spans


def marked(text: str, doubts: Sequence[Doubt], above: float) -> str:
    """Return Markdown of a translation with its doubtful words in bold."""
    parts = []
    for start, stop, doubt in words(text, doubts):
        word = plain(text[start:stop])
        parts.append(f"**{word}**" if doubt > above else word)
    return " ".join(parts)


def plain(text: str) -> str:
    """Escape text for a Markdown table."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def page(judged: dict[str, ScoredLines], above: float, threshold: float, models: Sequence[str]) -> str:
    """Return the page above the hand-written part.

    Args:
        judged: the quoted sets under the ensemble, by name.
        above: doubt of a word in bold, nats.
        threshold: SCR-PE above which a sentence is deferred, nats a token.
        models: lines on the ensemble.
    """
    tables = [
        block
        for name, lines in judged.items()
        for title, most in _ORDERS
        for block in (f"## {title}: {QUOTED[name]}", _table(examples(lines, most), above, threshold))
    ]
    return pages.document(
        "# Translations to be read",
        f"{pages.written_by('translation_tables')[:-1]}: what an ensemble doubts most "
        f"and least, among sentences of {SHORTEST} to {LONGEST} words. Chosen by uncertainty alone, not by how "
        "the translations look; [figures](quality/translation.md) are of whole sets.",
        pages.bullets(
            *models,
            "Uncertainty is SCR-PE, mean over five hypotheses, nats a token; a service defers sentences above "
            f"{threshold:.3f}. Error is 100 - eGLEU against the one reference: another good translation counts as "
            "wrong.",
            f"**Bold**: a word one of whose tokens has an entropy above {above:.2f} nats, more than {LEVEL:.0%} of "
            "the words in translations of held-out in-domain sentences.",
            f"{machine.line()}.",
        ),
        *tables,
    )


def _table(shown: Sequence[Example], above: float, threshold: float) -> str:
    rows = (
        (
            plain(example.english),
            marked(example.translation, example.doubts, above),
            plain(example.reference),
            f"{example.uncertainty:.2f}",
            f"{example.error:.0f}",
            "deferred" if np.float32(example.uncertainty) > np.float32(threshold) else "answered",
        )
        for example in shown
    )
    return pages.table(("English", "translation", "reference", "SCR-PE", "error", ""), rows)
