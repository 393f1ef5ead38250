"""What a client takes from the environment, and what goes before it."""

from pathlib import Path

import pytest

import demur
from demur._connection import Access, access, metadata


def test_without_anything_nothing_is_added() -> None:
    assert access(None, None, None, {}) == Access(None, None, None)
    assert metadata(None) is None
    assert metadata(None, "anna") == (("demur-actor", "anna"),)


def test_the_environment_says_what_the_caller_does_not(tmp_path: Path) -> None:
    names = ("DEMUR_TOKEN_FILE", "DEMUR_ROOTS", "DEMUR_CLIENT_CERTIFICATE", "DEMUR_CLIENT_KEY")
    environment = {}
    for name in names:
        (tmp_path / name).write_text(f"{name}\n")
        environment[name] = str(tmp_path / name)
    settings = access(None, None, None, environment)
    assert settings == Access(
        "DEMUR_TOKEN_FILE", b"DEMUR_ROOTS\n", (b"DEMUR_CLIENT_CERTIFICATE\n", b"DEMUR_CLIENT_KEY\n")
    )
    assert access("mine", b"roots", (b"c", b"k"), environment) == Access("mine", b"roots", (b"c", b"k"))
    assert access(None, None, None, environment | {"DEMUR_TOKEN": "said"}).token == "said"
    assert access("", False, None, environment) == Access(None, False, None)


def test_a_certificate_alone_means_the_roots_of_the_system() -> None:
    assert access(None, None, (b"c", b"k"), {}).tls is True


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"DEMUR_ROOTS": "/none"}, "DEMUR_ROOTS = /none"),
        ({"DEMUR_TOKEN_FILE": "/none"}, "DEMUR_TOKEN_FILE = /none"),
        ({"DEMUR_CLIENT_KEY": __file__}, "go together"),
    ],
)
def test_what_cannot_be_read_is_named(environment: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        access(None, None, None, environment)


def test_a_certificate_never_goes_over_plain_text() -> None:
    with pytest.raises(ValueError, match="a certificate needs TLS"):
        access(None, False, (b"c", b"k"), {})


def test_a_token_says_who_it_is() -> None:
    assert metadata("t", "anna") == (("authorization", "Bearer t"),)


def test_a_token_of_the_environment_does_not_travel_in_clear_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMUR_TOKEN", "secret")
    with pytest.raises(ValueError, match="would travel in clear text"):
        demur.connect("example.org:4005")
    demur.connect("127.0.0.1:1").close()
