"""Text preparation of the released recipe with Moses' scripts: punctuation, tokenisation and detokenisation.

The released models only know this form: tokens between single spaces, dashes inside words split off as ``@-@``, and
eight characters escaped (``&apos;``, ``&#91;`` ...). sacremoses is a port of the scripts; if it differs from the
scripts of the recipe, this module follows the scripts: letters of all scripts are letters, a full stop that ends a
sentence is a token, and unprintable characters become spaces.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from models import extras
from models.artefact import ArtefactError

ENGLISH, RUSSIAN = "en", "ru"

_ESCAPES = (
    *(("&bar;", "|"), ("&#124;", "|"), ("&lt;", "<"), ("&gt;", ">"), ("&bra;", "["), ("&ket;", "]")),
    *(("&quot;", '"'), ("&apos;", "'"), ("&#91;", "["), ("&#93;", "]"), ("&amp;", "&")),
)
"""Replacements of Moses' detokeniser, in its order: the ampersand is the last."""
_SUPERFLUOUS = re.compile(
    r""" (?="(?:[,!?;:)]|\.(?!\.)|$))|(?<=\d:) (?=\d{1,2}\b)"""
    r"""|(?<=[A-Za-z]) (?='[A-Za-z])|(?<=[A-Za-z]') (?=[a-z]{1,2}\b)|(?<=\b[ОД]) (?='[А-Я])"""
)
"""Spaces that Moses' detokeniser leaves in Russian: before a closing quote whose opening quote is in another sentence,
in times of day and scores (15:00, 4:1), in foreign names (L'Oreal, Burt's).
"""
_LETTER = r"\p{Alphabetic}"
_NUMERIC = " #NUMERIC_ONLY#"


def library(module: str) -> Any:
    """Import a module that only released models need.

    Raises:
        ArtefactError: it is not installed; the message says how to install it.
    """
    return extras.library(module, "released translation models need", "released", ArtefactError)


def prepared(text: str, language: str = ENGLISH) -> str:
    """Normalise punctuation and remove unprintable characters of a sentence, the step before ``tokenised``.

    As ``normalize-punctuation.perl`` and ``remove-non-printing-char.perl``; not for newstest.
    """
    # the input of the script includes the end of the line, which one of its rules counts as a character
    return _visible(str(_normaliser(language).normalize(f"{text}\n")))


def newstest(text: str) -> str:
    """Prepare a sentence of newstest: the recipe only straightens the right single quote."""
    return text.replace("\u2019", "'")


def tokenised(text: str, language: str = ENGLISH) -> str:
    """Return Moses' tokens separated by single spaces, escaped, with split dashes (``tokenizer.perl -a``)."""
    return " ".join(_tokeniser(language).tokenize(text, aggressive_dash_splits=True, escape=True))


def readable(text: str, language: str = RUSSIAN) -> tuple[str, list[int]]:
    """Return the detokenised text of tokens, and the origin of each of its characters.

    Args:
        text: tokens between single spaces.

    Returns:
        The detokenised text, and for each of its characters a non-decreasing position in ``text``. A space has the
            position of its successor.
    """
    characters, places = text, list(range(len(text)))
    characters, places = _replaced(f" {characters} ", [0, *places, len(text)], " @-@ ", "-")
    for escape, plain in _ESCAPES:
        characters, places = _replaced(characters, places, escape, plain)
    detokenised = str(_detokeniser(language).detokenize(text.split()))
    # detokenising moves nothing but spaces
    visible = [place for original, place in zip(characters, places, strict=True) if not original.isspace()]
    superfluous = {space.start() for space in _SUPERFLUOUS.finditer(detokenised)}
    kept: list[str] = []
    origins: list[int] = []
    number = 0
    for place, character in enumerate(detokenised):
        if place not in superfluous:
            kept.append(character)
            origins.append(visible[number])
        number += not character.isspace()
    return "".join(kept), origins


