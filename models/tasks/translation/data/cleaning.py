"""Which training pairs the released recipe keeps: rules on tokenised lines, then on their pieces.

``cleaned`` is what ``clean_nmt_data.py`` does to Moses' tokens of both sides; ``for_validation`` and ``short`` come
after it. The recipe's validation set is not shortened: its script overwrites the shortened files with whole ones.
"""

from __future__ import annotations

import hashlib
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

Pair = TypeVar("Pair")
Lines = tuple[str, str]
"""A sentence and its translation: tokens, one space between."""

LONGEST = 1024
"""Tokens."""
ALIKE = 0.05
"""Sides that share so much of their words are no translations of each other; below is kept."""
EVERY = 100
"""Each such line is for validation."""
LONGEST_PIECES, RATIO = 250, 1.5
_REPLACEMENT = "\ufffd"
_NO_WORDS = frozenset(string.digits + string.punctuation)


def fault(english: str, russian: str) -> str | None:
    """Why a pair of tokenised lines is left out, in words; None where it is kept."""
    ours, theirs = english.split(" "), russian.split(" ")
    longest = max(len(ours), len(theirs))
    if longest > LONGEST:
        return f"{longest} tokens; at most {LONGEST} are kept"
    if _REPLACEMENT in english or _REPLACEMENT in russian:
        return "letters were lost (U+FFFD)"
    if not any(ours) or not any(theirs):
        return "an empty side"
    shared = likeness(ours, theirs)
    if shared >= ALIKE:
        return f"{shared:.3g} of the words are on both sides; less than {ALIKE} is kept"
    if english == russian:
        return "two equal sides"
    return None


def likeness(english: Sequence[str], russian: Sequence[str]) -> float:
    """Jaccard's coefficient of two bags of words, of those that are more than digits and punctuation; 0 without any."""
    ours, theirs = (Counter(word for word in side if not _NO_WORDS.issuperset(word)) for side in (english, russian))
    both = (ours & theirs).total()
    either = ours.total() + theirs.total() - both
    return both / either if either else 0.0


def cleaned(pairs: Iterable[Pair], lines: Callable[[Pair], Lines]) -> Iterator[Pair]:
    """The pairs whose tokenised lines have no fault, each once, where it comes first."""
    seen: set[bytes] = set()
    for pair in pairs:
        english, russian = lines(pair)
        if fault(english, russian) is not None:
            continue
        mark = hashlib.blake2b(f"{english}\n{russian}".encode(errors="surrogatepass"), digest_size=16).digest()
        if mark not in seen:
            seen.add(mark)
            yield pair


def for_validation(number: int) -> bool:
    """Return whether the pair of this number, counted from 1 among those kept, is for validation: every hundredth."""
    return number % EVERY == 0


def short(english: Sequence[str], russian: Sequence[str]) -> bool:
    """Whether a pair of pieces is short and even enough to train with (``clean-corpus-n.perl -ratio 1.5 1 250``)."""
    ours, theirs = len(english), len(russian)
    return min(ours, theirs) > 0 and max(ours, theirs) <= min(LONGEST_PIECES, RATIO * min(ours, theirs))
