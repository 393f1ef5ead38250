"""The search: company changes nothing, marks come once, hypotheses end where they must."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.tasks.translation.inference.decoding.beams import Hypothesis, Rules
from models.tasks.translation.inference.decoding.composition import composed
from models.tasks.translation.inference.decoding.decoder import Batch, Decoder, Source, joined, search, settled
from models.tasks.translation.networks.settings import Sizes
from models.tasks.translation.text.vocabulary import END
from tests.models.translation import made

SIZES = Sizes(120, 120, 32, 4, 48, 1, 2)
RULES = Rules(longest=30, longest_factor=1.5, marks=range(4, 16), forbidden=(0, 1, 3))
SENTENCES = made.sources(13, 120)

Found = dict[Any, tuple[Hypothesis, ...]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graphs")


@pytest.fixture(scope="module")
def decoder(folder: Path) -> Decoder:
    return made.decoder(made.networks(SIZES, 2), SIZES, RULES, folder)


@pytest.fixture(scope="module")
def alone(decoder: Decoder) -> Found:
    """Every sentence decoded by itself."""
    return {name: hypotheses for sentence in SENTENCES for name, hypotheses in search(decoder, [sentence], width=1)}


def assert_same(actual: Found, expected: Found, near: float | None = None) -> None:
    """Check for the same tokens, and numbers that differ by ``near`` at most; None: as roundings of float32 may."""
    near = made.near(expected) if near is None else near
    assert actual.keys() == expected.keys()
    for name, hypotheses in actual.items():
        assert [hypothesis.tokens.tolist() for hypothesis in hypotheses] == [
            hypothesis.tokens.tolist() for hypothesis in expected[name]
        ], name
        for first, other in zip(hypotheses, expected[name], strict=True):
            assert first.score == pytest.approx(other.score, abs=near)
            np.testing.assert_allclose(first.log_probabilities, other.log_probabilities, rtol=0, atol=near)
            np.testing.assert_allclose(first.values, other.values, rtol=0, atol=near)


@pytest.mark.parametrize("width", [1, 2, 5, 13, 40])
def test_company_changes_nothing(decoder: Decoder, alone: Found, width: int) -> None:
    assert_same(dict(search(decoder, SENTENCES, width=width)), alone)
    assert_same(dict(search(decoder, SENTENCES[::-1], width=width)), alone)


def test_the_same_search_finds_the_same_to_the_last_bit(decoder: Decoder) -> None:
    first, again = (dict(search(decoder, SENTENCES, width=4)) for _ in range(2))
    for name, hypotheses in first.items():
        for left, other in zip(hypotheses, again[name], strict=True):
            assert left.tokens.tobytes() == other.tokens.tobytes()
            assert left.values.tobytes() == other.values.tobytes()
            assert left.scores == other.scores


def test_eight_bits_do_not_depend_on_company(folder: Path) -> None:
    """Rows are scaled by themselves. What is not eight bits is summed in another order, which may turn a level.

    A level turned, one of 127 up to a row's largest value, moves a logarithm by some 0.003: six may turn on the way to
    one. With a common scale of all rows 0.04 is usual, and other tokens come.
    """
    quantised = made.decoder(made.networks(SIZES, 2), SIZES, RULES, folder, precision="int8")
    own = {name: hypotheses for sentence in SENTENCES[:8] for name, hypotheses in search(quantised, [sentence])}
    assert_same(dict(search(quantised, SENTENCES[:8], width=6)), own, 0.02)


def finished(batches: list[Batch], decoder: Decoder) -> Found:
    """Several callers' batches, always in one pass."""
    results: Found = {}
    while batches:
        left = []
        for batch in decoder.together(batches):
            rest, done = settled(batch)
            results |= dict(done)
            left += [] if rest is None else [rest]
        batches = left
    return results


def test_callers_share_passes(decoder: Decoder, alone: Found) -> None:
    parts = SENTENCES[:4], SENTENCES[4:5], SENTENCES[5:]
    assert_same(finished([decoder.read(part) for part in parts], decoder), alone)


def test_callers_come_and_go(decoder: Decoder, alone: Found) -> None:
    """One starts three tokens later, and passes hold now one, now the other, now both in another order."""
    older = decoder.read(SENTENCES[:5])
    for _ in range(3):
        older = decoder.step(older)
    younger = decoder.read(SENTENCES[5:])
    results: Found = {}
    batches: dict[str, Batch] = {"older": older, "younger": younger}
    for step in range(60):
        order = sorted(batches, reverse=bool(step % 2))[: 1 + step % 3]
        for name, batch in zip(order, decoder.together([batches[name] for name in order]), strict=True):
            rest, done = settled(batch)
            results |= dict(done)
            if rest is None:
                del batches[name]
            else:
                batches[name] = rest
        if not batches:
            break
    assert_same(results, alone)


def test_nothing_is_copied_while_the_company_stays(decoder: Decoder) -> None:
    batch = decoder.step(decoder.read(SENTENCES[:3]))
    inside, past = composed([(batch.inside, batch.sentences, batch.past)])
    assert inside is batch.inside
    assert np.array_equal(past, batch.past)
    after = decoder.step(batch)
    for name, values in batch.inside.memory.items():
        assert after.inside.memory[name] is values
    assert after.inside.hidden is batch.inside.hidden
    first, other = decoder.together([decoder.read(SENTENCES[:2]), decoder.read(SENTENCES[2:4])])
    assert first.inside is other.inside  # the same company again is found as it was
    again, _ = composed([(part.inside, part.sentences, part.past) for part in (first, other)])
    assert again is first.inside


