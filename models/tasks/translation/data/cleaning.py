"""Selection of training pairs as in the released recipe: rules on tokenised lines, then on their pieces.

``cleaned`` does the same as ``clean_nmt_data.py`` on Moses' tokens of both sides; ``for_validation`` and ``short`` come
after it. The recipe's validation set is not shortened: its script overwrites the shortened files with whole ones.
"""

import hashlib
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

Pair = TypeVar("Pair")
Lines = tuple[str, str]
"""A sentence and its translation: tokens separated by single spaces."""

LONGEST = 1024
"""Largest number of tokens of a line."""
ALIKE = 0.05
"""Least share of common words for which two sides are not accepted as translations of each other."""
EVERY = 100
"""Interval of lines that are used for validation."""
LONGEST_PIECES, RATIO = 250, 1.5
_REPLACEMENT = "\ufffd"
_NO_WORDS = frozenset(string.digits + string.punctuation)


def fault(english: str, russian: str) -> str | None:
    """Return the reason to leave out a pair of tokenised lines, or None if it is kept."""
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
    """Return Jaccard's coefficient of two bags of words, 0 without words.

    Words of only digits and punctuation do not count.
    """
    ours, theirs = (Counter(word for word in side if not _NO_WORDS.issuperset(word)) for side in (english, russian))
    both = (ours & theirs).total()
    either = ours.total() + theirs.total() - both
    return both / either if either else 0.0


def cleaned(pairs: Iterable[Pair], lines: Callable[[Pair], Lines]) -> Iterator[Pair]:
    """Yield the pairs whose tokenised lines have no fault, without duplicates."""
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
    """Return whether the pair of this number is for validation: every hundredth, counted from 1 among the kept ones."""
    return number % EVERY == 0


def short(english: Sequence[str], russian: Sequence[str]) -> bool:
    """Return whether a pair of pieces is short and even enough for training.

    As ``clean-corpus-n.perl -ratio 1.5 1 250``.
    """
    ours, theirs = len(english), len(russian)
    return min(ours, theirs) > 0 and max(ours, theirs) <= min(LONGEST_PIECES, RATIO * min(ours, theirs))
