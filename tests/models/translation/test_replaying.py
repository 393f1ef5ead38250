"""Replay sets of translation: sentences in UTF-8, shuffled from a fixed seed."""

import numpy as np
import pytest

from models import npz
from models.tasks.translation.artefact.replay_set import decoded, encode

KNOWN = [f"Sentence number {number}." for number in range(20)]
OTHERS = ["Überall ist Ruh.", "«Quoted», he said — 12 °C."]


def test_sentences_come_back() -> None:
    sentences = decoded(npz.decode(encode(KNOWN, OTHERS), 1 << 20))
    assert sorted(sentences) == sorted([*KNOWN, *OTHERS])
    assert sentences != sorted(sentences), "the first n are of all kinds"
    assert encode(KNOWN, OTHERS) == encode(KNOWN, OTHERS)
    fewer = decoded(npz.decode(encode(KNOWN, OTHERS, 9), 1 << 20))
    assert len(fewer) == 9
    assert set(OTHERS) <= set(fewer)


DAMAGED = {
    "no sentence": ({"ends": np.zeros(0, np.uint32)}, "do not ascend"),
    "ends too soon": ({"ends": np.array([2, 3], np.uint32)}, "do not ascend"),
    "goes back": ({"ends": np.array([3, 2, 4], np.uint32)}, "do not ascend"),
    "an empty one": ({"ends": np.array([0, 4], np.uint32)}, "do not ascend"),
    "half a letter": ({"ends": np.array([1, 4], np.uint32)}, "not UTF-8"),
    "other numbers": ({"ends": np.array([4], np.int64)}, "uint32"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_sentences_are_refused(case: str) -> None:
    change, reason = DAMAGED[case]
    arrays = {"text": np.frombuffer("üab".encode(), np.uint8), "ends": np.array([3, 4], np.uint32)}
    assert decoded(arrays) == ["üa", "b"]
    with pytest.raises(npz.BadArrays, match=reason):
        decoded(arrays | change)
