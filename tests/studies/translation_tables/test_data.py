"""Which lines are judged: held out, never trained on, tests whole, the canary not at all."""

from pathlib import Path

import pytest

from studies.translation_tables import data
from studies.translation_tables.data import near
from studies.translation_tables.plan import Plan, capped
from tests.studies.translation_tables import made

PLAN = Plan(cap=20, public=100, compared=10)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.folder(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def known(source: Path) -> data.Data:
    return data.read(source, PLAN)


def test_every_set_is_there(known: data.Data) -> None:
    assert set(known.sets) == {
        *(*data.HELD, *data.SHIFTED, *data.WMT22, *data.WMT24),
        *(data.NTREX, data.TATOEBA, data.CALIBRATION, data.COMPARED),
    }
    assert all(known.sets.values())


def test_nothing_judged_was_trained_on_or_calibrates(known: data.Data) -> None:
    trained = {pair.english for pair in known.folder.train.pairs}
    calibrating = {pair.english for pair in known.sets[data.CALIBRATION]}
    assert {pair.domain for pair in known.folder.train.pairs} == set(data.TRAINED)
    for name in data.HELD:
        assert not calibrating & {pair.english for pair in known.sets[name]}
    for name in data.SHIFTED:
        assert {pair.domain for pair in known.sets[name]} == {name}
        assert not trained & {pair.english for pair in known.sets[name]}


def test_larger_sets_are_evenly_thinned(known: data.Data) -> None:
    assert len(known.sets["social"]) == 20
    assert capped(tuple(range(100)), 5) == (0, 24, 49, 74, 99)
    assert capped((), 5) == ()


def test_sources_with_other_licences_are_left_out(known: data.Data) -> None:
    pairs = (*known.folder.train.pairs, *known.folder.valid.pairs, *known.folder.shifted.pairs)
    assert not {pair.key for pair in pairs} & set(data.WITHOUT)


def test_the_canary_is_never_read_on(known: data.Data) -> None:
    assert sum(len(known.sets[name]) for name in data.WMT24) == 16
    assert all(made.CANARY not in pair.english for lines in known.sets.values() for pair in lines)


def test_compared_lines_are_held_out_and_shifted(known: data.Data) -> None:
    domains = [pair.domain for pair in known.sets[data.COMPARED]]
    assert len(domains) == 10
    assert sum(domain in data.SHIFTED for domain in domains) == 5


def test_sides_of_different_length_are_refused(tmp_path: Path) -> None:
    folder = made.folder(tmp_path, 12, 12)
    (folder / "ntrex128" / "ref.ru.txt").write_text("одна\n")
    with pytest.raises(ValueError, match="6 sources, 1 references"):
        data.read(folder, PLAN)


def test_members_of_other_pairs_are_refused(known: data.Data, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    corpus = f'"corpus": "{known.folder.train.fingerprint}"'
    (tmp_path / "data" / "training.json").write_text(f'{{{corpus}, "dev": "{known.folder.valid.fingerprint}"}}')
    data.check_trained_on(tmp_path, known.folder)
    (tmp_path / "data" / "training.json").write_text(f'{{{corpus}, "dev": "0"}}')
    with pytest.raises(ValueError, match="was trained with a dev of fingerprint 0"):
        data.check_trained_on(tmp_path, known.folder)


def test_where_data_are_missing_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMUR_TEST_DATA", str(tmp_path))
    with pytest.raises(LookupError, match="set DEMUR_TEST_DATA"):
        data.folder()


@pytest.mark.parametrize(
    ("sentence", "is_near"),
    [
        ("Tom reads a book.", True),
        ("A BOOK reads Tom", True),
        ("Tom reads a letter.", True),
        ("Tom writes a letter.", False),
        ("Tom reads a book every day.", False),
        ("Tom reads.", False),
        ("Nobody came!", False),
        ("...", False),
    ],
)
def test_near_is_to_share_three_of_four_words_of_the_longer_one(sentence: str, is_near: bool) -> None:
    assert near([sentence], ["Tom reads a book.", "Mary slept."]).tolist() == [is_near]


def test_real_public_sets_have_their_lines(test_data: Path) -> None:
    source = test_data / "translation"
    if not (source / "wmt24").is_dir():
        pytest.skip(f"no real sentences at {source}")
    counts = {name: len(lines) for name, lines in data.public(source).items()}
    assert sum(counts[name] for name in data.WMT22) == 2037
    assert [counts[name] for name in data.WMT24] == [149, 531, 111, 206]
    assert (counts[data.NTREX], counts[data.TATOEBA]) == (1997, 1000)
