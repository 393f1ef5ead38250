"""Appearance of a sentence in a few numbers, and remarks on sentences unlike those of training."""

import unicodedata
from collections.abc import Mapping

from models.input_warning import Feature, InputWarning, unusual
from models.tasks.translation.text.tokens import Sentence

NOT_ENGLISH = "not_english"
LEAST_LATIN = 0.5
"""Share of Latin letters below which a sentence is not translated."""


FEATURES: Mapping[str, Feature] = {
    "tokens": Feature("length", "tokens"),
    "tokens_per_word": Feature("tokens a word, many where words are rare or no words", "tokens"),
    "literal_share": Feature("share of characters that are copied, as numbers and addresses are", "1"),
    "capital_share": Feature("share of capitals among letters", "1"),
}


def measured(text: str, sentence: Sentence) -> dict[str, float]:
    """Return the features of a sentence, by the names of ``FEATURES``."""
    letters = [character for character in text if character.isalpha()]
    words = max(len(text.split()), 1)
    copied = sum(map(len, sentence.literals))
    return {
        "tokens": float(len(sentence.tokens)),
        "tokens_per_word": (len(sentence.tokens) - 1) / words,
        "literal_share": min(copied / max(len(text), 1), 1.0),
        "capital_share": sum(letter.isupper() for letter in letters) / max(len(letters), 1),
    }


def latin_share(text: str) -> float:
    """Return the share of Latin letters among all letters; 1 without letters."""
    letters = [character for character in text if character.isalpha()]
    if not letters:
        return 1.0
    return sum("LATIN" in unicodedata.name(letter, "") for letter in letters) / len(letters)


def remarks(text: str, sentence: Sentence, typical: Mapping[str, tuple[float, float]]) -> tuple[InputWarning, ...]:
    """Return the remarks on a sentence.

    Args:
        typical: range of training sentences (the middle 99 %) by feature; values beyond it by more than half its width
            are remarked on. Features without a range are not checked; the share of Latin letters always is.
    """
    warnings = []
    if (share := latin_share(text)) < LEAST_LATIN:
        warnings.append(
            InputWarning(
                code=NOT_ENGLISH,
                message=f"{share:.0%} of the letters are Latin: this is not translated from English; it stands as it "
                "came, and is deferred",
                value=share,
                unit="1",
                lower=LEAST_LATIN,
                upper=1.0,
            )
        )
    return (*warnings, *unusual(measured(text, sentence), typical, FEATURES, "training sentences"))
