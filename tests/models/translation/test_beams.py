"""The beam search against all sequences there are, and against a slow one written down after fairseq 0.7."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from models.tasks.translation.inference.decoding.beams import Beams, Hypothesis, MemberOutputs, Rules, joined
from models.tasks.translation.inference.decoding.decoder import Source, search
from models.tasks.translation.networks.settings import Sizes
from models.tasks.translation.text.vocabulary import END
from models.uncertainty.tokens import token_uncertainty
from tests.models.translation import made

Floats = NDArray[np.float64]
Table = Callable[[int, tuple[int, ...]], Floats]
"""Sentence and tokens before to each member's logarithms of the next, [M, V]."""

SPECIAL = 4


def table(vocabulary: int, members: int = 2, seed: int = 0) -> Table:
    """A language model that remembers everything: a random distribution after every prefix."""

    def logs(sentence: int, before: tuple[int, ...]) -> Floats:
        random = np.random.default_rng([seed, sentence, *before])
        logits = random.normal(size=(members, vocabulary)) * 1.5
        return np.asarray(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))

    return logs


def decoded(
    predict: Table, rules: Rules, lengths: list[int], marks: list[int], vocabulary: int
) -> list[list[Hypothesis]]:
    """What ``Beams`` finds for some sentences side by side."""
    members = len(predict(0, ()))
    beams = Beams.start(rules, members, range(len(lengths)), lengths, marks)
    hypotheses: list[list[Hypothesis]] = [[] for _ in lengths]
    while len(beams):
        rows = []
        for row in range(len(beams) * rules.beam):
            count = int(beams.lengths[row])
            before = tuple(beams.tokens[row, beams.tokens.shape[1] - count :].tolist())
            rows.append(predict(beams.names[row // rules.beam], before))
        logs = np.stack(rows, axis=1)  # [M, R, V]
        special = max(SPECIAL, rules.marks.stop)
        mean = np.logaddexp.reduce(logs, axis=0)[:, special:]
        few = min(2 * rules.beam, vocabulary - special)
        candidates = np.argsort(-mean, axis=1, kind="stable")[:, :few] + special
        candidate_logs = np.take_along_axis(logs, candidates[None], axis=2)
        values = token_uncertainty(logs, beams.running.loglik)
        beams, _ = beams.step(MemberOutputs(candidates, candidate_logs, logs[:, :, :special], values))
        for index in np.flatnonzero(beams.done):
            hypotheses[beams.names[index]] = sorted(beams.ended[index], key=lambda hypothesis: -hypothesis.score)
        beams = beams.take(np.flatnonzero(~beams.done))
    return hypotheses


def slow(predict: Table, rules: Rules, sentence: int, length: int, marks: int) -> list[tuple[float, tuple[int, ...]]]:
    """fairseq 0.7's search of one sentence, in lists: of the best 2 x beam continuations by their sum of logarithms
    those that end are kept if they are among the first ``beam``; the first ``beam`` of the others go on."""
    most, required = rules.most(length), set(rules.marks[:marks])
    alive: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    ended: list[tuple[float, tuple[int, ...]]] = []
    for step in range(1, most + 1):
        every = []
        for total, before in alive:
            logs = predict(sentence, before)
            pe = np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))
            missing = required - set(before)
            room = most - step
            for token, value in enumerate(pe):
                if token in rules.forbidden or (token in rules.marks and token not in missing):
                    continue
                if token == END and room and (step == 1 or missing):
                    continue
                if token != END and (not room or (missing and len(missing) >= room and token not in missing)):
                    continue
                every.append((total + float(value), (*before, token)))
        best = sorted(every, key=lambda candidate: -candidate[0])[: 2 * rules.beam]
        for rank, (total, tokens) in enumerate(best):
            if tokens[-1] == END and rank < rules.beam and len(ended) < rules.beam:
                ended.append((total / step, tokens))
        alive = [candidate for candidate in best if candidate[1][-1] != END][: rules.beam]
        if len(ended) == rules.beam or not alive:
            break
    return sorted(ended, key=lambda entry: -entry[0])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("beam", "vocabulary", "marks"), [(5, 30, 0), (5, 30, 3), (1, 12, 1), (3, 6, 0), (4, 5, 0), (8, 40, 2)]
)
def test_the_search_is_the_slow_one(seed: int, beam: int, vocabulary: int, marks: int) -> None:
    """Also where fewer continuations exist than are followed, in company of sentences of other lengths."""
    predict = table(vocabulary, seed=seed)
    rules = Rules(beam=beam, longest=9, longest_factor=0.4, marks=range(SPECIAL, SPECIAL + marks), forbidden=(0, 1, 3))
    rules = replace(rules, longest=9 if beam < 8 else 12)
    lengths, mark_counts = [3, 7, 1, 12], [number % (marks + 1) for number in range(4)]
    for sentence, hypotheses in enumerate(decoded(predict, rules, lengths, mark_counts, vocabulary)):
        expected = slow(predict, rules, sentence, lengths[sentence], mark_counts[sentence])
        assert [tuple(hypothesis.tokens.tolist()) for hypothesis in hypotheses] == [tokens for _, tokens in expected]
        np.testing.assert_allclose(
            [hypothesis.score for hypothesis in hypotheses], [score for score, _ in expected], atol=1e-9
        )


