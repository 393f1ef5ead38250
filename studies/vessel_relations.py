"""Statements of Shifts 2.0 (section 4, appendix D.4) about Tables 3, 19 and 20 on synthetic data, checked on ours."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from models.tasks.vessel.tables import LABELS, Result
from studies.statements import LISTED, Pair, Statement, better, check, plain, plain_lower

PARTITIONS = ("dev_in", "dev_out", "dev_full", "eval_in", "eval_out", "eval_full")
"""Canonical partitions."""
SETS = (*PARTITIONS, "gen")
TITLES = {
    "rmse_kw": "RMSE",
    "mae_kw": "MAE",
    "mape_percent": "MAPE",
    "r_auc_kw2": "R-AUC",
    "f1_auc": "F1-AUC",
    "f1_at_95": "F1@95",
}
_ERRORS = ("rmse_kw", "mae_kw", "mape_percent")
_SCALES = {"r_auc_kw2": 1e-5, "f1_at_95": 100.0}
"""Factors to the units of the tables: kW, %, 10^5 kW²."""
COMPARABLE = 0.01
"""Relative difference up to which two ensembles are "broadly comparable"; the paper's own largest is 0.005."""
SIMILAR = 0.02
"""Relative difference in R-AUC up to which the two best of a partition are similar; the paper's largest is 0.013."""


Place = tuple[str, str] | tuple[str, str, bool]
"""Family and set of a figure, and True if it is that of single models."""


class Tables:
    """Figures by family, set and kind of row.

    Args:
        results: results of the four families.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        self._results = {result.family: result for result in results}
        self.families = tuple(self._results)

    def value(self, figure: str, family: str, data: str, single: bool = False) -> float:
        """Return a figure in the units of the tables; for single models the mean over members."""
        return self._results[family].value(data, figure, single=single)[0] * _SCALES.get(figure, 1.0)

    def others(self, *families: str) -> list[str]:
        """Return all families but these."""
        return [other for other in self.families if other not in families]

    def better(self, name: str, figure: str, first: Place, second: Place) -> Pair:
        """Return the pair that holds if a figure is better at the first place."""
        return better(name, self.value(figure, *first), self.value(figure, *second), more=_more_is_better(figure))

    def comparable(self, name: str, figure: str, first: Place, second: Place) -> Pair:
        """Return the pair that holds if a figure is at most ``COMPARABLE`` larger at the first place."""
        return Pair(name, (1 + COMPARABLE) * self.value(figure, *second), self.value(figure, *first))


def relations(results: Sequence[Result]) -> list[Statement]:
    """Return every statement of the paper that its own printed numbers confirm, whether it holds here or not."""
    tables = Tables(results)
    shifted = [("eval", "rmse_kw"), *((split, figure) for figure in _ERRORS[1:] for split in ("dev", "eval"))]
    shifted += [("dev", "r_auc_kw2"), ("eval", "r_auc_kw2")]
    return [
        *(_harder(tables, split, figure) for split, figure in shifted),
        *(_members(tables, figure) for figure in (*_ERRORS, "r_auc_kw2", "f1_at_95")),
        *_variational(tables),
        *(_symbolic_is_worst(tables, figure) for figure in _ERRORS),
        *_generalisation(tables),
        *_ranking(tables),
    ]


def unsupported(results: Sequence[Result]) -> list[Statement]:
    """Return statements of the paper's text that the numbers in its own tables contradict."""
    tables = Tables(results)
    best = "The DNN ensemble has the smallest {} on every dev and eval partition"
    return [
        *(_best(tables, best.format(TITLES[figure]), "dnn", figure, PARTITIONS) for figure in _ERRORS),
        *(_best_single_variational(tables, figure) for figure in ("mape_percent", "f1_at_95")),
        *(_best_symbolic_on_gen(tables, "mape_percent", single=single) for single in (True, False)),
        _best_symbolic_on_gen(tables, "r_auc_kw2", single=False),
        _as_good_on_gen(tables),
        _members(tables, "f1_auc"),
        _best(tables, "The DNN ensemble has the largest F1@95 on gen", "dnn", "f1_at_95", ("gen",)),
        _top_two(tables, "f1_at_95"),
        *(_clear_ranking(tables, figure) for figure in ("f1_auc", "f1_at_95")),
        _harder(tables, "dev", "rmse_kw"),
    ]


def own(results: Sequence[Result]) -> list[Statement]:
    """Return relations that the paper does not state."""
    tables = Tables(results)
    return [
        _best(tables, f"The symbolic ensemble has the smallest {title} on every set", "symbolic", figure, SETS)
        for figure, title in (("r_auc_kw2", "R-AUC"), ("rmse_kw", "RMSE"))
    ]


