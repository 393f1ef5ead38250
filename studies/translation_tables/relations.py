"""Statements of Shifts 1.0 (section 4) about its Tables 4 and 5, and on deferral, checked on other numbers."""

from collections.abc import Iterator, Mapping

from scipy.stats import spearmanr

from studies.statements import Pair, Statement, check, percent, plain, plain_lower
from studies.translation_tables.judge import AWAY, FULL, IN, MAIN, PUBLIC, SINGLE, TOGETHER, Decided, Results, mean
from studies.translation_tables.plan import RETENTION

Areas = Mapping[str, float]
"""R-AUC on all lines by measure."""
QUALITY = {"bleu": "BLEU", "egleu": "eGLEU", "maxgleu": "maxGLEU"}
AREAS = {"f1_auc": "F1-AUC", "f1_at_95": "F1@95", "roc_auc": "ROC-AUC"}
GAP = 5.0
"""Smallest difference from eGLEU to maxGLEU, GLEU points: the smallest of Table 4 is 5.6."""
COST, NEARLY = 10.0, 5.0
"""Loss of BLEU and eGLEU by shift in the text, points, and accepted distance from it; Table 4 has 7.2 to 12.1."""
ALIKE = 0.8
"""Least rank correlation of BLEU with eGLEU over rows; in Table 4 it is 1."""
BEST = 5
"""Rank among 20 measures up to which SCR-PE counts as among the best."""


def relations(results: Results) -> list[Statement]:
    """Return statements of the paper, on the available rows: those of Table 4, and whole public sets."""
    return [*_ensemble(results), *_shift(results), *_hypotheses(results), *_areas(results)]


def own(results: Results, areas: Areas, decisions: Mapping[str, Decided], kept: float) -> list[Statement]:
    """Return statements on measures and decisions, for which the paper has no numbers.

    Args:
        kept: share answered of held-out lines that resemble the calibration lines.
    """
    return [_measure(areas), *_public(results), *_decisions(decisions, kept)]


def _ensemble(results: Results) -> Iterator[Statement]:
    rows = _rows(results)
    for name, title in QUALITY.items():
        pairs = [Pair(row, _of(results, row, TOGETHER, name), _of(results, row, SINGLE, name)) for row in rows]
        yield check(f"The ensemble is better than its members alone in {title}", pairs, plain)


def _shift(results: Results) -> Iterator[Statement]:
    for name, title in QUALITY.items():
        pairs = [Pair(kind, _of(results, IN, kind, name), _of(results, AWAY, kind, name)) for kind in _KINDS]
        yield check(f"Shift lowers {title}", pairs, plain)
    costs = {
        f"{title} {kind}": _of(results, IN, kind, name) - _of(results, AWAY, kind, name)
        for name, title in QUALITY.items()
        for kind in _KINDS
        if name != "maxgleu"
    }
    yield check(
        f"Shift costs nearly {COST:g} points of BLEU and eGLEU ({COST - NEARLY:g} to {COST + NEARLY:g})",
        [Pair(f"{name} {cost:.2f}", NEARLY, abs(cost - COST)) for name, cost in costs.items()],
        lambda pair: pair.name,
    )


def _hypotheses(results: Results) -> Iterator[Statement]:
    rows = [(row, kind) for row in _rows(results) for kind in _KINDS]
    gaps = [
        Pair(f"{row} {kind}", _of(results, row, kind, "maxgleu") - _of(results, row, kind, "egleu"), GAP)
        for row, kind in rows
    ]
    yield check(f"maxGLEU is more than {GAP:g} points above eGLEU: hypotheses could be ranked better", gaps, plain)
    alike = float(spearmanr(*([_of(results, *row, name) for row in rows] for name in ("bleu", "egleu"))).statistic)
    yield check("BLEU and eGLEU agree on which rows are better", [Pair("rank correlation", alike, ALIKE)], plain)


def _areas(results: Results) -> Iterator[Statement]:
    better = [Pair(FULL, _of(results, FULL, SINGLE, "r_auc"), _of(results, FULL, TOGETHER, "r_auc"))]
    yield check("The ensemble is better than its members alone in R-AUC", better, plain_lower)
    for name, title in AREAS.items():
        pairs = [Pair(FULL, _of(results, FULL, TOGETHER, name), _of(results, FULL, SINGLE, name))]
        yield check(f"The ensemble is better than its members alone in {title}", pairs, plain)
    random = [
        Pair(kind, (100 - _of(results, FULL, kind, "egleu")) / 2, _of(results, FULL, kind, "r_auc")) for kind in _KINDS
    ]
    yield check("Deferring by uncertainty leaves less error than deferring at random", random, plain_lower)
    detections = [Pair(kind, _of(results, FULL, kind, "roc_auc"), 50.0) for kind in _KINDS]
    yield check("Uncertainty tells shifted sentences from in-domain ones: ROC-AUC above 50", detections, plain)


def _measure(areas: Areas) -> Statement:
    better = sorted(areas, key=lambda name: areas[name])
    place = better.index("scr_pe") + 1
    statement = f"SCR-PE, by which an ensemble defers, is among the best {BEST} of {len(areas)} measures in R-AUC"
    least = better[0]
    detail = f"place {place}: {areas['scr_pe']:.4g}; the best is {least} with {areas[least]:.4g}"
    return Statement(statement, place <= BEST, detail if place <= BEST else f"**{detail}**")


def _public(results: Results) -> Iterator[Statement]:
    away = [row for row in PUBLIC if (row, TOGETHER) in results and row != "tatoeba"]
    if away:
        pairs = [Pair(row, _of(results, row, TOGETHER, "roc_auc"), 50.0) for row in away]
        yield check("Public sets of other domains are more uncertain than held-out sentences", pairs, plain)


def _decisions(decisions: Mapping[str, Decided], kept: float) -> Iterator[Statement]:
    both = {row: decision for row, decision in decisions.items() if 0 < decision.deferred < 1}
    pairs = [Pair(row, decision.deferred_error, decision.answered_error) for row, decision in both.items()]
    if pairs:
        yield check("What is deferred is worse than what is answered, in every row where something is", pairs, plain)
    held = [Pair("answered", 0.02, abs(kept - RETENTION))]
    yield check(
        f"Of held-out lines of one sentence {RETENTION:.0%} are answered, to 2 points, where domains have the shares "
        "that they have in what calibrates",
        held,
        lambda pair: f"answered {100 * kept:.1f}",
    )
    more = [
        Pair(row, decision.deferred, decisions[IN].deferred) for row, decision in decisions.items() if row in _ELSEWHERE
    ]
    yield check("More is deferred of other domains than of those trained on", more, percent)


def _of(results: Results, row: str, kind: str, name: str) -> float:
    return mean(results[row, kind], name)


def _rows(results: Results) -> list[str]:
    return [row for row in (*MAIN, *PUBLIC) if (row, TOGETHER) in results]


_KINDS = (SINGLE, TOGETHER)
_ELSEWHERE = (AWAY, "wmt22", "ntrex", "wmt24")
