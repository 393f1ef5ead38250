"""Caller of the current call, in a context variable, and the limits of its token."""

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass

from services.access.rate_limit import Meter
from services.access.tokens import SOURCES, Token
from services.runtime.errors import Busy, Forbidden


@dataclass(frozen=True, slots=True)
class Caller:
    """Admitted token and its meter."""

    token: Token
    meter: Meter

    @property
    def name(self) -> str:
        return self.token.name

    @property
    def charging(self) -> Callable[[int], None] | None:
        """``charge``; None if units count against no rate."""
        return None if self.token.units_per_second is None else self.charge

    def charge(self, units: int) -> None:
        """Count units against the rate of the caller.

        Raises:
            Busy: the rate of its name is used up for now.
        """
        rate = self.token.units_per_second
        if rate is not None and (wait := self.meter.units(units)):
            raise Busy(
                f"{self.name} is limited to {rate:g} units/s; retry in {wait:.3g} s",
                code="rate_limited",
                field="units",
                value=str(units),
                unit="units",
                allowed=f"{rate:g} units/s",
                retry_after_seconds=wait,
            )


CALLER: ContextVar[Caller | None] = ContextVar("demur_caller", default=None)
"""Set for each call; None where there are no tokens, and on open routes."""


def name() -> str | None:
    """Return the name of the caller's token; None without tokens."""
    caller = CALLER.get()
    return None if caller is None else caller.name


def charging() -> Callable[[int], None] | None:
    """Return what counts units against the rate of the current caller; None if they are free."""
    caller = CALLER.get()
    return None if caller is None else caller.charging


def check_sources(sources: Iterable[str]) -> None:
    """Check the sources of labels; unknown ones are left to the validation of labels.

    Raises:
        Forbidden: the token may not send labels of one of these sources.
    """
    caller = CALLER.get()
    if caller is None or len(caller.token.sources) == len(SOURCES):
        return
    allowed = caller.token.sources
    for source in sources:
        if source in SOURCES and source not in allowed:
            words = ", ".join(sorted(allowed)) or "none"
            raise Forbidden.about(
                "source", source, f"must be a source of {caller.name}: {words}", code="source_refused", allowed=words
            )