def _harder(tables: Tables, split: str, figure: str) -> Statement:
    pairs = [
        tables.better(
            f"{LABELS[family]} {_kind(single)}",
            figure,
            (family, f"{split}_in", single),
            (family, f"{split}_out", single),
        )
        for single in (False, True)
        for family in tables.families
    ]
    return _check(
        f"{split}: {TITLES[figure]} is larger on shifted than on in-domain data, single and ensemble (in-domain first)",
        pairs,
    )


def _members(tables: Tables, figure: str) -> Statement:
    more = _more_is_better(figure)
    pairs = [
        tables.better(f"{LABELS[family]} {data}", figure, (family, data), (family, data, True))
        for family in tables.families
        for data in SETS
    ]
    return _check(
        f"Ensembles have a {'larger' if more else 'smaller'} {TITLES[figure]} than their members have on average, on "
        "every set",
        pairs,
        more=more,
    )


def _variational(tables: Tables) -> Iterator[Statement]:
    for figure in ("rmse_kw", "mae_kw", "r_auc_kw2", "f1_auc"):
        yield _best_single_variational(tables, figure)
    for figure, sets in (("rmse_kw", ("eval_in", "eval_out")), ("r_auc_kw2", ("eval_full",))):
        yield _check(
            f"The VI ensemble is comparable to or better than each other one on {' and '.join(sets)}: its "
            f"{TITLES[figure]} is at most {COMPARABLE:.0%} larger (the first number is VI's, the second the limit)",
            [
                tables.comparable(f"{data} {LABELS[other]}", figure, ("variational", data), (other, data))
                for data in sets
                for other in tables.others("variational")
            ],
        )


def _best_single_variational(tables: Tables, figure: str) -> Statement:
    text = f"Of single models VI has the {_best_word(figure)} {TITLES[figure]} on every canonical partition"
    return _best(tables, text, "variational", figure, PARTITIONS, single=True)


def _symbolic_is_worst(tables: Tables, figure: str) -> Statement:
    return _check(
        f"The symbolic ensemble has the largest {TITLES[figure]} on every dev and eval partition (the second number is "
        "its own)",
        [
            tables.better(f"{data} {LABELS[other]}", figure, (other, data), ("symbolic", data))
            for data in PARTITIONS
            for other in tables.others("symbolic")
        ],
    )


def _generalisation(tables: Tables) -> Iterator[Statement]:
    for figure in ("rmse_kw", "mae_kw"):
        for single in (True, False):
            yield _best_symbolic_on_gen(tables, figure, single=single)
    yield _check(
        "The RMSE of the symbolic model grows less from eval to gen than that of each neural one, single and ensemble "
        "(kW)",
        [
            Pair(
                f"{LABELS[other]} {_kind(single)}, from {data}",
                *(
                    tables.value("rmse_kw", family, "gen", single) - tables.value("rmse_kw", family, data, single)
                    for family in (other, "symbolic")
                ),
            )
            for single in (True, False)
            for data in ("eval_in", "eval_out")
            for other in tables.others("symbolic")
        ],
    )
    yield _check(
        "The DNN ensemble has the second smallest RMSE on gen, after the symbolic one",
        [
            tables.better(f"against {LABELS[other]}", "rmse_kw", ("dnn", "gen"), (other, "gen"))
            for other in tables.others("dnn", "symbolic")
        ],
    )
    ordered = _ordered(tables, "r_auc_kw2", single=True)
    detail = ", ".join(f"{LABELS[family]} {tables.value('r_auc_kw2', family, 'gen', True):.4g}" for family in ordered)
    second = ordered[1] == "symbolic"
    yield Statement(
        "Of single models the symbolic one has the second smallest R-AUC on gen",
        second,
        detail if second else f"**{detail}**",
    )
    for figure in ("r_auc_kw2", "f1_auc"):
        text = f"The DNN ensemble has the {_best_word(figure)} {TITLES[figure]} on gen"
        yield _best(tables, text, "dnn", figure, ("gen",))
    yield _check(
        "Ensembles of DNN and VI have a smaller R-AUC on gen than the symbolic one, in spite of larger errors",
        [
            tables.better(LABELS[family], "r_auc_kw2", (family, "gen"), ("symbolic", "gen"))
            for family in ("dnn", "variational")
        ],
    )


