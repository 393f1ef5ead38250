"""Statements of Shifts 1.0 on its Tables 6, 7, 20 and 21, from its text and tables, checked on other numbers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from studies.motion_tables.judge import Score
from studies.motion_tables.plan import BACKBONES, METHODS, SIZES, Backbone, Method, Row
from studies.statements import Pair, Statement, check, plain

Results = Mapping[tuple[str, Row], Mapping[str, Score]]
"""Figures of each set by (split, row); splits are dev and eval."""
TITLES = {
    "minade": "minADE",
    "weightedade": "weightedADE",
    "minfde": "minFDE",
    "weightedfde": "weightedFDE",
    "cnll": "cNLL",
}
LARGEST = {"dev": 0.518, "eval": 0.545}
"""ROC-AUC up to which detection is "not particularly" good: the largest of each split in Table 21."""
_PRINTED = 0.0005
"""Half of the last digit printed in Table 21."""
SAME = 1e-9
_BETTER: tuple[tuple[str, Backbone, Backbone], ...] = (
    ("weightedade", "BC", "DIM"),
    ("weightedfde", "BC", "DIM"),
    ("minade", "DIM", "BC"),
    ("minfde", "DIM", "BC"),
    ("cnll", "DIM", "BC"),
)
RETENTION = ("r_auc", "r_auc_weightedade", "f1_auc", "f1_at_95")
FIGURES = TITLES | {
    "r_auc": "R-AUC of cNLL",
    "r_auc_weightedade": "R-AUC of weightedADE",
    "f1_auc": "F1-AUC",
    "f1_at_95": "F1@95",
}
_SHARES = ("f1_auc", "f1_at_95")
"""Figures for which larger is better."""
DECIMALS = {"cnll": 2, "r_auc": 2}
"""Printed decimals of figures in nats; others have three."""
_DEEP, _DROPOUT = METHODS
GAINS: Mapping[tuple[str, Backbone, Method], bool] = {
    **{(name, backbone, method): True for name in ("minade", "weightedade", "weightedfde", "f1_at_95")
       for backbone in BACKBONES for method in METHODS},
    **{("r_auc_weightedade", backbone, _DEEP): True for backbone in BACKBONES},
    **{("minfde", "BC", method): True for method in METHODS},
    ("minfde", "DIM", _DEEP): True,
    ("cnll", "BC", _DEEP): True,
    ("cnll", "BC", _DROPOUT): False,
    ("cnll", "DIM", _DEEP): False,
    **{(name, "BC", _DEEP): True for name in ("r_auc", "f1_auc")},
    **{(name, "BC", _DROPOUT): False for name in ("r_auc", "f1_auc")},
    **{(name, "DIM", method): False for name in ("r_auc", "f1_auc") for method in METHODS},
}  # fmt: skip
"""Direction of the paper by (figure, backbone, method): true if five members are better than one, false if worse.

Left out: figures on which its two splits disagree, and areas of weightedADE that it does not print.
"""


def relations(results: Results) -> list[Statement]:
    """Return each statement, checked on all of its rows; with model averaging unless an operator is named."""
    return [*said(results), *shown(results)]


def said(results: Results) -> list[Statement]:
    """Return the statements of section 5 about the tables."""
    return [_shift(results), *_backbones(results), *_retention(results), _detection(results)]


def shown(results: Results) -> list[Statement]:
    """Return further findings of the tables: five members against one, and the backbones in all other rows."""
    statements = [*_sizes(results), *_other_backbones(results), *_other_retention(results), _one_member(results)]
    return [statement for statement in statements if statement is not None]


def _shift(results: Results) -> Statement:
    pairs = [
        Pair(_named(split, row, TITLES[name]), getattr(sets["shifted"], name), getattr(sets["in"], name))
        for (split, row), sets in results.items()
        for name in TITLES
    ]
    text = "Errors are larger on shifted than on in-domain data, in every row and metric"
    statement = check(text, pairs, plain, listed=0)
    return replace(statement, found=f"{statement.found}; the simulator was adjusted for this (datasheet)")


def _backbones(results: Results) -> Iterator[Statement]:
    for name, better, worse in _BETTER:
        pairs = _versus(results, METHODS[0], SIZES, name, better, worse)
        yield check(f"RIP-{better} is better than RIP-{worse} in {FIGURES[name]}", pairs, _shows(name))


def _sizes(results: Results) -> Iterator[Statement | None]:
    """Compare five members with one, if the paper's numbers go the same way on both splits."""
    for name, title in FIGURES.items():
        for backbone in BACKBONES:
            for better in (True, False):
                methods = [option for option in METHODS if GAINS.get((name, backbone, option)) is better]
                pairs = [
                    _pair(f"{split} {method}", name, *(rows if better else rows[::-1]))
                    for split in _splits(results)
                    for method in methods
                    if (rows := _sized(results, split, method, backbone)) is not None
                ]
                which = "" if len(methods) == len(METHODS) else f", {', '.join(methods).lower()}s"
                first = "Five members are better than one" if better else "One member is better than five"
                yield _checked(f"{first} in {title}, RIP-{backbone}{which}", pairs, name)


