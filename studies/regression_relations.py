"""Statements of the note on regression metrics about its Tables 1 to 4 and its figures, checked on results."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from studies.statements import LISTED, Pair, Statement, better, check, plain, plain_lower

KINDS = ("ensemble", "single")
DIAGNOSTIC = "ll_fu"
"""Measure that contains the label: it diagnoses a model and cannot be used to defer."""
LABELS = {"f1_auc": "F1-AUC", "f1_at_95": "F1@95", "r_auc": "R-AUC"}
UNITS = {"r_auc": 1e5}
"""Units of the tables: R-AUC in 10^5 kW²; the other figures have none."""


@dataclass(frozen=True)
class Results:
    """Figures of an ensemble and of a single model, in the units of the tables."""

    lence: Mapping[str, float]
    """LENCE by kind."""
    retention: Mapping[tuple[str, str, str, str], float]
    """Figures by kind, convention, measure and figure."""
    fractions: Sequence[float] = ()
    """Retained fractions of the curves."""
    r3: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """RMSE / RMV at the fractions, by kind."""
    mwse: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """MWSE of the retained rows, over all rows, at the fractions, by kind."""
    least: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Smallest value of each measure of the ensemble among shifted rows, in groups by error, the smallest first."""

    @property
    def conventions(self) -> tuple[str, ...]:
        """Names of conventions, in the given order."""
        return tuple(dict.fromkeys(convention for _, convention, _, _ in self.retention))

    def others(self, kind: str, convention: str) -> list[str]:
        """Return the measures beside LL-FU."""
        every = dict.fromkeys(key[2] for key in self.retention if key[:2] == (kind, convention))
        return [measure for measure in every if measure != DIAGNOSTIC]

    def along(self, larger: Sequence[float], smaller: Sequence[float]) -> list[Pair]:
        """Return a pair of two curves for each retained fraction."""
        every = zip(self.fractions, larger, smaller, strict=True)
        return [Pair(f"{fraction:.0%}", first, second) for fraction, first, second in every]

    def better(self, name: str, figure: str, first: tuple[str, str, str], second: tuple[str, str, str]) -> Pair:
        """Return the pair that holds if a figure is better for the first kind, convention and measure."""
        values = (self.retention[*key, figure] for key in (first, second))
        return better(name, *values, more=figure not in UNITS)


def printed(results: Results) -> list[Statement]:
    """Return statements about Tables 1 to 4."""
    return list(_printed(results))


def drawn(results: Results) -> list[Statement]:
    """Return statements about figures for which the note prints no numbers."""
    return list(_drawn(results))


def _printed(results: Results) -> Iterator[Statement]:
    yield check(
        "The ensemble has a lower LENCE than the single model",
        [Pair("LENCE", results.lence["single"], results.lence["ensemble"])],
        plain_lower,
    )
    for kind in KINDS:
        for figure in LABELS:
            pairs = [
                results.better(
                    f"{convention} {measure}", figure, (kind, convention, DIAGNOSTIC), (kind, convention, measure)
                )
                for convention in results.conventions
                for measure in results.others(kind, convention)
            ]
            yield _check("LL-FU has a {} {} than every other measure, " + kind, figure, pairs)
    for figure in LABELS:
        pairs = [
            results.better(convention, figure, ("ensemble", convention, DIAGNOSTIC), ("single", convention, DIAGNOSTIC))
            for convention in results.conventions
        ]
        yield _check("LL-FU of the ensemble has a {} {} than that of the single model", figure, pairs)


def _drawn(results: Results) -> Iterator[Statement]:
    away = {kind: [abs(value - 1) for value in results.r3[kind]] for kind in KINDS}
    yield check(
        "RMSE / RMV of the ensemble is nearer to 1 than that of the single model, at each retention (distance to 1)",
        results.along(away["single"], away["ensemble"]),
        plain_lower,
    )
    yield check(
        "RMSE / RMV of the ensemble is nearer to a horizontal line (largest less smallest over these retentions)",
        [Pair("range", *(max(results.r3[kind]) - min(results.r3[kind]) for kind in ("single", "ensemble")))],
        plain_lower,
    )
    gaps = [more - less for more, less in zip(results.mwse["ensemble"], results.mwse["single"], strict=True)]
    yield check(
        "The ensemble diverges more in MWSE: its curve is above that of the single model at each retention (MW⁴)",
        results.along(*(results.mwse[kind] for kind in KINDS)),
        plain,
    )
    yield check(
        "The distance of the two MWSE curves grows with retention (MW⁴, the distance at the larger retention first)",
        [
            Pair(f"{next_one:.0%} and {fraction:.0%}", abs(larger), abs(smaller))
            for (fraction, next_one), (smaller, larger) in zip(pairwise(results.fractions), pairwise(gaps), strict=True)
        ],
        plain,
    )
    groups = len(results.least[DIAGNOSTIC])
    yield check(
        f"On shifted rows the lower bound of LL-FU grows with the error (smallest value in {groups} groups of equal "
        "number by error; the group of larger errors first)",
        [
            Pair(f"{place + 1} over {place}", later, earlier)
            for place, (earlier, later) in enumerate(pairwise(results.least[DIAGNOSTIC]), start=1)
        ],
        plain,
    )
    rising = {
        measure: all(later > earlier for earlier, later in pairwise(values))
        for measure, values in results.least.items()
        if measure != DIAGNOSTIC
    }
    detail = "; ".join(
        f"**{measure} grows, too**" if grows else f"{measure} does not" for measure, grows in rising.items()
    )
    yield Statement(
        "LL-FU is unique in this: the lower bound of no other measure grows from group to group",
        not any(rising.values()),
        detail,
    )


def _check(statement: str, figure: str, pairs: Sequence[Pair]) -> Statement:
    """Check a statement whose text has places for "larger" or "smaller" and for the figure."""
    word, show = ("smaller", plain_lower) if figure in UNITS else ("larger", plain)
    return check(statement.format(word, LABELS[figure]), pairs, show, listed=LISTED)
