"""Bearer tokens: random secrets of 256 bits, of which only the hash is kept, each with a name, scopes and limits.

A token is ``demur_<id>_<secret>``: the id, which is no secret, finds the entry, and the SHA-256 of the whole text is
compared in constant time. A fast hash is right here. Slow ones (bcrypt, argon2) protect secrets that people think of,
which can be guessed; random secrets of 256 bits cannot, however fast the hash, and a slow one would let strangers spend
the service's time by sending nonsense.
"""

import hashlib
import hmac
import json
import math
import re
import secrets
import tomllib
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal, get_args

import msgspec

Scope = Literal["predict", "label", "review", "policy", "metrics"]
"""``predict``: predict, commit units and read their resolutions; ``label``: send labels; ``review``: work on the review
queue; ``policy``: change policies, erase units, read the audit trail; ``metrics``: figures of the service and of the
monitor."""
SCOPES: tuple[Scope, ...] = get_args(Scope)
Rule = Scope | Literal["open", "any"]
"""Requirement of a route: a scope, ``any`` valid token, or none (``open``)."""
Source = Literal["requested", "census", "volunteered"]
SOURCES: tuple[Source, ...] = get_args(Source)
RESERVED = frozenset({"anonymous", "settings", "service", "retention", "other"})
"""Names that the service itself, or an unauthenticated caller, has in the ledger."""
_TEXT = re.compile(r"demur_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)
_ID = re.compile(r"[0-9a-f]{16}", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@/-]{0,63}", re.ASCII)
_NO_HASH = "0" * 64
"""Compared with where there is no entry, so that both cases take the same time."""


class TokensError(ValueError):
    """A file is not a valid token file; the message says where."""


@dataclass(frozen=True, kw_only=True)
class Token:
    """Entry of a token file; entries of the same name are one identity with one set of limits."""

    id: str
    """16 hex digits, part of the token, not secret."""
    name: str
    """Identity, recorded as the actor of labels and policies: 1 to 64 letters, digits, spaces and ``._@/-``."""
    sha256: str
    """Hash of the whole token, in hex."""
    scopes: frozenset[Scope]
    tasks: frozenset[str] | None = None
    """Services that accept it, by the name of their task, or ``monitor``; None: all."""
    sources: frozenset[Source] = frozenset(SOURCES)
    """Sources of the labels that it may send."""
    created: datetime | None = None
    not_before: datetime | None = None
    expires: datetime | None = None
    requests_per_second: float | None = None
    """Calls per second and process, a stream being one; None: no limit."""
    burst: float | None = None
    """Calls at once; None: as many as in one second, at least one."""
    units_per_second: float | None = None
    """Decided units (rows, sentences, scans) per second and process; None: no limit."""


_FIELDS = tuple(field.name for field in fields(Token))


@dataclass(frozen=True)
class Tokens:
    """All tokens of a file, by id."""

    by_id: Mapping[str, Token]

    def matching(self, text: str) -> Token | None:
        """Return the entry whose secret this text is, valid or expired."""
        parts = _TEXT.fullmatch(text)
        entry = None if parts is None else self.by_id.get(parts[1])
        known = _NO_HASH if entry is None else entry.sha256
        same = hmac.compare_digest(hashed(text), known)
        return entry if same else None


def hashed(text: str) -> str:
    """Return the hash that is kept of a token."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def mint(random: Callable[[int], bytes] = secrets.token_bytes) -> tuple[str, str]:
    """Return the id and the text of a new token."""
    identity = random(8).hex()
    body = _base64(random(32))
    return identity, f"demur_{identity}_{body}"


def looks_like_one(text: str) -> bool:
    """Return True if a text contains what may be a token."""
    return "demur_" in text and re.search(r"demur_[0-9a-f]{16}_", text) is not None


def read(content: bytes) -> Tokens:
    """Parse a token file.

    Raises:
        TokensError: it is not TOML of this form, an entry is invalid, or an id occurs twice.
    """
    try:
        document = tomllib.loads(content.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise TokensError(f"not a file of tokens: {error}") from error
    tables = document.pop("token", [])
    if document or not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise TokensError(f"not a file of tokens: only tables [[token]] are taken; found {sorted(document) or 'token'}")
    by_id: dict[str, Token] = {}
    limits: dict[str, tuple[Any, ...]] = {}
    for number, table in enumerate(tables, 1):
        token = _checked(table, f"token {number} ({str(table.get('name', ''))[:64]!r})")
        if token.id in by_id:
            raise TokensError(f"token {number}: the id {token.id} is there twice")
        own = (token.requests_per_second, token.burst, token.units_per_second)
        if limits.setdefault(token.name, own) != own:
            raise TokensError(
                f"token {number}: others of the name {token.name!r} have other limits; a name has one set"
            )
        by_id[token.id] = token
    return Tokens(by_id)


def write(tokens: Iterable[Token]) -> bytes:
    """Return the content of a file with these tokens."""
    parts = ["# Tokens of Demur: hashes, no secrets. `demur tokens` writes this file; see docs/security.md.\n"]
    for token in tokens:
        lines = ["", "[[token]]"]
        for field in fields(Token):
            value = getattr(token, field.name)
            if value is None or (field.name == "sources" and value == frozenset(SOURCES)):
                continue
            lines.append(f"{field.name} = {_toml(value)}")
        parts.append("\n".join(lines) + "\n")
    return "".join(parts).encode()


def check_name(name: str) -> str:
    """Return a valid name.

    Raises:
        TokensError: it is not one.
    """
    if not _NAME.fullmatch(name) or name != name.strip() or name.lower() in RESERVED:
        raise TokensError(
            f"name = {name[:80]!r}: 1 to 64 letters, digits, spaces and ._@/- are taken, and none of "
            f"{', '.join(sorted(RESERVED))}"
        )
    return name


def _checked(table: Mapping[str, Any], where: str) -> Token:
    def fail(what: str) -> TokensError:
        return TokensError(f"{where}: {what}")

    if strange := table.keys() - set(_FIELDS):
        raise fail(f"{', '.join(sorted(strange))}: no field of a token; there are {', '.join(_FIELDS)}")
    for field, known in (("scopes", SCOPES), ("sources", SOURCES)):
        words = table.get(field, known)
        if not isinstance(words, list | tuple) or any(word not in known for word in words):
            raise fail(f"{field} = {words}: a list of some of {', '.join(known)} is needed")
    try:
        token = msgspec.convert(table, Token)
        check_name(token.name)
    except (msgspec.ValidationError, TokensError) as error:
        raise fail(str(error)) from error
    if not _ID.fullmatch(token.id):
        raise fail("id: 16 hex digits are needed")
    if not _SHA256.fullmatch(token.sha256):
        raise fail("sha256: 64 hex digits are needed")
    if not token.scopes:
        raise fail(f"scopes = []: a list of some of {', '.join(SCOPES)} is needed")
    for name in ("created", "not_before", "expires"):
        moment = getattr(token, name)
        if moment is not None and moment.tzinfo is None:
            raise fail(f"{name} = {moment}: a time with its offset is needed, such as 2027-01-31T12:00:00Z")
    for name in ("requests_per_second", "burst", "units_per_second"):
        number = getattr(token, name)
        if number is not None and not (0 < number <= 1e9 and math.isfinite(number)):
            raise fail(f"{name} = {number}: above 0, up to 1e9")
    if token.burst is not None and (token.requests_per_second is None or token.burst < 1):
        raise fail("burst: 1 or more, beside requests_per_second")
    return token


def _toml(value: Any) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    if isinstance(value, frozenset):
        return f"[{', '.join(json.dumps(element) for element in sorted(value))}]"
    return json.dumps(value)  # of printable ASCII, and of numbers, the same as TOML


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
