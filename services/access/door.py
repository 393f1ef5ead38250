"""Decides on each call: whose token it brings, whether that is for what is asked, and whether it asks too often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from services.access.caller import Caller
from services.access.rates import Bucket
from services.access.scopes import Rule
from services.access.tokens import Token, Tokens
from services.runtime.errors import Busy, Forbidden, Unauthenticated

_MOST_CHARACTERS = 256
"""Of a header; tokens have 66 and the scheme."""


class Book(Protocol):
    """Where the tokens in force are, such as a file that is followed."""

    @property
    def tokens(self) -> Tokens: ...


class Counts(Protocol):
    """Hears of refusals."""

    def refused(self, reason: str) -> None: ...

    def limited(self, name: str, limit: str) -> None: ...


class Door:
    """One for each process. Used from the event loop; the book may be renewed from any thread."""

    def __init__(
        self,
        place: str,
        book: Book,
        counts: Counts,
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        """
        Args:
            place: name of the task, or ``monitor``.
            clock: seconds since 1970, for terms of tokens.
            monotonic: seconds, for rates.
        """
        self._place, self._book, self._counts = place, book, counts
        self._clock, self._monotonic = clock, monotonic
        self._meters: dict[str, _Meter] = {}

    def admit(self, credentials: Sequence[str], rule: Rule | None) -> Caller | None:
        """Who calls; None where nobody needs to say.

        Args:
            credentials: all ``authorization`` headers.
            rule: of the route; None: there is none, which is told to whoever has a token.

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

    def holds(self, caller: Caller) -> bool:
        """Whether a caller that was admitted would still be known: neither revoked nor out of its term."""
        token = self._book.tokens.by_id.get(caller.token.id)
        return token is not None and token.sha256 == caller.token.sha256 and self._ended(token) is None

    def over(self) -> Unauthenticated:
        """What a stream is told whose token ended."""
        self._counts.refused("token_ended")
        return Unauthenticated("the token of this stream was revoked or has expired", code="token_ended")

    def _known(self, credentials: Sequence[str]) -> Token:
        if not credentials:
            raise Unauthenticated(
                "a token is needed: send `authorization: Bearer TOKEN`; `demur tokens create` makes one",
                code="token_needed",
            )
        if len(credentials) > 1:
            raise Unauthenticated(f"{len(credentials)} authorization headers came, one is needed", code="token_refused")
        scheme, _, text = credentials[0][:_MOST_CHARACTERS].strip().partition(" ")
        token = self._book.tokens.matching(text.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            raise Unauthenticated("the token is not known here", code="token_refused")
        return token

    def _check(self, token: Token, rule: Rule | None) -> None:
        if (ended := self._ended(token)) is not None:
            raise ended
        if token.tasks is not None and self._place not in token.tasks:
            raise Forbidden(
                f"the token of {token.name} is not for {self._place}", code="token_elsewhere", value=self._place
            )
        if rule is not None and rule != "any" and rule not in token.scopes:
            raise Forbidden(
                f"this needs the scope {rule}, the token of {token.name} has {', '.join(sorted(token.scopes))}",
                code="scope_needed",
                field="scope",
                allowed=rule,
            )

    def _ended(self, token: Token) -> Unauthenticated | None:
        """Only who has the secret is told so."""
        now = self._clock()
        if token.expires is not None and now >= token.expires.timestamp():
            return Unauthenticated(f"the token of {token.name} has expired", code="token_expired")
        if token.not_before is not None and now < token.not_before.timestamp():
            return Unauthenticated(f"the token of {token.name} is not valid yet", code="token_early")
        return None

    def _meter(self, token: Token) -> _Meter:
        """Of a name; it outlives a rotation, and begins anew where its limits were changed."""
        limits = (token.requests_per_second, token.burst, token.units_per_second)
        meter = self._meters.get(token.name)
        if meter is None or meter.limits != limits:
            if len(self._meters) > 2 * len(self._book.tokens.by_id):  # names that are gone
                named = {one.name for one in self._book.tokens.by_id.values()}
                self._meters = {name: one for name, one in self._meters.items() if name in named}
            meter = self._meters[token.name] = _Meter(token, self._monotonic, self._counts)
        return meter


class _Meter:
    """What one name may do now."""

    def __init__(self, token: Token, monotonic: Callable[[], float], counts: Counts) -> None:
        self.limits = (token.requests_per_second, token.burst, token.units_per_second)
        self._name, self._monotonic, self._counts = token.name, monotonic, counts
        calls, burst, units = self.limits
        now = monotonic()
        self._calls = None if calls is None else Bucket(calls, burst or max(1.0, calls), now)
        self._units = None if units is None else Bucket(units, units, now)

    def call(self) -> float:
        """Takes a call; else the seconds until there is one."""
        if self._calls is None:
            return 0.0
        wait = self._calls.take_whole(self._monotonic())
        if wait:
            self._counts.limited(self._name, "calls")
        return wait

    def units(self, count: int) -> float:
        """See ``services.access.caller.Meter``."""
        if self._units is None:
            return 0.0
        now = self._monotonic()
        wait = self._units.wait(now)
        if wait:
            self._counts.limited(self._name, "units")
        else:
            self._units.take(count, now)
        return wait
