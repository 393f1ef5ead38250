"""What Shifts 1.0 (section 5) says of its Tables 6, 7, 20 and 21, each statement checked on ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from benchmarks.motion_tables.judge import Score
from benchmarks.motion_tables.rows import BACKBONES, METHODS, SIZES, Backbone, Row
from benchmarks.relations import Pair, Relation, check, counted, percent, plain, plain_lower

Results = Mapping[tuple[str, Row], Mapping[str, Score]]
"""(split, row) to the figures of each set; splits are dev and eval."""
TITLES = {
    "minade": "minADE",
    "weightedade": "weightedADE",
    "minfde": "minFDE",
    "weightedfde": "weightedFDE",
    "cnll": "cNLL",
}
LARGEST = {"dev": 0.518, "eval": 0.545}
"""ROC-AUC up to which requests are told apart "not particularly well": the largest of each split in Table 21."""
_PRINTED = 0.0005
"""Half of the last digit that Table 21 prints."""
SAME = 1e-9
_BETTER: tuple[tuple[str, Backbone, Backbone], ...] = (
    ("weightedade", "BC", "DIM"),
    ("weightedfde", "BC", "DIM"),
    ("minade", "DIM", "BC"),
    ("minfde", "DIM", "BC"),
    ("cnll", "DIM", "BC"),
)
_AREAS = (("r_auc", "R-AUC of cNLL"), ("r_auc_weightedade", "R-AUC of weightedADE"))
_SHARES = (("f1_auc", "F1-AUC"), ("f1_at_95", "F1@95"))


def relations(results: Results) -> list[Relation]:
    """Each statement on all rows that it speaks of; where models are not named, with model averaging."""
    several = (_backbones, _sizes, _retention)
    found = [one for statements in several for one in statements(results)]
    return [_shift(results), *found, _detection(results), _one_member(results)]


def _shift(results: Results) -> Relation:
    pairs = [
        Pair(_named(split, row, TITLES[name]), getattr(sets["shifted"], name), getattr(sets["in"], name))
        for (split, row), sets in results.items()
        for name in TITLES
    ]
    one = counted(check("Errors are larger on shifted than on in-domain data, in every row and metric", pairs, plain))
    return replace(one, found=f"{one.found}; the simulator was adjusted for this (datasheet)")


def _backbones(results: Results) -> Iterator[Relation]:
    for name, better, worse in _BETTER:
        pairs = [
            Pair(
                f"{split} K={size}", _full(results, split, worse, size, name), _full(results, split, better, size, name)
            )
            for split in _splits(results)
            for size in SIZES
        ]
        yield check(f"RIP-{better} is better than RIP-{worse} in {TITLES[name]}", pairs, plain_lower)


def _sizes(results: Results) -> Iterator[Relation]:
    for backbone in BACKBONES:
        for name in ("minade", "weightedade", "weightedfde"):
            pairs = [
                Pair(
                    f"{split} {method}",
                    getattr(results[split, Row(method, backbone, "MA", 1)]["full"], name),
                    getattr(results[split, Row(method, backbone, "MA", 5)]["full"], name),
                )
                for split in _splits(results)
                for method in METHODS
                if (split, Row(method, backbone, "MA", 5)) in results
            ]
            yield check(f"Five members are better than one in {TITLES[name]}, RIP-{backbone}", pairs, plain_lower)


def _retention(results: Results) -> Iterator[Relation]:
    splits = _splits(results)
    for name, title in _AREAS:
        pairs = [Pair(s, _full(results, s, "DIM", 5, name), _full(results, s, "BC", 5, name)) for s in splits]
        yield check(f"Five RIP-BC are better than five RIP-DIM in {title}", pairs, plain_lower)
    for name, title in _SHARES:
        pairs = [Pair(s, _full(results, s, "BC", 5, name), _full(results, s, "DIM", 5, name)) for s in splits]
        yield check(f"Five RIP-BC are better than five RIP-DIM in {title}", pairs, percent)
    for name, title in _AREAS:
        pairs = [Pair(s, _full(results, s, "BC", 1, name), _full(results, s, "BC", 5, name)) for s in splits]
        yield check(f"Five RIP-BC are better than one in {title}", pairs, plain_lower)


def _detection(results: Results) -> Relation:
    pairs = [
        Pair(_named(split, row), LARGEST[split] + _PRINTED, sets["full"].roc_auc)
        for (split, row), sets in results.items()
    ]
    bounds = ", ".join(f"{100 * LARGEST[split]:.1f} % on {split}" for split in _splits(results))
    return counted(
        check(
            "Request uncertainties do not tell shifted requests well: ROC-AUC (%) no larger than the paper's largest "
            f"({bounds})",
            pairs,
            lambda pair: f"{pair.name} {100 * pair.smaller:.1f}",
        )
    )


def _one_member(results: Results) -> Relation:
    pairs = [
        Pair(
            _named(split, row, TITLES[name]),
            SAME,
            abs(getattr(sets["full"], name) - getattr(results[split, replace(row, operator="MA")]["full"], name)),
        )
        for (split, row), sets in results.items()
        if row.size == 1 and row.operator == "LQ"
        for name in TITLES
    ]
    return counted(check("With one member LQ and MA choose the same plans", pairs, plain))


def _full(results: Results, split: str, backbone: Backbone, size: int, name: str) -> float:
    value: float = getattr(results[split, Row("Deep Ensemble", backbone, "MA", size)]["full"], name)
    return value


def _splits(results: Results) -> tuple[str, ...]:
    return tuple(dict.fromkeys(split for split, _ in results))


def _named(split: str, row: Row, title: str = "") -> str:
    return f"{split} {row.method} {row.name} {title}".rstrip()
