"""Whole searches: an ensemble against one CTranslate2 run per member with the same weights and beam."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Figure
from benchmarks.translation_decoding import ensembles
from benchmarks.translation_decoding.ensembles import Members
from benchmarks.translation_decoding.other import Candidate, Compute, Other
from models.tasks.translation.inference import members
from models.tasks.translation.inference.decoding.beams import Hypothesis, Rules
from models.tasks.translation.inference.decoding.decoder import Decoder, Source, search
from models.tasks.translation.networks.settings import Precision

ROOT = Path(__file__).resolve().parents[2]
SETS = ("tatoeba1000", "wmt22")


def sentences(ensemble: Members, count: int) -> tuple[str, list[Source]]:
    """Return ``count`` sentences of both sets in turn, short enough to be translated whole, and their description."""
    folder = Path(os.environ.get("DEMUR_TEST_DATA", ROOT.parent / "shared" / "data")) / "translation"
    files = [folder / name / "src.en.txt" for name in SETS]
    if ensemble.ensemble is None or not all(file.exists() for file in files):
        drawn = ensembles.tokens(count, ensemble.sizes.source)
        return "random tokens", [Source(number, tokens) for number, tokens in enumerate(drawn)]
    recipe = ensemble.ensemble.recipe
    tokeniser = members.tokeniser(recipe, ensemble.ensemble.tokeniser)
    every = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    chosen: list[Source] = []
    for row in np.random.default_rng(0).permutation(len(every)):
        sentence = tokeniser.sentence(every[row])
        if 1 < len(sentence.tokens) <= recipe.longest_sentence and len(sentence.literals) <= recipe.marks:
            chosen.append(Source(len(chosen), sentence.tokens, len(sentence.literals)))
        if len(chosen) == count:
            break
    return "real sentences", chosen


AT_MOST = 1.5
WIDTH = 16
"""Number of sentences that both translate side by side."""
SAME = 0.9
"""Least share of a single member's best hypotheses that both find in float32; their stopping rules differ."""
_APART = 5e-3
"""Largest difference per token of the same hypothesis, nats: CTranslate2 leaves out the end of sentence before it
normalises the first token, this project does not.
"""
_COMPARED = 48
_ROUNDS = 2  # at least
_COMPUTE: dict[Precision, Compute] = {"fp32": "float32", "int8": "int8"}


def measure(folder: Path, seconds: float, ensemble: Members, count: int) -> Iterator[Figure]:
    """Measure searches of each precision.

    Raises:
        Missing: CTranslate2 is not installed.
        RuntimeError: a single member finds other translations in CTranslate2.
    """
    what, sources = sentences(ensemble, count)
    for precision, compute in _COMPUTE.items():
        others = [Other(weights, ensemble.sizes, Path(mkdtemp(dir=folder)), compute) for weights in ensemble.weights]
        rules = replace(ensemble.rules, marks=range(0), forbidden=())
        alone = ensembles.decoder(ensemble.weights[:1], ensemble.sizes, rules, folder, precision)
        part = f"search: {precision}, {len(ensemble)} members, {len(sources)} {what}, beam {rules.beam}, batch {WIDTH}"
        share, apart = agreement(alone, others[0], [source for source in sources if not source.marks][:_COMPARED])
        if precision == "fp32" and not (share >= SAME and apart <= _APART):
            raise RuntimeError(
                f"a single member finds {share:.0%} of the best hypotheses of CTranslate2, with scores that are "
                f"{apart:.1e} nats a token apart; {SAME:.0%} and {_APART} are needed to compare their time"
            )
        yield Figure(part, "best hypotheses of one member that both find", 100 * share, "%", note=f"{apart:.1e} nats")
        yield from _compared(
            part,
            ensembles.decoder(ensemble.weights, ensemble.sizes, ensemble.rules, folder, precision),
            others,
            sources,
            seconds,
        )


def agreement(alone: Decoder, other: Other, sources: Sequence[Source]) -> tuple[float, float]:
    """Return the share of one member's best hypotheses that both find, and the difference of scores, nats a token."""
    ours = dict(search(alone, [replace(source, marks=0) for source in sources], width=WIDTH))
    theirs = _theirs(other, sources, alone.rules)
    apart = [
        abs(ours[source.name][0].score - hypotheses[0].score)
        for source, hypotheses in zip(sources, theirs, strict=True)
        if _said(ours[source.name][0]) == hypotheses[0].tokens
    ]
    return len(apart) / len(sources), max(apart, default=np.inf)


def _compared(
    part: str, decoder: Decoder, others: Sequence[Other], sources: Sequence[Source], seconds: float
) -> Iterator[Figure]:
    def ours() -> list[int]:
        return [len(hypotheses[0].tokens) for _, hypotheses in search(decoder, sources, width=WIDTH)]

    def theirs() -> list[int]:
        return [
            len(hypotheses[0].tokens) + 1 for other in others for hypotheses in _theirs(other, sources, decoder.rules)
        ]

    took, lengths = _in_turn([ours, theirs], seconds)
    own, floor = np.median(took, axis=1)
    ratios = took[0] / took[1]
    each = 1e3 / len(sources)
    yield Figure(part, "ours, a sentence", own * each, "ms", note=f"{lengths[0]:.1f} tokens")
    yield Figure(
        part, f"{len(others)} runs of CTranslate2, a sentence", floor * each, "ms", note=f"{lengths[1]:.1f} tokens"
    )
    note = f"{ratios.min():.2f} to {ratios.max():.2f} in {len(ratios)} rounds"
    yield Figure(part, "ours over CTranslate2", own / floor, "x", at_most=AT_MOST, note=note)


def _in_turn(cases: Sequence[Callable[[], list[int]]], seconds: float) -> tuple[NDArray[np.float64], list[float]]:
    """Return the process time for each case and round [cases, rounds], s, and mean lengths.

    The time is that of the process, since CTranslate2 computes on a thread of its own.
    """
    took: list[list[float]] = []
    lengths = [0.0] * len(cases)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(took) < _ROUNDS:
        row = [0.0] * len(cases)
        for number in range(len(cases)) if len(took) % 2 else reversed(range(len(cases))):
            start = time.process_time()
            counts = cases[number]()
            row[number] = time.process_time() - start
            lengths[number] = float(np.mean(counts))
        took.append(row)
    return np.array(took).T, lengths


def _theirs(other: Other, sources: Sequence[Source], rules: Rules) -> list[list[Candidate]]:
    return other.search([source.tokens for source in sources], rules.beam, WIDTH, rules.longest)


def _said(hypothesis: Hypothesis) -> tuple[int, ...]:
    return tuple(hypothesis.tokens[:-1].tolist())
