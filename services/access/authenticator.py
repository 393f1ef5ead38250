"""Authentication of calls: the token of a call, its scopes, its term and its rate."""

from collections.abc import Callable, Sequence
from typing import Protocol

from services.access.caller import Caller
from services.access.rate_limit import Counts, Meter
from services.access.tokens import Rule, Token, Tokens
from services.runtime.errors import Busy, Forbidden, Unauthenticated

_MOST_CHARACTERS = 256
"""Longest header that is read; tokens have 66 characters and the scheme."""


class TokenSource(Protocol):
    """Source of the tokens in force, such as a file that is watched."""

    @property
    def tokens(self) -> Tokens: ...


class Authenticator:
    """Admits calls of one process; used from the event loop, while the tokens may be reloaded from any thread."""

    def __init__(
        self,
        place: str,
        source: TokenSource,
        counts: Counts,
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        """
        Args:
            place: name of the task, or ``monitor``; empty: tokens of all tasks are admitted.
            clock: seconds since 1970, for terms of tokens.
            monotonic: seconds, for rates.
        """
        self._place, self._source, self._counts = place, source, counts
        self._clock, self._monotonic = clock, monotonic
        self._meters: dict[str, Meter] = {}

    def admit(self, credentials: Sequence[str], rule: Rule | None) -> Caller | None:
        """Return the caller; None on open routes.

        Args:
            credentials: all ``authorization`` headers.
            rule: requirement of the route; None: there is no such route, which only holders of a token learn.

        Raises:
            Unauthenticated, Forbidden, Busy: see the messages.
        """
        if rule == "open":
            return None
        try:
            token = self._known(credentials)
            self._check(token, rule)
        except (Unauthenticated, Forbidden) as error:
            self._counts.refused(error.code)
            raise
        meter = self._meter(token)
        if wait := meter.call():
            rate = token.requests_per_second
            raise Busy(
                f"{token.name} may make {rate:g} calls/s; retry in {wait:.3g} s",
                code="rate_limited",
                unit="calls/s",
                allowed=f"{rate:g}",
                retry_after_seconds=wait,
            )
        return Caller(token, meter)

    def still_valid(self, caller: Caller) -> bool:
        """Return True while the token of an admitted caller is neither revoked nor expired."""
        token = self._source.tokens.by_id.get(caller.token.id)
        return token is not None and token.sha256 == caller.token.sha256 and self._ended(token) is None

    def stream_ended(self) -> Unauthenticated:
        """Count and return the error for a stream whose token ended."""
        self._counts.refused("token_ended")
        return Unauthenticated("the token of this stream was revoked or has expired", code="token_ended")

    def _known(self, credentials: Sequence[str]) -> Token:
        if not credentials:
            raise Unauthenticated(
                "a token is required: send `authorization: Bearer TOKEN`; create one with `demur tokens create`",
                code="token_needed",
            )
        if len(credentials) > 1:
            raise Unauthenticated(f"{len(credentials)} authorization headers: must be one", code="token_refused")
        scheme, _, text = credentials[0][:_MOST_CHARACTERS].strip().partition(" ")
        token = self._source.tokens.matching(text.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            raise Unauthenticated("the token is not known to this service", code="token_refused")
        return token

    def _check(self, token: Token, rule: Rule | None) -> None:
        if (ended := self._ended(token)) is not None:
            raise ended
        if self._place and token.tasks is not None and self._place not in token.tasks:
            raise Forbidden(
                f"the token of {token.name} is not for {self._place}", code="token_elsewhere", value=self._place
            )
        if rule is not None and rule != "any" and rule not in token.scopes:
            raise Forbidden(
                f"this call needs the scope {rule}; the token of {token.name} has {', '.join(sorted(token.scopes))}",
                code="scope_needed",
                field="scope",
                allowed=rule,
            )

    def _ended(self, token: Token) -> Unauthenticated | None:
        """Return the error for a token outside its term; only holders of its secret see it."""
        now = self._clock()
        if token.expires is not None and now >= token.expires.timestamp():
            return Unauthenticated(f"the token of {token.name} has expired", code="token_expired")
        if token.not_before is not None and now < token.not_before.timestamp():
            return Unauthenticated(f"the token of {token.name} is not valid yet", code="token_early")
        return None

    def _meter(self, token: Token) -> Meter:
        """Return the meter of a name; it survives a rotation, and starts anew where limits changed."""
        limits = (token.requests_per_second, token.burst, token.units_per_second)
        meter = self._meters.get(token.name)
        if meter is None or meter.limits != limits:
            if len(self._meters) > 2 * len(self._source.tokens.by_id):  # names that are gone
                named = {entry.name for entry in self._source.tokens.by_id.values()}
                self._meters = {name: kept_meter for name, kept_meter in self._meters.items() if name in named}
            meter = self._meters[token.name] = Meter(token, self._monotonic, self._counts)
        return meter
