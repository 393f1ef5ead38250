"""Tokens as text, as entries of a file, and what is refused of both."""

import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.access.token_file import TokenFile, tokens_of
from services.access.token_file import replace as write_file
from services.access.tokens import (
    SCOPES,
    SOURCES,
    Token,
    Tokens,
    TokensError,
    hashed,
    looks_like_one,
    mint,
    read,
    write,
)

moments = st.none() | st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=0)
)
numbers = st.none() | st.floats(0.001, 1e9)


@st.composite
def entries(draw: st.DrawFn) -> Token:
    rate = draw(numbers)
    return Token(
        id=draw(st.integers(0, 2**64 - 1)).to_bytes(8, "big").hex(),
        name=draw(st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._@/-]{0,40}[A-Za-z0-9])?", fullmatch=True)) + "x",
        sha256=draw(st.binary(min_size=32, max_size=32)).hex(),
        scopes=draw(st.frozensets(st.sampled_from(SCOPES), min_size=1)),
        tasks=draw(st.none() | st.frozensets(st.sampled_from(["rows", "texts", "monitor"]))),
        sources=draw(st.frozensets(st.sampled_from(SOURCES))),
        created=draw(moments),
        not_before=draw(moments),
        expires=draw(moments),
        requests_per_second=rate,
        burst=None if rate is None else draw(st.none() | st.floats(1, 1e9)),
        units_per_second=draw(numbers),
    )


@given(st.lists(entries(), max_size=5, unique_by=(lambda token: token.id, lambda item: item.name)))
def test_what_is_written_is_read(tokens: list[Token]) -> None:
    assert list(read(write(tokens)).by_id.values()) == tokens


def entry(text: str, **more: object) -> Token:
    return replace(Token(id=text[6:22], name="anna", sha256=hashed(text), scopes=frozenset(["predict"])), **more)  # type: ignore[arg-type]


def test_only_the_whole_text_is_the_token() -> None:
    identity, text = mint()
    tokens = Tokens({identity: entry(text)})
    token = tokens.matching(text)
    assert token is not None
    assert token.id == identity
    assert looks_like_one(f"q={text}")
    broken = [text[:end] for end in range(len(text))]
    broken += [text + "x", f" {text}", text.upper(), text.replace("demur_", "demur-"), "", f"{text}\n", f"{text}é"]
    assert [candidate for candidate in broken if tokens.matching(candidate) is not None] == []


@given(st.integers(0, 65), st.integers(0, 6))
def test_a_token_with_one_bit_changed_is_none(place: int, bit: int) -> None:
    identity, text = mint(lambda count: bytes(range(count)))
    tokens = Tokens({identity: entry(text)})
    changed = text[:place] + chr(ord(text[place]) ^ (1 << bit)) + text[place + 1 :]
    assert tokens.matching(changed) is None


def test_two_tokens_are_never_alike() -> None:
    made = {mint() for _ in range(1000)}
    assert len({identity for identity, _ in made}) == len({text for _, text in made}) == 1000
    assert {len(text) for _, text in made} == {66}


GOOD = f'id = "{"0" * 16}"\nname = "anna"\nsha256 = "{"0" * 64}"\nscopes = ["predict"]\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[token", "not a file of tokens"),
        ("\xff", "not a file of tokens"),
        ("tokens = 1", "found ['tokens']"),
        ("token = 1", "only tables [[token]] are taken"),
        ("token = [1]", "only tables [[token]] are taken"),
        ("[[token]]\nname = 1", "Expected `str`"),
        (f"[[token]]\n{GOOD}\n[[token]]\n{GOOD}", "is there twice"),
        (f"[[token]]\n{GOOD}secret = 'x'", "secret: no field of a token"),
        ("[[token]]\n" + GOOD.replace('"predict"', '"admin"'), "scopes = ['admin']: a list of some of predict"),
        ("[[token]]\n" + GOOD.replace('"predict"', "{}"), "scopes = [{}]"),
        ("[[token]]\n" + GOOD.replace('["predict"]', "1"), "scopes = 1"),
        ("[[token]]\n" + GOOD.replace('"predict"', ""), "scopes = []"),
        ("[[token]]\n" + GOOD.replace("anna", "settings"), "name = 'settings'"),
        ("[[token]]\n" + GOOD.replace("anna", "Anonymous"), "name = 'Anonymous'"),
        ("[[token]]\n" + GOOD.replace("anna", "a\\nb"), "name ="),
        ("[[token]]\n" + GOOD.replace("0" * 16, "0" * 15), "id: 16 hex digits"),
        ("[[token]]\n" + GOOD.replace("0" * 64, "0" * 63), "sha256: 64 hex digits"),
        (f"[[token]]\n{GOOD}expires = 2027-01-01T00:00:00", "expires = 2027-01-01 00:00:00: a time with its offset"),
        (f"[[token]]\n{GOOD}requests_per_second = 0", "requests_per_second = 0"),
        (f"[[token]]\n{GOOD}requests_per_second = nan", "requests_per_second = nan"),
        (f"[[token]]\n{GOOD}burst = 5", "burst: 1 or more, beside requests_per_second"),
        (f"[[token]]\n{GOOD}sources = ['guess']", "sources = ['guess']"),
    ],
)
def test_a_file_that_is_none_says_where(text: str, words: str) -> None:
    with pytest.raises(TokensError) as refused:
        read(text.encode("latin-1"))
    assert words in str(refused.value)


def test_a_name_has_one_set_of_limits() -> None:
    one, two = (entry(mint()[1], requests_per_second=rate) for rate in (1.0, 2.0))
    with pytest.raises(TokensError, match="other limits"):
        read(write([one, two]))


class Failures:
    def __init__(self) -> None:
        self.count = 0

    def reload_failed(self, what: str) -> None:
        self.count += 1


def test_a_changed_file_holds_and_a_broken_one_does_not(tmp_path: Path) -> None:
    path, failures = tmp_path / "deep" / "tokens.toml", Failures()
    one, two = (entry(mint()[1]) for _ in range(2))
    write_file(path, [one])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    file = TokenFile(path, failures)
    write_file(path, [one, two])
    file.reload()
    assert set(file.tokens.by_id) == {one.id, two.id}
    for content in (b"[[token", write([one])[:-10], b"\xff"):
        path.write_bytes(content)
        file.reload()
        assert set(file.tokens.by_id) == {one.id, two.id}
    path.unlink()
    file.reload()
    assert (len(file.tokens.by_id), failures.count) == (2, 4)
    write_file(path, [two])
    file.reload()
    assert set(file.tokens.by_id) == {two.id}
    assert [child.name for child in path.parent.iterdir()] == ["tokens.toml"]


def test_a_swapped_link_is_another_content(tmp_path: Path) -> None:
    """As Kubernetes swaps a mounted secret: the name stays, the folder behind the link is another."""
    one, two = (entry(mint()[1]) for _ in range(2))
    for name, token in (("first", one), ("second", two)):
        write_file(tmp_path / name / "tokens.toml", [token])
    link = tmp_path / "data"
    link.symlink_to("first")
    file = TokenFile(link / "tokens.toml", Failures())
    (tmp_path / "new").symlink_to("second")
    (tmp_path / "new").replace(link)
    file.reload()
    assert set(file.tokens.by_id) == {two.id}


def test_there_is_no_start_without_the_file(tmp_path: Path) -> None:
    with pytest.raises(TokensError, match="cannot be read"):
        TokenFile(tmp_path / "none", Failures())
    assert tokens_of(tmp_path / "none").by_id == {}