def complete(predict: Table, rules: Rules, vocabulary: int) -> list[tuple[float, tuple[int, ...]]]:
    """All hypotheses of one sentence, best first, by the logarithm of their PE probability a token."""
    tokens = [token for token in range(vocabulary) if token not in rules.forbidden and token != END]
    scored = []
    for count in range(1, rules.longest):
        for words in itertools.product(tokens, repeat=count):
            total, whole = 0.0, (*words, END)
            for place, token in enumerate(whole):
                logs = predict(0, whole[:place])
                total += float(np.logaddexp.reduce(logs[:, token]) - np.log(len(logs)))
            scored.append((total / len(whole), whole))
    return sorted(scored, reverse=True)


@pytest.mark.parametrize("seed", range(3))
def test_a_beam_that_is_wide_enough_finds_the_best_of_all(seed: int) -> None:
    """Six tokens, of which three may be said: 3 + 9 + 27 hypotheses of up to three words, and room for all."""
    predict = table(7, seed=seed)
    rules = Rules(beam=40, longest=4, forbidden=(0, 1, 3))
    every = complete(predict, rules, 7)
    assert len(every) == 39
    (hypotheses,) = decoded(predict, rules, [3], [0], 7)
    assert [tuple(hypothesis.tokens.tolist()) for hypothesis in hypotheses] == [tokens for _, tokens in every]
    np.testing.assert_allclose(
        [hypothesis.score for hypothesis in hypotheses], [score for score, _ in every], atol=1e-12
    )


def test_networks_find_the_best_of_all(tmp_path: Path) -> None:
    """The same of graphs, with every prefix said by whole-sentence passes."""
    sizes = Sizes(7, 7, 16, 2, 16, 1, 1)
    networks = made.networks(sizes, 2, ending=0)
    source = [4, 6, END]

    def said(sentence: int, before: tuple[int, ...]) -> Floats:
        return np.stack([made.heard(network, source, [*before, END])[-1] for network in networks])

    rules = Rules(beam=12, longest=3, forbidden=(0, 1, 3))
    every = complete(said, rules, 7)
    decoder = made.decoder(networks, sizes, rules, tmp_path, special=4, candidates=3)
    ((_, hypotheses),) = search(decoder, [Source("one", source)])
    assert len(every) == len(hypotheses) == 12
    assert [tuple(hypothesis.tokens.tolist()) for hypothesis in hypotheses] == [tokens for _, tokens in every]
    np.testing.assert_allclose(
        [hypothesis.score for hypothesis in hypotheses],
        [score for score, _ in every],
        rtol=0,
        atol=made.near({0: hypotheses}),
    )


def test_no_more_hypotheses_than_there_are() -> None:
    """Three tokens in two words: as many as exist, each once."""
    rules = Rules(beam=5, longest=2, forbidden=(0, 1, 3))
    (hypotheses,) = decoded(table(7), rules, [3], [0], 7)
    assert sorted(hypothesis.tokens.tolist() for hypothesis in hypotheses) == [[4, END], [5, END], [6, END]]
    rules = Rules(beam=5, longest=9, forbidden=(0, 1, 3), marks=range(4, 7))  # none of the sentence's own
    assert decoded(table(8), rules, [3], [0], 8)[0][0].tokens.tolist()[0] == 7


def test_marks_and_forbidden_tokens_are_told_in_full() -> None:
    logs = np.stack([table(9)(0, ())] * 2, axis=1)
    outputs = MemberOutputs(np.tile(np.arange(4, 9), (2, 1)), logs[:, :, 4:], logs[:, :, :4], token_uncertainty(logs))
    for rules in (Rules(beam=2, marks=range(4, 6)), Rules(beam=2, forbidden=(3, 4))):
        with pytest.raises(ValueError, match="tokens below 4 are told in full"):
            Beams.start(rules, 2, ["a"], [3], [0]).step(outputs)


def test_a_step_changes_no_old_beams() -> None:
    rules = Rules(beam=2, forbidden=(0, 1, 3))
    beams = Beams.start(rules, 2, ["a", "b"], [3, 4], [0, 0])
    logs = np.stack([table(9)(0, ())] * 4, axis=1)
    outputs = MemberOutputs(np.tile(np.arange(4, 9), (4, 1)), logs[:, :, 4:], logs[:, :, :4], token_uncertainty(logs))
    first, parents = beams.step(outputs)
    kept = first.tokens.copy(), first.running.loglik.copy()
    second, _ = first.step(outputs)
    assert beams.tokens.shape == (4, 0)
    assert beams.last.tolist() == [END] * 4
    assert np.array_equal(first.tokens, kept[0])
    assert np.array_equal(first.running.loglik, kept[1])
    assert parents.tolist() == [0, 0, 2, 2]  # all of a new sentence go on from its first
    both = joined([second, Beams.start(rules, 2, ["c"], [5], [0])])
    assert both.names == ("a", "b", "c")
    assert both.lengths.tolist() == [2, 2, 2, 2, 0, 0]
    assert both.last.tolist() == [*second.tokens[:, -1].tolist(), END, END]
    alone = both.take(np.array([2]))
    assert alone.tokens.shape == (2, 0)
    assert alone.names == ("c",)