def _other_backbones(results: Results) -> Iterator[Statement | None]:
    for name, better, worse in _BETTER:
        statement = f"RIP-{better} is better than RIP-{worse} in {FIGURES[name]}, dropout ensembles"
        yield _checked(statement, list(_versus(results, METHODS[1], SIZES, name, better, worse)), name)


def _retention(results: Results) -> Iterator[Statement]:
    for name in RETENTION:
        pairs = _versus(results, METHODS[0], SIZES[-1:], name, "BC", "DIM")
        yield check(f"Five RIP-BC are better than five RIP-DIM in {FIGURES[name]}", pairs, _shows(name))


def _other_retention(results: Results) -> Iterator[Statement | None]:
    for name in RETENTION:
        for method in METHODS:
            sizes = tuple(size for size in SIZES if (method, size) != (METHODS[0], SIZES[-1]))
            if name == "r_auc_weightedade":
                sizes = (1,) if method == METHODS[0] else ()
            listed = ", ".join(f"K={size}" for size in sizes)
            statement = f"RIP-BC is better than RIP-DIM in {FIGURES[name]}, {method.lower()}s of {listed}"
            yield _checked(statement, list(_versus(results, method, sizes, name, "BC", "DIM")), name)


def _versus(
    results: Results, method: Method, sizes: Sequence[int], name: str, better: Backbone, worse: Backbone
) -> Iterator[Pair]:
    """Yield a backbone against the other, by split and size, if both were evaluated."""
    for split in _splits(results):
        for size in sizes:
            rows = [results.get((split, Row(method, backbone, "MA", size))) for backbone in (better, worse)]
            if rows[0] is not None and rows[1] is not None:
                yield _pair(f"{split} K={size}", name, rows[0]["full"], rows[1]["full"])


def _sized(results: Results, split: str, method: Method, backbone: Backbone) -> tuple[Score, Score] | None:
    """Return five members and one, or None if they were not evaluated."""
    rows = [results.get((split, Row(method, backbone, "MA", size))) for size in (SIZES[-1], SIZES[0])]
    return None if rows[0] is None or rows[1] is None else (rows[0]["full"], rows[1]["full"])


def _pair(where: str, name: str, better: Score, worse: Score) -> Pair:
    """Return the pair whose first number is larger if ``better`` is."""
    values = getattr(better, name), getattr(worse, name)
    return Pair(where, *(values if name in _SHARES else values[::-1]))


def _checked(statement: str, pairs: Sequence[Pair], name: str) -> Statement | None:
    """Return the relation, or None if none of its pairs was evaluated."""
    return check(statement, pairs, _shows(name)) if pairs else None


def _shows(name: str) -> Callable[[Pair], str]:
    """Return the format of a pair: the better number first, with the decimals of the tables."""
    if name in _SHARES:
        return lambda pair: f"{pair.name} {100 * pair.larger:.1f} against {100 * pair.smaller:.1f}"
    decimals = DECIMALS.get(name, 3)
    return lambda pair: f"{pair.name} {pair.smaller:.{decimals}f} against {pair.larger:.{decimals}f}"


def _detection(results: Results) -> Statement:
    pairs = [
        Pair(_named(split, row), LARGEST[split] + _PRINTED, sets["full"].roc_auc)
        for (split, row), sets in results.items()
    ]
    bounds = ", ".join(f"{100 * LARGEST[split]:.1f} % on {split}" for split in _splits(results))
    return check(
        "Request uncertainties do not detect shifted requests well: ROC-AUC (%) no larger than the paper's largest "
        f"({bounds})",
        pairs,
        lambda pair: f"{pair.name} {100 * pair.smaller:.1f}",
        listed=0,
    )


def _one_member(results: Results) -> Statement:
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
    return check("With one member LQ and MA choose the same plans", pairs, plain, listed=0)


def _splits(results: Results) -> tuple[str, ...]:
    return tuple(dict.fromkeys(split for split, _ in results))


def _named(split: str, row: Row, title: str = "") -> str:
    return f"{split} {row.method} {row.name} {title}".rstrip()
