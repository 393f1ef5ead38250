"""Results of a race as tables and targets: from the measures of all rounds to medians, spreads and ratios."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import markdown
from benchmarks.harness import Figure

MEASURES = {
    "one_p50_ms": "one row p50, ms",
    "one_p99_ms": "p99, ms",
    "many_p50_ms": "1000 rows p50, ms",
    "rate": "calls/s, 16 callers",
    "cpu_ms": "server CPU, ms/call",
    "pss_mib": "PSS, MiB",
}
"""Heading of each measure."""

ENOUGH_ROUNDS = 3
"""Rounds of which a median leaves out one that was disturbed."""
SHORT_RUN = (
    "**A short run, for orientation:** with fewer than three rounds a median does not leave out a round that was "
    "disturbed; `make race` makes the full one. Where the load above is more than about 1, other work shared the "
    "cores: p99, latencies and calls/s are then worse than on an idle machine, by different amounts, so that their "
    "ratios are off, too; CPU a call is affected least."
)


@dataclass(frozen=True)
class Entry:
    """Line of the table: one way into one contender."""

    contender: str
    group: str
    lane: str
    runs: tuple[Mapping[str, float], ...]
    """Measures of each round, by name."""

    def median(self, measure: str) -> float:
        """Return the median over rounds."""
        return statistics.median(run[measure] for run in self.runs)

    def spread(self, measure: str) -> float:
        """Return half the range over rounds, relative to the median; 0 for a median of 0."""
        values, middle = [run[measure] for run in self.runs], self.median(measure)
        return (max(values) - min(values)) / 2 / middle if middle else 0.0


@dataclass(frozen=True)
class Results:
    """Everything that one race measured."""

    machine: str
    rounds: int
    seconds: float
    """Length of each measurement with one caller, s."""
    in_process_ms: Mapping[str, float]
    """Median time of the graph alone, by number of rows, ms."""
    left_out: Mapping[str, str]
    """Reason by contender."""
    entries: tuple[Entry, ...]

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "Results":
        """Return results from the JSON document of a run."""
        entries = tuple(Entry(**entry | {"runs": tuple(entry["runs"])}) for entry in document["entries"])
        return cls(**{**document, "entries": entries})

    def entry(self, contender: str, lane: str) -> Entry | None:
        """Return a line; None if it was not measured."""
        return next((each for each in self.entries if (each.contender, each.lane) == (contender, lane)), None)


def page(results: Results) -> str:
    """Return the Markdown between the marks of the results page."""
    alone = ", ".join(f"{count} rows {took:.3f} ms" for count, took in results.in_process_ms.items())
    parts = [
        f"Machine: {results.machine}. Rounds: {results.rounds}, {results.seconds:g} s for each latency and "
        f"{2 * results.seconds:g} s for sixteen callers. The graph alone, in process (p50): {alone}.",
        markdown.table(("server", "protocol", *MEASURES.values()), _lines(results.entries)),
    ]
    if judged := figures(results):
        parts.append(markdown.table(("ratio", "measured", "target", ""), _verdicts(judged)))
    if results.rounds < ENOUGH_ROUNDS:
        parts.insert(1, SHORT_RUN)
    if results.left_out:
        parts.append("Left out:\n\n" + "\n".join(f"- {name}: {why}" for name, why in results.left_out.items()))
    return "\n\n".join(parts)


def _lines(entries: Sequence[Entry]) -> Iterator[tuple[str, ...]]:
    for entry in entries:
        yield (entry.contender, entry.lane, *(cell(entry, measure) for measure in MEASURES))


def cell(entry: Entry, measure: str) -> str:
    """Return the median of a measure with its spread, as it stands in the table."""
    value = entry.median(measure)
    text = f"{value:,.0f}" if value >= 100 else f"{value:.3f}" if value < 10 else f"{value:.1f}"
    return f"{text} ±{entry.spread(measure):.0%}" if len(entry.runs) > 1 else text


def _verdicts(all_figures: Sequence[Figure]) -> Iterator[tuple[str, ...]]:
    for figure in all_figures:
        yield figure.name, f"{figure.value:.2f} {figure.unit}", figure.target, "met" if figure.met else "missed"


def figures(results: Results) -> list[Figure]:
    """Return the ratios that have targets; those whose sides were not both measured are left out."""
    return [figure for figure in _figures(results) if figure is not None]


def _figures(results: Results) -> Iterator[Figure | None]:
    own, asgi = "Demur", "prototype, ASGI"
    floor, http = ("echo, gRPC", "gRPC"), (asgi, "HTTP protobuf")
    over = _Comparison(results)
    yield over.ratio("HTTP protobuf CPU over ASGI prototype", "cpu_ms", (own, "HTTP protobuf"), http, at_most=1.6)
    yield over.ratio("HTTP JSON CPU over ASGI prototype", "cpu_ms", (own, "HTTP JSON columns"), http, at_most=2.0)
    yield over.ratio("gRPC CPU over bare echo", "cpu_ms", (own, "gRPC"), floor, at_most=2.1)
    yield over.best("calls/s, best protocol over the best peer's", "", at_least=2.5)
    yield over.best("calls/s, gRPC over the best peer's gRPC", "gRPC", at_least=1.35)
    yield over.added("gRPC, one row p50 over bare echo", (own, "gRPC"), floor, at_most=0.22)
    for lane, limit in (("gRPC", 1.35), ("HTTP protobuf", 1.2), ("HTTP JSON columns", 1.6)):
        yield over.in_process(f"1000 rows over in process, {lane}", (own, lane), at_most=limit)
    for lane, other in (("OIP gRPC", "gRPC"), ("OIP JSON", "HTTP JSON columns")):
        name = f"{lane} over own {other}, one row p50"
        yield over.ratio(name, "one_p50_ms", (own, lane), (own, other), at_most=1.15)


@dataclass(frozen=True)
class _Comparison:
    results: Results

    def ratio(
        self, name: str, measure: str, ours: tuple[str, str], theirs: tuple[str, str], at_most: float
    ) -> Figure | None:
        one, other = self.results.entry(*ours), self.results.entry(*theirs)
        if one is None or other is None:
            return None
        return Figure("Race", name, one.median(measure) / other.median(measure), "x", at_most=at_most)

    def added(self, name: str, ours: tuple[str, str], floor: tuple[str, str], at_most: float) -> Figure | None:
        one, other = self.results.entry(*ours), self.results.entry(*floor)
        if one is None or other is None:
            return None
        return Figure("Race", name, one.median("one_p50_ms") - other.median("one_p50_ms"), "ms", at_most=at_most)

    def in_process(self, name: str, ours: tuple[str, str], at_most: float) -> Figure | None:
        one = self.results.entry(*ours)
        if one is None or "1000" not in self.results.in_process_ms:
            return None
        ratio = one.median("many_p50_ms") / self.results.in_process_ms["1000"]
        return Figure("Race", name, ratio, "x", at_most=at_most)

    def best(self, name: str, protocol: str, at_least: float) -> Figure | None:
        """Compare the largest rates of Demur with its ledger and of any peer, over lanes that end with ``protocol``."""
        lanes = [entry for entry in self.results.entries if entry.lane.endswith(protocol)]
        ours = [entry.median("rate") for entry in lanes if entry.contender == "Demur"]
        theirs = [entry.median("rate") for entry in lanes if entry.group == "peer"]
        if not ours or not theirs:
            return None
        return Figure("Race", name, max(ours) / max(theirs), "x", at_least=at_least)
