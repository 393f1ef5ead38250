"""Pairs as numbers: which are kept, that they come back, and how they meet in batches."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.tasks.translation.data.corpus import Corpus, Pair
from models.tasks.translation.data.examples import Examples, batches, examples, marked_pairs, pad
from models.tasks.translation.text.vocabulary import END, PAD, UNKNOWN
from tests.models.translation import made


def kept(english: str, russian: str, longest: int = 64) -> bool:
    return bool(len(examples(Corpus((Pair("d", "k", english, russian),)), made.pieces(), longest)))


def test_pairs_that_can_be_learnt_are_kept() -> None:
    assert kept("The dog sees 7 houses.", "Собака видит 7 домов.")
    assert not kept("The dog sees 7 houses.", "Собака видит 8 домов.")
    assert not kept("The dog 日 sees.", "Собака видит.")
    assert not kept("The dog sees.", "Собака 日 видит.")
    assert kept("The café.", "Кафе\u0301.")  # accents fall off
    assert not kept("The dog sees a house.", "Собака видит дом.", longest=3)


def test_examples_end_and_know_everything() -> None:
    encoded = examples(made.corpus(40), made.pieces(), 64)
    assert len(encoded) == 40
    assert encoded.domains[:4] == ("everyday", "docs", "everyday", "docs")
    for side in (*encoded.source, *encoded.target):
        assert side[-1] == END
        assert UNKNOWN not in side
    assert [pair for pair, *_ in marked_pairs(made.corpus(40))] == list(made.corpus(40).pairs)
    assert encoded.lengths.tolist() == [
        [len(source), len(target)] for source, target in zip(encoded.source, encoded.target, strict=True)
    ]


@pytest.mark.parametrize("count", [0, 1, 17])
def test_examples_come_back_from_their_file(tmp_path: Path, count: int) -> None:
    encoded = examples(made.corpus(count), made.pieces(), 64)
    encoded.save(tmp_path / "pairs.npz")
    again = Examples.load(tmp_path / "pairs.npz")
    assert again == encoded
    assert again.fingerprint == encoded.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.npz"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pairs.npz"
    encoded = examples(made.corpus(5), made.pieces(), 64)
    encoded.save(path)
    whole = path.read_bytes()
    for content in (b"", b"garbage", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"."):
            Examples.load(path)
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(ValueError, match="holds no pairs"):
        Examples.load(path)
    np.savez(path, source=np.zeros(3), lengths=np.zeros((1, 2), int))
    with pytest.raises(ValueError, match="holds no pairs"):
        Examples.load(path)
    np.savez(path, source=np.zeros(3), target=np.zeros(2), lengths=np.array([[2, 2]]), domains=np.array(["a"]))
    with pytest.raises(ValueError, match="not those of its 1 pairs"):
        Examples.load(path)


def test_fingerprints_tell_tokens_sides_and_domains() -> None:
    prints = {
        Examples(*fields).fingerprint
        for fields in (
            ((), (), ()),
            (((5, 2),), ((6, 2),), ("a",)),
            (((6, 2),), ((5, 2),), ("a",)),
            (((5, 2),), ((6, 2),), ("b",)),
            (((5, 2), (6, 2)), ((6, 2), (5, 2)), ("a", "a")),
            (((5,), (2, 6, 2)), ((6, 2), (5, 2)), ("a", "a")),
        )
    }
    assert len(prints) == 6


def test_rows_are_padded_at_the_right() -> None:
    assert pad([(5, 2), (6, 7, 2), ()]).tolist() == [[5, 2, PAD], [6, 7, 2], [PAD] * 3]
    encoded = Examples(((5, 2), (6, 7, 2)), ((8, 2), (2,)), ("a", "b"))
    source, target = encoded.padded([1, 0])
    assert source.tolist() == [[6, 7, 2], [5, 2, PAD]]
    assert target.tolist() == [[2, PAD], [8, 2]]
    assert encoded.take(np.array([1])) == Examples(((6, 7, 2),), ((2,),), ("b",))


@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=80),
    st.integers(1, 200),
    st.integers(0, 3),
)
def test_batches_hold_every_row_once_within_their_limit(lengths: list[tuple[int, int]], most: int, seed: int) -> None:
    sides = np.array(lengths, np.int64).reshape(-1, 2)
    drawn = batches(sides, most, (seed, 0))
    assert sorted(row for rows in drawn for row in rows.tolist()) == list(range(len(lengths)))
    for rows in drawn:
        assert len(rows) == 1 or len(rows) * int(sides[rows].max(axis=0).sum()) <= most
    again = batches(sides, most, (seed, 0))
    assert all(np.array_equal(first, other) for first, other in zip(drawn, again, strict=True))


def test_epochs_differ_in_order_and_company() -> None:
    lengths = np.random.default_rng(0).integers(3, 20, size=(300, 2))
    first, other = (batches(lengths, 200, (7, epoch)) for epoch in (0, 1))
    assert first[0].tolist() != other[0].tolist()
    assert {frozenset(rows.tolist()) for rows in first} != {frozenset(rows.tolist()) for rows in other}
    padded = sum(len(rows) * int(lengths[rows].max(axis=0).sum()) for rows in first)
    assert padded < 1.6 * lengths.sum()  # like lengths meet