def test_who_leaves_takes_memory_and_past_along(decoder: Decoder) -> None:
    batch = decoder.read(SENTENCES[:4])
    for _ in range(4):
        batch = decoder.step(batch)
    left = batch.take(np.array([2, 0]))
    assert left.inside is batch.inside  # until it is decoded
    inside, past = composed([(left.inside, left.sentences, left.past)])
    longest = max(len(SENTENCES[number].tokens) for number in (2, 0))
    assert inside.hidden.shape == (2, longest)
    assert len(inside) == 2
    assert past.sum(axis=1).tolist() == [4] * 10
    columns = past.reshape(2, 5, -1).any(axis=1).sum(axis=1).max()
    assert columns < 20  # what hypotheses share is there once, what no one looks at is not
    assert {cache.shape for cache in inside.caches.values()} == {(2, 4, columns, 8)}
    for name, cache in inside.caches.items():
        for row, seen in enumerate(past):
            expected = left.inside.caches[name][left.sentences[row // 5]][:, left.past[row]]
            assert np.array_equal(cache[row // 5][:, seen], expected)


def test_columns_that_nobody_looks_at_are_left_out(decoder: Decoder) -> None:
    """Twenty steps of five hypotheses: never twice as many columns as anybody's past, and no fewer than 64."""
    batch = decoder.read([Source(0, [*range(20, 60), END])])
    for step in range(1, 21):
        batch = decoder.step(batch)
        (columns,) = {cache.shape[2] for cache in batch.inside.caches.values()}
        assert batch.past.shape == (5, columns)
        assert (batch.past.sum(axis=1) == step).all()
    assert columns < 20 * 5


def test_joined_batches_are_one(decoder: Decoder, alone: Found) -> None:
    batch = decoder.read(SENTENCES[:2])
    for number in range(2, 13):
        batch = joined([decoder.step(batch), decoder.read(SENTENCES[number : number + 1])])
        if len(batch) > 2 and batch.beams.done.any():
            break
    results = finished([batch], decoder)
    assert_same(results, {name: alone[name] for name in results})
    assert len(results) > 3


def test_hypotheses_keep_to_the_rules(alone: Found) -> None:
    for sentence in SENTENCES:
        hypotheses = alone[sentence.name]
        most = RULES.most(len(sentence.tokens))
        assert len(hypotheses) == RULES.beam
        assert [candidate.score for candidate in hypotheses] == sorted(
            (candidate.score for candidate in hypotheses), reverse=True
        )
        assert len({tuple(candidate.tokens.tolist()) for candidate in hypotheses}) == RULES.beam
        for hypothesis in hypotheses:
            tokens = hypothesis.tokens.tolist()
            assert tokens[-1] == END
            assert END not in tokens[:-1]
            assert 2 <= len(tokens) <= most
            assert not set(tokens) & {0, 1, 3}
            assert sorted(token for token in tokens if 4 <= token < 16) == list(range(4, 4 + sentence.marks))
            assert len(hypothesis.log_probabilities) == hypothesis.values.shape[1] == len(tokens)


def marks_of(hypothesis: Hypothesis) -> list[int]:
    return sorted(token for token in hypothesis.tokens.tolist() if 4 <= token < 16)


def test_marks_are_said_even_by_who_never_would(folder: Path) -> None:
    networks = made.networks(SIZES, 2)
    for network in networks:
        network.decoder.layer_norm.bias.data -= network.decoder.embed_tokens.weight.data[4:16].sum(axis=0) * 3
    decoder = made.decoder(networks, SIZES, RULES, folder)
    sentences = [Source(number, [20, 21, *range(4, 4 + number), END], number) for number in range(6)]
    for name, hypotheses in search(decoder, sentences):
        assert [marks_of(hypothesis) for hypothesis in hypotheses] == [list(range(4, 4 + name))] * RULES.beam
    short = made.decoder(networks, SIZES, replace(RULES, longest=4, longest_factor=0), folder)
    for name, hypotheses in search(short, sentences):
        assert {len(marks_of(hypothesis)) for hypothesis in hypotheses} == {min(name, 3)}


@pytest.mark.parametrize("longest", [2, 3, 5])
def test_hypotheses_end_at_their_longest(folder: Path, longest: int) -> None:
    rules = replace(RULES, longest=longest, longest_factor=0.0, marks=range(0))
    decoder = made.decoder(made.networks(SIZES, 1), SIZES, rules, folder)
    for _, hypotheses in search(decoder, SENTENCES[:4]):
        assert len(hypotheses) == rules.beam
        assert all(2 <= len(hypothesis.tokens) <= longest for hypothesis in hypotheses)
        assert all(hypothesis.tokens[-1] == END for hypothesis in hypotheses)


@pytest.mark.parametrize("given", [{"beam": 0}, {"longest": 1}, {"longest_factor": -0.1}])
def test_rules_that_cannot_be(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="beam is at least 1"):
        Rules(**given)
    assert Rules(longest=50, longest_factor=2.0).most(7) == 24
    assert Rules(longest=20, longest_factor=2.0).most(7) == 20
    assert Rules(longest=20).most(700) == 20


def test_a_beam_of_one_is_greedy(folder: Path) -> None:
    rules = replace(RULES, beam=1, marks=range(0))
    networks = made.networks(SIZES, 1)
    decoder = made.decoder(networks, SIZES, rules, folder)
    source = SENTENCES[0]
    ((_, (hypothesis,)),) = search(decoder, [source])
    tokens: list[int] = []
    while not tokens or tokens[-1] != END:
        logs = made.heard(networks[0], source.tokens, [*tokens, 0])[-1]
        logs[[0, 1, 3]] = -np.inf
        if not tokens:
            logs[END] = -np.inf
        last = len(tokens) + 1 == rules.most(len(source.tokens))
        tokens.append(END if last else int(logs.argmax()))
    assert hypothesis.tokens.tolist() == tokens
