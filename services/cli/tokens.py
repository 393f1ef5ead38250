"""``demur tokens create|list|revoke|rotate``: who may do what; see docs/security.md."""

from __future__ import annotations

import argparse
import fcntl
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from services.access.token_file import replace as write_file
from services.access.token_file import tokens_of
from services.access.tokens import SCOPES, SOURCES, Token, TokensError, check_name, hashed, mint, read, write
from services.cli.output import BadInput, CommandError, print_json
from services.cli.places import MONITOR
from services.runtime.settings import Settings
from services.tasks import TENANTS

EXAMPLE = "demur tokens create bridge --scope predict --days 90"
OVERLAP_HOURS = 24.0


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="make a token; it is printed once, and only its hash is kept")
    listing = actions.add_parser("list", help="the tokens, without their secrets")
    revoke = actions.add_parser("revoke", help="end a token, or all of a name, within seconds")
    rotate = actions.add_parser("rotate", help="make a token like the last one of a name; the others end after a while")
    for action in (create, listing, revoke, rotate):
        action.add_argument("--file", type=Path, help="default: DEMUR_TOKENS, or tokens.toml in DEMUR_HOME")
    create.add_argument("name", help="who it is, in the ledger: 1 to 64 letters, digits, spaces and ._@/-")
    create.add_argument("--scope", action="append", required=True, choices=SCOPES, help="may be repeated")
    places = sorted({*TENANTS, MONITOR})
    create.add_argument("--task", action="append", choices=places, help="may be repeated; default: all")
    create.add_argument("--source", action="append", choices=SOURCES, help="of labels; may be repeated; default: all")
    create.add_argument("--requests-per-second", type=float, metavar="RATE", help="calls; default: no limit")
    create.add_argument("--burst", type=float, metavar="CALLS", help="calls at once; default: those of a second")
    create.add_argument(
        "--units-per-second", type=float, metavar="RATE", help="rows, sentences, ...; default: no limit"
    )
    create.add_argument("--not-before", type=_moment, metavar="TIME", help="such as 2027-01-31T12:00:00Z")
    for action in (create, rotate):
        term = action.add_mutually_exclusive_group()
        term.add_argument("--days", type=float, help="until it expires; default: never")
        term.add_argument("--expires", type=_moment, metavar="TIME", help="such as 2027-01-31T12:00:00Z")
    revoke.add_argument("what", help="an id, or a name")
    rotate.add_argument("name")
    rotate.add_argument(
        "--overlap-hours",
        type=float,
        default=OVERLAP_HOURS,
        metavar="HOURS",
        help=f"for which the old ones still hold; default: {OVERLAP_HOURS:g}",
    )
    listing.add_argument("--json", action="store_true", help="print a JSON document")


def run(given: argparse.Namespace) -> int:
    """Does what the action says; a token goes to standard output, all other words to standard error."""
    settings = Settings.read()
    path = given.file or Path(settings.tokens or settings.home / "tokens.toml")
    act = {"create": _create, "list": _list, "revoke": _revoke, "rotate": _rotate}[given.action]
    try:
        if given.action == "list":
            return act(given, path, list(tokens_of(path).by_id.values()))
        with _alone(path):
            return act(given, path, list(tokens_of(path).by_id.values()))
    except TokensError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{path}: {error}") from error


def _create(given: argparse.Namespace, path: Path, known: list[Token]) -> int:
    try:
        check_name(given.name)
    except TokensError as error:
        raise BadInput(str(error)) from error
    identity, text = mint()
    token = Token(
        id=identity,
        name=given.name,
        sha256=hashed(text),
        scopes=frozenset(given.scope),
        tasks=None if given.task is None else frozenset(given.task),
        sources=frozenset(SOURCES if given.source is None else given.source),
        created=_now(),
        not_before=given.not_before,
        expires=_end(given),
        requests_per_second=given.requests_per_second,
        burst=given.burst,
        units_per_second=given.units_per_second,
    )
    _save(path, [*known, token])
    return _told(path, token, text)


def _rotate(given: argparse.Namespace, path: Path, known: list[Token]) -> int:
    own = [token for token in known if token.name == given.name]
    if not own:
        raise CommandError(f"{path} has no token of {given.name!r}; `demur tokens list` shows what it has")
    end = _now() + timedelta(hours=given.overlap_hours)
    identity, text = mint()
    token = replace(own[-1], id=identity, sha256=hashed(text), created=_now(), not_before=None, expires=_end(given))
    ending = [
        replace(one, expires=end if one.expires is None else min(one.expires, end)) if one.name == given.name else one
        for one in known
    ]
    _save(path, [*ending, token])
    print(f"the others of {given.name} end at {end.isoformat(timespec='seconds')}", file=sys.stderr)
    return _told(path, token, text)


def _revoke(given: argparse.Namespace, path: Path, known: list[Token]) -> int:
    gone = [token for token in known if given.what in (token.id, token.name)]
    if not gone:
        raise CommandError(f"{path} has no token {given.what!r}; `demur tokens list` shows what it has")
    _save(path, [token for token in known if token not in gone])
    for token in gone:
        print(f"revoked {token.id} of {token.name}", file=sys.stderr)
    return 0


def _list(given: argparse.Namespace, path: Path, known: list[Token]) -> int:
    if given.json:
        print_json({"tokens": [_shown(token) for token in known]})
        return 0
    now = _now()
    for token in known:
        state = "no end"
        if token.expires is not None:
            state = "expired" if token.expires <= now else f"until {token.expires.astimezone(UTC):%Y-%m-%d %H:%M}"
        tasks = "all" if token.tasks is None else ",".join(sorted(token.tasks))
        print(f"{token.id}  {token.name:<20} {state:<22} {','.join(sorted(token.scopes)):<24} {tasks}")
    return 0


def _save(path: Path, tokens: Sequence[Token]) -> None:
    try:
        read(write(tokens))  # what services would refuse is not written
    except TokensError as error:
        raise BadInput(str(error)) from error
    write_file(path, tokens)


def _told(path: Path, token: Token, text: str) -> int:
    print(f"{token.id} of {token.name} is in {path}; the token, which is not shown again:", file=sys.stderr)
    print(text)
    return 0


def _shown(token: Token) -> dict[str, Any]:
    found = {field.name: getattr(token, field.name) for field in fields(Token)}
    return {
        name: sorted(value) if isinstance(value, frozenset) else value
        for name, value in found.items()
        if value is not None and name != "sha256"
    }


def _end(given: argparse.Namespace) -> datetime | None:
    if given.days is not None:
        if not 0 < given.days <= 36_500:
            raise BadInput(f"--days = {given.days:g}: above 0, up to 36 500")
        return _now() + timedelta(days=given.days)
    end: datetime | None = given.expires
    return end


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text!r} has no offset; give it as in 2027-01-31T12:00:00Z")
    return found


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One change at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
