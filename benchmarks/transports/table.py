"""Results of the race of transports: measures, outcomes of the contract, and who may become the default."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks import markdown
from benchmarks.race.table import ENOUGH_ROUNDS, MEASURES, SHORT_RUN, Entry, cell
from benchmarks.transports.contract import NAMES, PASSED

DEFAULT = "grpcio"
"""Transport that Demur uses."""
NEEDED_SAVING = 2.0
"""Factor by which a server must need less CPU time a call than grpcio, and keep the contract, to become the default."""


@dataclass(frozen=True)
class Results:
    """Everything that one race measured."""

    machine: str
    rounds: int
    seconds: float
    """Length of each measurement with one caller, s."""
    entries: tuple[Entry, ...]
    contracts: Mapping[str, Mapping[str, str]]
    """Outcome by check, by transport."""
    left_out: Mapping[str, str]
    """Reason by transport."""

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "Results":
        """Return results from the JSON document of a run."""
        entries = tuple(Entry(**entry | {"runs": tuple(entry["runs"])}) for entry in document["entries"])
        return cls(**{**document, "entries": entries})

    def passed(self, transport: str) -> int:
        """Return the number of checks that a transport passed."""
        return sum(outcome == PASSED for outcome in self.contracts.get(transport, {}).values())

    def saving(self, entry: Entry) -> float:
        """Return the default's CPU time a call over that of another transport; NaN if the default was not run."""
        default = self.default
        return math.nan if default is None else default.median("cpu_ms") / entry.median("cpu_ms")

    @property
    def default(self) -> Entry | None:
        """Figures of the transport that Demur uses; None if it was not run."""
        return next((entry for entry in self.entries if entry.contender == DEFAULT), None)

    def candidates(self) -> list[str]:
        """Return the transports to which the default may change."""
        return [
            entry.contender
            for entry in self.entries
            if entry.contender != DEFAULT
            and self.saving(entry) >= NEEDED_SAVING
            and self.passed(entry.contender) == len(NAMES)
        ]


def page(results: Results) -> str:
    """Return the Markdown between the marks of the results page."""
    heads = ("server", *MEASURES.values(), "grpcio's CPU / its CPU", "contract")
    parts = [
        f"Machine: {results.machine}. Rounds: {results.rounds}, {results.seconds:g} s for each latency and "
        f"{2 * results.seconds:g} s for sixteen callers.",
        markdown.table(heads, (_line(results, entry) for entry in results.entries)),
        markdown.table(("contract", *results.contracts), (_outcomes(results, name) for name in NAMES)),
    ]
    if results.rounds < ENOUGH_ROUNDS:
        parts.insert(1, SHORT_RUN.replace("make race", "make transports"))
    if broken := list(_broken(results)):
        parts.append("Checks that were not passed:\n\n" + "\n".join(broken))
    if results.left_out:
        parts.append("Left out:\n\n" + "\n".join(f"- {name}: {why}" for name, why in results.left_out.items()))
    if results.default is not None:
        chosen = ", ".join(results.candidates()) or "none"
        parts.append(f"At most 1/{NEEDED_SAVING:g} of the CPU time of {DEFAULT}, and the whole contract: {chosen}.")
    return "\n\n".join(parts)


def _line(results: Results, entry: Entry) -> tuple[str, ...]:
    measures = (cell(entry, measure) for measure in MEASURES)
    kept = f"{results.passed(entry.contender)} of {len(NAMES)}"
    return entry.contender, *measures, f"{results.saving(entry):.2f} x", kept


def _outcomes(results: Results, name: str) -> tuple[str, ...]:
    of_check = (outcomes.get(name) for outcomes in results.contracts.values())
    return name, *("yes" if outcome == PASSED else "not checked" if outcome is None else "no" for outcome in of_check)


def _broken(results: Results) -> list[str]:
    return [
        f"- {transport}, {name}: {outcome}"
        for transport, outcomes in results.contracts.items()
        for name, outcome in outcomes.items()
        if outcome != PASSED
    ]
