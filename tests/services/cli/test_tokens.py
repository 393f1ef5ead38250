"""``demur tokens``: what is printed, what is kept, and what services then take."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from services.access.token_file import tokens_of
from services.cli import main


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEMUR_HOME", str(tmp_path))
    monkeypatch.delenv("DEMUR_TOKENS", raising=False)
    return tmp_path / "tokens.toml"


def made(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The token that a command printed: standard output holds nothing else."""
    assert main(["tokens", *words]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("demur_")
    assert out.strip() not in err
    return out.strip()


def test_a_token_is_printed_once_and_kept_as_a_hash(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = made(capsys, "create", "bridge", "--scope", "predict", "--scope", "label", "--days", "30")
    assert text not in path.read_text()
    token = tokens_of(path).matching(text)
    assert token is not None
    assert (token.name, token.scopes) == ("bridge", {"predict", "label"})
    assert token.expires is not None
    assert 29 < (token.expires - datetime.now(UTC)).total_seconds() / 86_400 <= 30
    assert main(["tokens", "list"]) == 0
    assert text[23:] not in capsys.readouterr().out
    assert main(["tokens", "list", "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)["tokens"]
    assert shown["name"] == "bridge"
    assert "sha256" not in shown


def test_a_rotation_overlaps(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = made(capsys, "create", "bridge", "--scope", "predict", "--task", "monitor", "--requests-per-second", "5")
    new = made(capsys, "rotate", "bridge", "--overlap-hours", "2", "--days", "90")
    tokens = tokens_of(path)
    before, after = tokens.matching(old), tokens.matching(new)
    assert before is not None
    assert after is not None
    assert before.expires is not None
    assert 1.9 < (before.expires - datetime.now(UTC)).total_seconds() / 3600 <= 2
    assert (after.scopes, after.tasks, after.requests_per_second) == (before.scopes, before.tasks, 5.0)
    assert after.expires is not None
    assert after.expires > before.expires


def test_what_is_revoked_is_gone(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = made(capsys, "create", "bridge", "--scope", "predict")
    second = made(capsys, "create", "bridge", "--scope", "predict")
    third = made(capsys, "create", "chief", "--scope", "policy")
    assert main(["tokens", "revoke", first[6:22]]) == 0
    assert [tokens_of(path).matching(token) is not None for token in (first, second, third)] == [False, True, True]
    assert main(["tokens", "revoke", "bridge"]) == 0
    assert [tokens_of(path).matching(token) is not None for token in (first, second, third)] == [False, False, True]
    assert main(["tokens", "revoke", "bridge"]) == 1
    assert "has no token 'bridge'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["create", "settings", "--scope", "predict"], "name = 'settings'"),
        (["create", "bridge", "--scope", "predict", "--burst", "5"], "burst: 1 or more"),
        (["create", "bridge", "--scope", "predict", "--days", "-1"], "--days = -1"),
        (["rotate", "nobody"], "has no token of 'nobody'"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_written(
    path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["tokens", *words]) != 0
    assert message in capsys.readouterr().err
    assert not path.exists()
