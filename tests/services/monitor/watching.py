"""A monitor over a test's ledger, at the test's own time."""

from dataclasses import dataclass, field

import pytest
from sqlalchemy import Engine

from models.live.reviewer_figures import ReviewerEstimates
from models.live.window_evaluator import EvaluationOptions, WindowEvaluator, WindowResult
from models.live.windows import parse_spans
from services.ledger.database import Database
from services.monitor.label_join import Assisted
from services.monitor.process import Monitor
from services.monitor.snapshot import Snapshot

SPANS = "15m,1h,1d,7d,30d"


@dataclass
class Place:
    """A ledger by its URL."""

    url: str
    contents: dict[str, bytes] = field(default_factory=dict)

    def engine(self) -> Engine:
        return Database(self.url).reading()

    def fetch(self, reference: str) -> bytes:
        return self.contents[reference]


class Watch:
    """A monitor and its clock."""

    def __init__(
        self,
        *urls: str,
        now: float,
        exact_units: int = 50_000,
        last_units: int = 20_000,
        text: str = SPANS,
        gone: frozenset[int] = frozenset(),
        assisted: Assisted = "fill",
        **options: object,
    ) -> None:
        self.now = now
        self.places = [Place(url) for url in urls]
        self._seconds = 0.0
        chosen = EvaluationOptions(parse_spans(text), last_units, exact_units, **options)  # type: ignore[arg-type]
        evaluator = WindowEvaluator(chosen, lambda: self._seconds)
        held = max(exact_units, last_units)
        self.monitor = Monitor(
            lambda: list(self.places),
            evaluator,
            exact_units=held,
            request_units=10**6,
            gone=gone,
            assisted=assisted,
            estimates=ReviewerEstimates(lambda: self._seconds),
            clock=lambda: self.now,
        )

    def at(self, now: float | None = None) -> Snapshot:
        """All that is known at a moment, once the whole history was read."""
        self.now = self.now if now is None else now
        self._seconds += 60.0  # on the evaluator's own clock, so that each cycle evaluates all that changed
        snapshot = self.monitor.cycle()
        while any(not ledger.caught_up for ledger in snapshot.ledgers):
            self._seconds += 60.0
            snapshot = self.monitor.cycle()
        return snapshot

    def window(self, name: str = "1h", source: str = "requested", model: str | None = None) -> WindowResult:
        """Result of one window of the last cycle."""
        matching = [
            result
            for result in self.monitor.snapshot.windows
            if (result.window, result.source) == (name, source) and model in (None, result.key.model)
        ]
        (only,) = matching
        return only


def words(result: WindowResult) -> set[str]:
    """Why a window is not valid."""
    return {word for word, _ in result.reasons}


def same(first: WindowResult, other: WindowResult) -> None:
    """Counts to the last bit, sums to 1e-9."""
    assert (first.units, first.answered, first.labels, first.mode) == (
        other.units,
        other.answered,
        other.labels,
        other.mode,
    )
    assert words(first) == words(other)
    assert first.figures.keys() == other.figures.keys()
    for name, figure in first.figures.items():
        for end in ("estimate", "low", "high"):
            assert getattr(figure, end) == pytest.approx(getattr(other.figures[name], end), rel=1e-9, nan_ok=True)
    assert first.drift.psi == other.drift.psi
    assert first.drift.log_wealth == other.drift.log_wealth