def _ranking(tables: Tables) -> Iterator[Statement]:
    for figure in _ERRORS:
        on_gen = _spread(tables, "gen", figure)
        yield _check(
            f"Ensembles differ more in {TITLES[figure]} on gen than on any dev or eval partition (largest over "
            "smallest, less one, %)",
            [Pair(data, on_gen, _spread(tables, data, figure)) for data in PARTITIONS],
        )
    for figure in ("r_auc_kw2", "f1_auc"):
        yield _top_two(tables, figure)
    for figure in ("r_auc_kw2", "f1_auc", "f1_at_95"):
        both = {data: [tables.value(figure, kind, data) for kind in ("dnn", "variational")] for data in PARTITIONS}
        yield _check(
            f"The ensembles of DNN and VI are similar by {TITLES[figure]} on every dev and eval partition: within "
            f"{SIMILAR:.0%} (the first number is the difference, %)",
            [Pair(data, 100 * SIMILAR, 100 * _apart(*values)) for data, values in both.items()],
        )
    yield _clear_ranking(tables, "r_auc_kw2")
    wins = {family: _wins(tables, family) for family in tables.families}
    yield _check(
        f"The DNN ensemble has the best scores overall: it is best, alone or with others, in more of the "
        f"{len(TITLES)} figures on {len(SETS)} sets than any other ensemble",
        [Pair(LABELS[other], wins["dnn"], wins[other]) for other in tables.others("dnn")],
        more=True,
    )


def _top_two(tables: Tables, figure: str) -> Statement:
    best = ("dnn", "variational")
    return _check(
        f"DNN and VI are the two ensembles of the {_best_word(figure)} {TITLES[figure]} on every dev and eval "
        "partition",
        [
            tables.better(f"{data} {LABELS[top]} before {LABELS[other]}", figure, (top, data), (other, data))
            for data in PARTITIONS
            for top in best
            for other in tables.others(*best)
        ],
        more=_more_is_better(figure),
    )


def _clear_ranking(tables: Tables, figure: str) -> Statement:
    values = [tables.value(figure, family, "gen") for family in _ordered(tables, figure, single=False)]
    return _check(
        f"On gen the ranking by {TITLES[figure]} is clear: neighbours differ by more than {SIMILAR:.0%} (the second "
        "number, %)",
        [
            Pair(f"places {place} and {place + 1}:", 100 * _apart(worse, best), 100 * SIMILAR)
            for place, (best, worse) in enumerate(pairwise(values), start=1)
        ],
    )


def _best_symbolic_on_gen(tables: Tables, figure: str, *, single: bool) -> Statement:
    kind = "Of single models the symbolic one" if single else "The symbolic ensemble"
    text = f"{kind} has the {_best_word(figure)} {TITLES[figure]} on gen"
    return _best(tables, text, "symbolic", figure, ("gen",), single=single)


def _as_good_on_gen(tables: Tables) -> Statement:
    return _check(
        f"On gen neural models have an R-AUC comparable to the symbolic one's or smaller, single and ensemble: at most "
        f"{COMPARABLE:.0%} larger (the second number is the limit)",
        [
            tables.comparable(
                f"{LABELS[other]} {_kind(single)}", "r_auc_kw2", (other, "gen", single), ("symbolic", "gen", single)
            )
            for single in (True, False)
            for other in tables.others("symbolic")
        ],
    )


def _wins(tables: Tables, family: str) -> int:
    """Return the number of figures and sets in which no other ensemble is better."""
    pairs = (
        [tables.better(other, figure, (family, data), (other, data)) for other in tables.others(family)]
        for figure in TITLES
        for data in SETS
    )
    return sum(all(pair.larger >= pair.smaller for pair in some) for some in pairs)


def _best(
    tables: Tables, statement: str, family: str, figure: str, sets: Sequence[str], *, single: bool = False
) -> Statement:
    """Check that no other family is better; equal printed numbers do not contradict."""
    pairs = [
        tables.better(f"{data} {LABELS[other]}", figure, (family, data, single), (other, data, single))
        for data in sets
        for other in tables.others(family)
    ]
    return _check(statement, pairs, more=_more_is_better(figure))


def _check(statement: str, pairs: Iterable[Pair], *, more: bool = False) -> Statement:
    """Check pairs; equal numbers do not contradict, and of many comparisons only the failing ones are listed.

    Args:
        more: whether more is better, so that the larger number comes first.
    """
    return check(statement, pairs, plain if more else plain_lower, ties=True, listed=LISTED)


def _kind(single: bool) -> str:
    return "single" if single else "ensemble"


def _more_is_better(figure: str) -> bool:
    return figure.startswith("f1")


def _best_word(figure: str) -> str:
    return "largest" if _more_is_better(figure) else "smallest"


def _ordered(tables: Tables, figure: str, *, single: bool) -> list[str]:
    """Return families ordered by a figure on gen, the best first."""
    return sorted(
        tables.families,
        key=lambda family: tables.value(figure, family, "gen", single),
        reverse=_more_is_better(figure),
    )


def _spread(tables: Tables, data: str, figure: str) -> float:
    values = [tables.value(figure, family, data) for family in tables.families]
    return 100 * (max(values) / min(values) - 1)


def _apart(first: float, second: float) -> float:
    return max(first, second) / min(first, second) - 1