def _replaced(text: str, places: Sequence[int], old: str, new: str) -> tuple[str, list[int]]:
    """Replace all occurrences of a part of a text by one character, and return the positions of characters."""
    parts = text.split(old)
    kept: list[int] = []
    start = 0
    for part in parts[:-1]:
        stop = start + len(part)
        kept += places[start:stop]
        kept.append(places[min(stop + len(old) - len(old.lstrip()), len(places) - 1)])
        start = stop + len(old)
    return new.join(parts), [*kept, *places[start:]]


def _visible(text: str) -> str:
    """Replace control, unassigned and private-use characters by spaces (sacremoses drops them)."""
    return "".join(" " if unicodedata.category(character)[0] == "C" else character for character in text)


@cache
def _normaliser(language: str) -> Any:
    normaliser = library("sacremoses").MosesPunctNormalizer(language, perl_parity=True, norm_numbers=False)
    if language != ENGLISH:  # the script treats all but English and Czech like German here, sacremoses three only
        normaliser.substitutions += normaliser.DE_ES_FR_QUOTATION_FOLLOWED_BY_COMMA
    normaliser.substitutions += normaliser.OTHER
    return normaliser


@cache
def _tokeniser(language: str) -> Any:
    tokeniser = library("sacremoses").MosesTokenizer(language)
    prefixes = frozenset(tokeniser.NONBREAKING_PREFIXES)
    numeric = frozenset(prefix.removesuffix(_NUMERIC) for prefix in prefixes if prefix.endswith(_NUMERIC))
    tokeniser.handles_nonbreaking_prefixes = partial(_full_stops, prefixes=prefixes, numeric=numeric)
    # the ranges of letters of sacremoses lack those of Chinese, Japanese and Korean
    pattern = library("regex").compile
    tokeniser.PAD_NOT_ISALNUM = pattern(rf"([^{_LETTER}\p{{Nd}}\s.'`,\-])"), r" \1 "
    tokeniser.AGGRESSIVE_HYPHEN_SPLIT = pattern(rf"([{_LETTER}\p{{Nd}}])-(?=[{_LETTER}\p{{Nd}}])"), r"\1 @-@ "
    tokeniser.ENGLISH_SPECIFIC_APOSTROPHE = [
        (pattern(rf"([^{_LETTER}])'([^{_LETTER}])"), r"\1 ' \2"),
        (pattern(rf"([^{_LETTER}\p{{N}}])'([{_LETTER}])"), r"\1 ' \2"),
        (pattern(rf"([{_LETTER}])'([^{_LETTER}])"), r"\1 ' \2"),
        (pattern(rf"([{_LETTER}])'([{_LETTER}])"), r"\1 '\2"),
        (pattern(r"(\p{N})'(s)"), r"\1 '\2"),
    ]
    return tokeniser


@cache
def _detokeniser(language: str) -> Any:
    return library("sacremoses").MosesDetokenizer(language)


_STOPPED = re.compile(r"(\S+)\.").fullmatch
_NUMBER = re.compile("[0-9]").match


def _full_stops(text: str, *, prefixes: frozenset[str], numeric: frozenset[str]) -> str:
    """Split full stops off words that are no abbreviations.

    The last word never is one (sacremoses has another rule for it, and searches all letters of Unicode for each word).
    """
    words = text.split()
    separated = []
    for word, following in zip(words, [*words, ""][1:], strict=True):
        stopped = _STOPPED(word)
        if stopped is None or (following and _abbreviates(stopped[1], following, prefixes, numeric)):
            separated.append(word)
        else:
            separated.append(f"{stopped[1]} .")
    return " ".join(separated)


def _abbreviates(word: str, following: str, prefixes: frozenset[str], numeric: frozenset[str]) -> bool:
    if "." in word and any(map(str.isalpha, word)):
        return True
    if (word in prefixes and word not in numeric) or following[0].islower():
        return True
    return word in numeric and _NUMBER(following) is not None
