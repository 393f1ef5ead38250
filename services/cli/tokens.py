"""``demur tokens``: access tokens, which docs/security.md describes."""

import fcntl
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
from click import Choice, argument, option

from services.access.token_file import replace as write_file
from services.access.token_file import tokens_of
from services.access.tokens import SCOPES, SOURCES, Token, TokensError, check_name, hashed, mint, read, write
from services.cli.options import CONTEXT, Options, command, exclusive, json_option
from services.cli.output import BadInput, CommandError, print_json
from services.cli.processes import MONITOR
from services.cli.task_name import TaskName
from services.runtime.settings import Settings

OVERLAP_HOURS = 24.0


class Moment(click.ParamType[datetime]):
    """Time with an offset, in ISO 8601."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the time that a text names."""
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = datetime.min
        if moment.tzinfo is None:
            self.fail(f"must be a time with an offset, as in 2027-01-31T12:00:00Z; got {value!r}", param, ctx)
        return moment


file_option = option("--file", type=Path, help="Token file.  [default: DEMUR_TOKENS, or tokens.toml in DEMUR_HOME]")
days_option = option("--days", type=float, help="Days until the token expires.  [default: never]")
expires_option = option("--expires", type=Moment(), help="Expiry of the token, such as 2027-01-31T12:00:00Z.")


@click.group(epilog="Example: demur tokens create bridge --scope predict --days 90", context_settings=CONTEXT)
def tokens() -> None:
    """Create, list, revoke and rotate access tokens; see docs/security.md."""


@command("create", example="demur tokens create bridge --scope predict --days 90")
@file_option
@argument("name")
@option("--scope", multiple=True, required=True, type=Choice(SCOPES), help="Scope; may be repeated.")
@option("--task", multiple=True, type=TaskName(MONITOR), help="Task; may be repeated.  [default: all]")
@option("--source", multiple=True, type=Choice(SOURCES), help="Source of labels; may be repeated.  [default: all]")
@option("--requests-per-second", type=float, metavar="RATE", help="Limit of calls.  [default: none]")
@option("--burst", type=float, metavar="CALLS", help="Limit of calls at once.  [default: those of a second]")
@option("--units-per-second", type=float, metavar="RATE", help="Limit of rows and so on.  [default: none]")
@option("--not-before", type=Moment(), help="Start of validity, such as 2027-01-31T12:00:00Z.")
@days_option
@expires_option
def create(options: Options) -> int:
    """Create a token for NAME and print it once; only its hash is kept.

    The ledger shows NAME: 1 to 64 letters, digits, spaces and ._@/-
    """
    exclusive(options, "days", "expires")
    with _changed(options) as (path, known):
        try:
            check_name(options.name)
        except TokensError as error:
            raise BadInput(str(error)) from error
        identity, text = mint()
        token = Token(
            id=identity,
            name=options.name,
            sha256=hashed(text),
            scopes=frozenset(options.scope),
            tasks=frozenset(options.task) or None,
            sources=frozenset(options.source or SOURCES),
            created=_now(),
            not_before=options.not_before,
            expires=_expiry(options),
            requests_per_second=options.requests_per_second,
            burst=options.burst,
            units_per_second=options.units_per_second,
        )
        _save(path, [*known, token])
        return _print_new(path, token, text)


@command("list", example="demur tokens list --json")
@file_option
@json_option
def list_command(options: Options) -> int:
    """List tokens, without their secrets."""
    with _failures(path := _path(options)):
        known = list(tokens_of(path).by_id.values())
    if options.json:
        print_json({"tokens": [_document(token) for token in known]})
        return 0
    now = _now()
    for token in known:
        state = "no end"
        if token.expires is not None:
            state = "expired" if token.expires <= now else f"until {token.expires.astimezone(UTC):%Y-%m-%d %H:%M}"
        tasks = "all" if token.tasks is None else ",".join(sorted(token.tasks))
        print(f"{token.id}  {token.name:<20} {state:<22} {','.join(sorted(token.scopes)):<24} {tasks}")
    return 0


@command("revoke", example="demur tokens revoke bridge")
@file_option
@argument("what")
def revoke(options: Options) -> int:
    """Revoke the token with id WHAT, or all tokens with name WHAT; services notice within seconds."""
    with _changed(options) as (path, known):
        revoked = [token for token in known if options.what in (token.id, token.name)]
        if not revoked:
            raise CommandError(f"{path} has no token {options.what!r}; `demur tokens list` lists its tokens")
        _save(path, [token for token in known if token not in revoked])
        for token in revoked:
            print(f"revoked {token.id} of {token.name}", file=sys.stderr)
        return 0


@command("rotate", example="demur tokens rotate bridge --days 90")
@file_option
@days_option
@expires_option
@argument("name")
@option(
    "--overlap-hours",
    type=float,
    default=OVERLAP_HOURS,
    show_default=True,
    metavar="HOURS",
    help="Hours for which the old tokens stay valid.",
)
def rotate(options: Options) -> int:
    """Create a token like the last one of NAME; its other tokens end after a while."""
    exclusive(options, "days", "expires")
    with _changed(options) as (path, known):
        own = [token for token in known if token.name == options.name]
        if not own:
            raise CommandError(f"{path} has no token of {options.name!r}; `demur tokens list` lists its tokens")
        end = _now() + timedelta(hours=options.overlap_hours)
        identity, text = mint()
        new = replace(
            own[-1], id=identity, sha256=hashed(text), created=_now(), not_before=None, expires=_expiry(options)
        )
        ending = [
            replace(token, expires=end if token.expires is None else min(token.expires, end))
            if token.name == options.name
            else token
            for token in known
        ]
        _save(path, [*ending, new])
        print(f"the other tokens of {options.name} end at {end.isoformat(timespec='seconds')}", file=sys.stderr)
        return _print_new(path, new, text)


for _command in (create, list_command, revoke, rotate):
    tokens.add_command(_command)


def _path(options: Options) -> Path:
    settings = Settings.read()
    return options.file or Path(settings.tokens or settings.home / "tokens.toml")


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    """Raise failures of the token file as failures of the command."""
    try:
        yield
    except TokensError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{path}: {error}") from error


@contextmanager
def _changed(options: Options) -> Iterator[tuple[Path, list[Token]]]:
    """Lock the token file against other changes; return its path and tokens."""
    path = _path(options)
    with _failures(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_name(f".{path.name}.lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield path, list(tokens_of(path).by_id.values())


def _save(path: Path, tokens: Sequence[Token]) -> None:
    try:
        read(write(tokens))  # what services would refuse is not written
    except TokensError as error:
        raise BadInput(str(error)) from error
    write_file(path, tokens)


def _print_new(path: Path, token: Token, text: str) -> int:
    """Print a token to standard output, which holds nothing else."""
    print(f"{token.id} of {token.name} is in {path}; the token, which is not shown again:", file=sys.stderr)
    print(text)
    return 0


def _document(token: Token) -> dict[str, Any]:
    values = {field.name: getattr(token, field.name) for field in fields(Token)}
    return {
        name: sorted(value) if isinstance(value, frozenset) else value
        for name, value in values.items()
        if value is not None and name != "sha256"
    }


def _expiry(options: Options) -> datetime | None:
    if options.days is not None:
        if not 0 < options.days <= 36_500:
            raise BadInput(f"--days = {options.days:g}: must be above 0 and at most 36 500")
        return _now() + timedelta(days=options.days)
    expires: datetime | None = options.expires
    return expires


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
