"""Files of tokens, which `demur tokens` writes and people edit, and what callers show for one."""

from datetime import UTC, datetime
from pathlib import Path

from services.access.tokens import Token, TokensError, hashed, mint, read, write
from tests.fuzz.target import Decoder, Target


def files() -> Target:
    """Files: what is taken can be written, and says the same when it is read again."""

    def opened(folder: Path) -> Decoder:
        issued = []
        for name, scopes, more in (
            ("bridge", {"predict"}, {"requests_per_second": 5.0, "burst": 9.0, "tasks": frozenset({"vessel"})}),
            ("people", {"label", "review"}, {"expires": datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)}),
        ):
            identity, secret = mint()
            issued.append(Token(id=identity, name=name, sha256=hashed(secret), scopes=frozenset(scopes), **more))

        def decode(case: bytes) -> None:
            tokens = read(case)
            again = read(write(tokens.by_id.values()))
            assert {token.id: token.name for token in again.by_id.values()} == {
                o.id: o.name for o in tokens.by_id.values()
            }

        return Decoder([write(issued), write(issued[:1])], decode, (TokensError,))

    return Target(3_000, opened)


def shown() -> Target:
    """Texts of callers: none that was changed is taken."""

    def opened(folder: Path) -> Decoder:
        identity, secret = mint()
        token = Token(id=identity, name="bridge", sha256=hashed(secret), scopes=frozenset({"predict"}))
        tokens = read(write([token]))

        def decode(case: bytes) -> None:
            text = case.decode("latin-1")
            assert (tokens.matching(text) is not None) == (text == secret), (
                "another token was taken, or its own was not"
            )

        return Decoder([secret.encode()], decode, ())

    return Target(3_000, opened)


TARGETS: dict[str, Target] = {"tokens": files(), "tokens-shown": shown()}
