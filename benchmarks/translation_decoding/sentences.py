"""What whole searches translate: real sentences where they are at hand, else random tokens of like lengths."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benchmarks.translation_decoding import ensembles
from benchmarks.translation_decoding.ensembles import Members
from models.tasks.translation.inference import members
from models.tasks.translation.inference.decoding.decoder import Source

ROOT = Path(__file__).resolve().parents[2]
SETS = ("tatoeba1000", "wmt22")


def sources(given: Members, count: int) -> tuple[str, list[Source]]:
    """So many sentences of both sets in turn, short enough to be translated whole; and what they are."""
    folder = Path(os.environ.get("DEMUR_TEST_DATA", ROOT.parent / "shared" / "data")) / "translation"
    files = [folder / name / "src.en.txt" for name in SETS]
    if given.ensemble is None or not all(file.exists() for file in files):
        found = ensembles.tokens(count, given.sizes.source)
        return "random tokens", [Source(number, tokens) for number, tokens in enumerate(found)]
    recipe = given.ensemble.recipe
    tokeniser = members.tokeniser(recipe, given.ensemble.tokeniser)
    every = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    chosen: list[Source] = []
    for row in np.random.default_rng(0).permutation(len(every)):
        sentence = tokeniser.sentence(every[row])
        if 1 < len(sentence.tokens) <= recipe.longest_sentence and len(sentence.literals) <= recipe.marks:
            chosen.append(Source(len(chosen), sentence.tokens, len(sentence.literals)))
        if len(chosen) == count:
            break
    return "real sentences", chosen
