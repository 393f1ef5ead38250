"""Statements of Shifts 1.0 about its weather tables (section 3, appendix C.5), each checked on other numbers.

There are two lists: statements of the text, and findings of its Tables 9 to 13 that the text does not mention. A
statement records whether the paper's own printed numbers confirm it; virtual ensembles, which the paper does not have,
are in a separate list.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from studies import statements
from studies.statements import Comparison, Statement

SPLITS = ("dev", "eval")
PARTS = ("in", "shifted", "full")
TREES, TREE = "CatBoost, ensemble", "CatBoost, single"
NETWORKS, NETWORK = "FT-Transformer, ensemble", "FT-Transformer, single"
DROPOUT, BOTH = "FT-Transformer, MCDP", "CatBoost ⊕ FT-Transformer"
MODELS = (TREE, TREES, NETWORK, DROPOUT, NETWORKS, BOTH)
"""Rows of Tables 9 and 10."""
VIRTUAL = "CatBoost, virtual ensemble"
COMPARED = ("CatBoost", "FT-Transformer", BOTH)
"""Rows of Table 11."""
TEMPERATURE, CLASSES = "temperature", "precipitation"
HEADS = (TEMPERATURE, CLASSES)
TOTAL = {TEMPERATURE: ("tvar",), CLASSES: ("confidence", "entropy")}
KNOWLEDGE = {TEMPERATURE: ("varm", "epkl"), CLASSES: ("mi", "epkl", "rmi")}
RMSE, MAE = "temperature.rmse_celsius", "temperature.mae_celsius"
ACCURACY, MACRO_F1 = "precipitation.accuracy", "precipitation.macro_f1"
ERRORS = (RMSE, MAE, ACCURACY, MACRO_F1)
AREAS = tuple(f"{head}.{name}" for head in HEADS for name in ("r_auc", "f1_auc"))
AT_95 = tuple(f"{head}.f1_at_95" for head in HEADS)
RETENTION = (*AREAS, *AT_95)
ALIKE = 0.05
"""Relative difference up to which two models perform "very similarly"."""
COMPETITIVE = 0.03
"""Relative loss up to which a model is "competitive"."""
stated = partial(statements.stated, listed=statements.LISTED, before="; not ")
_BELOW = ("rmse_celsius", "mae_celsius", "r_auc")
_NAMES = {
    RMSE: "RMSE",
    MAE: "MAE",
    ACCURACY: "accuracy",
    MACRO_F1: "macro F1",
    **{f"{head}.{name}": f"{title} of {head}" for head in HEADS
       for name, title in (("r_auc", "R-AUC"), ("f1_auc", "F1-AUC"), ("f1_at_95", "F1@95"))},
}  # fmt: skip


@dataclass(frozen=True)
class Results:
    """Numbers of the tables; accuracy, F1 and ROC-AUC as shares."""

    performance: Mapping[tuple[str, str, str, str], float]
    """Values of Tables 9 and 10 by (split, model, part, figure)."""
    deviation: Mapping[tuple[str, str, str, str], float]
    """Standard deviation over seeds of single models (Table 2) by (split, model, part, figure)."""
    measures: Mapping[tuple[str, str, str, str], tuple[float, float]]
    """F1-AUC and ROC-AUC of Table 11 by (split, model, head, measure)."""
    extended: Mapping[tuple[str, str, str, str], float]
    """Values of Table 13 by (set, ``single`` or ``ensemble``, training set A to D, figure)."""


def said(results: Results) -> list[Statement]:
    """Return the statements of the paper's text about its tables."""
    return [*_shift(results), *_ensembling(results), *_measures(results), *_further_models(results)]


def shown(results: Results) -> list[Statement]:
    """Return further findings of the paper's tables."""
    return [*_other_ensembles(results), *_other_measures(results), *_training_sets(results)]


def virtual(results: Results) -> list[Statement]:
    """Return expectations of virtual ensembles, which the paper does not have."""
    full = [(split, "full") for split in SPLITS]
    return [
        *_ahead(
            results,
            ("A virtual ensemble is better than the single models by R-AUC and F1-AUC, full sets",
             VIRTUAL, [TREE], AREAS, full, True),
            ("A virtual ensemble has errors no larger than the single models, full sets",
             VIRTUAL, [TREE], ERRORS, full, True),
            ("The ensemble of ten models is better than the virtual one by errors, R-AUC and F1-AUC, full sets",
             TREES, [VIRTUAL], (*ERRORS, *AREAS), full, True),
        ),
        *(
            stated(f"{what}, {head}", tuple(pairs))
            for head in HEADS
            for what, pairs in (
                ("Total measures are best at F1-AUC", _above(results, [VIRTUAL], head, TOTAL, KNOWLEDGE, 0)),
                ("Knowledge measures are best at ROC-AUC", _above(results, [VIRTUAL], head, KNOWLEDGE, TOTAL, 1)),
            )
        ),
    ]  # fmt: skip


def table(checked: Iterable[Statement], *, printed: bool = True) -> str:
    """Return a Markdown table with failing numbers in bold; ``printed`` adds a column for the paper's own numbers."""
    return statements.table(checked, printed=printed, here="here")


def better(figure: str, first: float, second: float) -> bool:
    """Return whether the first value of a figure is at least as good as the second."""
    return first <= second if figure.endswith(_BELOW) else first >= second


def _shift(results: Results) -> Iterator[Statement]:
    values = results.performance
    yield stated(
        "All models are worse on shifted than on in-domain data: RMSE, MAE, accuracy, macro F1",
        tuple(
            _compared(f"{split} {model}", key, values[split, model, "in", key], values[split, model, "shifted", key])
            for split in SPLITS
            for model in MODELS
            for key in ERRORS
        ),
    )
    yield stated(
        "eval_out is shifted further than dev_out: all models have worse RMSE, MAE and accuracy",
        tuple(
            _compared(model, figure, values["dev", model, "shifted", figure], values["eval", model, "shifted", figure])
            for model in MODELS
            for figure in (RMSE, MAE, ACCURACY)
        ),
    )


def _ensembling(results: Results) -> Iterator[Statement]:
    values = results.performance
    level = values["eval", TREES, "full", RMSE]
    yield stated(
        "The CatBoost ensemble has an RMSE of about 2 °C on eval (1.5 to 2.5)",
        (Comparison(f"{level:.2f} °C", 1.5 <= level <= 2.5),),
    )
    for text, figure, low, high, unit in (
        ("lowers RMSE on eval by about 0.16 °C (0.08 to 0.32)", RMSE, 0.08, 0.32, 1.0),
        ("lowers MAE on eval by about 0.12 °C (0.06 to 0.24)", MAE, 0.06, 0.24, 1.0),
        ("raises accuracy on eval by about 2 points (1 to 4)", ACCURACY, 1.0, 4.0, 100.0),
        ("raises macro F1 on eval by about 1 point, in another edition 2 (0.5 to 4)", MACRO_F1, 0.5, 4.0, 100.0),
    ):
        gain = unit * abs(values["eval", TREES, "full", figure] - values["eval", TREE, "full", figure])
        right = better(figure, values["eval", TREES, "full", figure], values["eval", TREE, "full", figure])
        comparison = Comparison(f"{'' if right else '-'}{gain:.2f}", right and low <= gain <= high)
        yield stated(f"An ensemble of CatBoost {text}", (comparison,))
    yield stated(
        "CatBoost ensembles are better than single models by R-AUC, F1-AUC and F1@95, by more than two standard "
        "deviations over seeds, full sets",
        tuple(
            _significantly(
                f"{split} {_NAMES[name]}",
                name,
                values[split, TREES, "full", name],
                values[split, TREE, "full", name],
                results.deviation[split, TREE, "full", name],
            )
            for split in SPLITS
            for name in RETENTION
        ),
    )


def _measures(results: Results) -> Iterator[Statement]:
    own = ["CatBoost"]
    named = {TEMPERATURE: "temperature", CLASSES: "classes"}
    for head in HEADS:
        yield stated(
            f"CatBoost, {named[head]}: knowledge measures are best at ROC-AUC",
            _above(results, own, head, KNOWLEDGE, TOTAL, 1),
        )
        yield stated(
            f"CatBoost, {named[head]}: total measures are best at F1-AUC",
            _above(results, own, head, TOTAL, KNOWLEDGE, 0),
        )
    yield stated(
        "CatBoost, temperature: EPKL is better than varm at F1-AUC and ROC-AUC",
        tuple(
            pair
            for place in (0, 1)
            for pair in _above(results, own, TEMPERATURE, {TEMPERATURE: ("epkl",)}, {TEMPERATURE: ("varm",)}, place)
        ),
    )
    rest = {CLASSES: ("mi", "epkl")}
    yield stated(
        "CatBoost, classes: RMI is the best knowledge measure at ROC-AUC",
        _above(results, own, CLASSES, {CLASSES: ("rmi",)}, rest, 1),
    )
    others = {CLASSES: ("entropy", *KNOWLEDGE[CLASSES])}
    yield stated(
        "CatBoost, classes: confidence is best at F1-AUC",
        _above(results, own, CLASSES, {CLASSES: ("confidence",)}, others, 0),
    )


def _further_models(results: Results) -> Iterator[Statement]:
    values = results.performance
    full = [(split, "full") for split in SPLITS]
    inside, shifted = ([(split, part) for split in SPLITS] for part in ("in", "shifted"))
    yield stated(
        f"Ensembles of CatBoost and of FT-Transformers perform alike: RMSE, MAE, accuracy within {ALIKE:.0%}, "
        "full sets",
        tuple(
            _within(split, figure, values[split, NETWORKS, "full", figure], values[split, TREES, "full", figure])
            for split in SPLITS
            for figure in (RMSE, MAE, ACCURACY)
        ),
    )
    rest = [model for model in MODELS if model != BOTH]
    yield from _ahead(
        results,
        ("The FT-Transformer ensemble is ahead of the CatBoost ensemble: RMSE, MAE, accuracy, full sets",
         NETWORKS, [TREES], (RMSE, MAE, ACCURACY), full, True),
        ("The same in macro F1", NETWORKS, [TREES], (MACRO_F1,), full, False),
        (f"{BOTH} has the best RMSE, MAE, accuracy and macro F1, in-domain and full sets",
         BOTH, rest, ERRORS, [*inside, *full], True),
        ("The same on shifted sets", BOTH, rest, ERRORS, shifted, False),
        (f"{BOTH} has the best R-AUC and F1-AUC, full sets", BOTH, rest, AREAS, full, True),
        ("The same for F1@95", BOTH, rest, AT_95, full, False),
    )  # fmt: skip
    yield stated(
        f"MCDP is competitive with the CatBoost ensemble: R-AUC, F1-AUC, F1@95 at most {COMPETITIVE:.0%} worse, "
        "full sets",
        tuple(
            _hardly_worse(split, figure, values[split, DROPOUT, "full", figure], values[split, TREES, "full", figure])
            for split in SPLITS
            for figure in RETENTION
        ),
    )
    yield from _ahead(
        results,
        ("The CatBoost ensemble predicts better than MCDP: RMSE, MAE, accuracy, macro F1, full sets",
         TREES, [DROPOUT], ERRORS, full, True),
        ("The uncertainty of MCDP is better than that of the CatBoost ensemble: R-AUC of temperature, full sets",
         DROPOUT, [TREES], ("temperature.r_auc",), full, True),
        ("The same by R-AUC of classes", DROPOUT, [TREES], ("precipitation.r_auc",), full, False),
    )  # fmt: skip
    own = {TEMPERATURE: "tvar", CLASSES: "confidence"}
    for head in HEADS:
        yield stated(
            f"Of all models and measures {BOTH} with {own[head]} has the best F1-AUC of {head}",
            _champion(results, head, 0, BOTH, (own[head],)),
        )
    for head in HEADS:
        yield stated(
            f"Of all models and measures CatBoost with a knowledge measure has the best ROC-AUC, {head}",
            _champion(results, head, 1, "CatBoost", KNOWLEDGE[head]),
        )


def _other_ensembles(results: Results) -> Iterator[Statement]:
    full = [(split, "full") for split in SPLITS]
    everywhere = [(split, part) for split in SPLITS for part in PARTS]
    alone = "better RMSE, MAE, accuracy and macro F1 than its single models, all sets"
    yield from _ahead(
        results,
        (f"{TREES}: {alone}", TREES, [TREE], ERRORS, everywhere, True),
        (f"{NETWORKS}: {alone}", NETWORKS, [NETWORK], ERRORS, everywhere, True),
        (f"{NETWORKS}: better R-AUC, F1-AUC and F1@95 than its single models, full sets",
         NETWORKS, [NETWORK], RETENTION, full, True),
        ("MCDP has better RMSE, MAE and accuracy than a single FT-Transformer, all sets",
         DROPOUT, [NETWORK], (RMSE, MAE, ACCURACY), everywhere, True),
        ("MCDP has better R-AUC, F1-AUC and F1@95 than a single FT-Transformer, full sets",
         DROPOUT, [NETWORK], RETENTION, full, True),
    )  # fmt: skip


def _other_measures(results: Results) -> Iterator[Statement]:
    rest = [model for model in COMPARED if model != "CatBoost"]
    for head, what in ((TEMPERATURE, "temperature"), (CLASSES, "classes")):
        yield stated(
            f"FT-Transformer and {BOTH}, {what}: knowledge measures are best at ROC-AUC",
            _above(results, rest, head, KNOWLEDGE, TOTAL, 1),
        )
        yield stated(
            f"FT-Transformer and {BOTH}, {what}: total measures are best at F1-AUC",
            _above(results, rest, head, TOTAL, KNOWLEDGE, 0),
        )
    yield stated(
        f"FT-Transformer and {BOTH}: confidence ranks shifted rows in reverse order, ROC-AUC below 50 %",
        tuple(
            Comparison(f"{split} {model} {100 * value:.2f}", value < 0.5)
            for split in SPLITS
            for model in rest
            for value in [results.measures[split, model, CLASSES, "confidence"][1]]
        ),
    )


def _training_sets(results: Results) -> Iterator[Statement]:
    outside, inside = ("dev_out", "eval_out"), ("dev_in", "eval_in")
    rows = ("single", "ensemble")
    for text, better_ones, worse_ones, sets, kinds, figures, printed in (
        ("D (no shift) is best on shifted sets", "D", "ABC", outside, rows, ERRORS, True),
        ("B and C (one shift less) are better than A on shifted sets, ensembles", "BC", "A", outside, rows[1:], ERRORS,
         True),
        ("The same for single models", "BC", "A", outside, rows[:1], ERRORS, False),
        ("C (other seasons) helps temperature more than B (other climates) on shifted sets", "C", "B", outside, rows,
         (RMSE, MAE), True),
        ("A is best in-domain, ensembles", "A", "BCD", inside, rows[1:], ERRORS, True),
    ):  # fmt: skip
        yield stated(
            f"Training sets: {text}" if not text.startswith("The same") else text,
            tuple(
                _compared(
                    f"{name} {kind} {first} to {second}",
                    figure,
                    results.extended[name, kind, first, figure],
                    results.extended[name, kind, second, figure],
                )
                for name in sets
                for kind in kinds
                for first in better_ones
                for second in worse_ones
                for figure in figures
            ),
            printed=printed,
        )


MeasureNames = Mapping[str, Sequence[str]]
"""Names of measures by head."""
Ahead = tuple[str, str, Sequence[str], Sequence[str], Sequence[tuple[str, str]], bool]
"""Statement, the better model, others, figures, (split, part), and whether the paper's own numbers confirm it."""


def _ahead(results: Results, *cases: Ahead) -> Iterator[Statement]:
    """Check that a model is better than each of others, case by case."""
    for text, first, others, figures, where, printed in cases:
        yield stated(text, _models(results, first, others, figures, where), printed=printed)


def _models(
    results: Results, first: str, others: Sequence[str], figures: Sequence[str], where: Sequence[tuple[str, str]]
) -> Iterator[Comparison]:
    """Compare a model with the best of others, in each figure of each set."""
    values = results.performance
    for split, part in where:
        name = split if part == "full" else f"{split} {part}"
        for figure in figures:
            rest = {other: values[split, other, part, figure] for other in others}
            best = (min if figure.endswith(_BELOW) else max)(rest, key=rest.__getitem__)
            comparison = _compared(name, figure, values[split, first, part, figure], rest[best])
            yield replace(comparison, text=f"{comparison.text} ({best})") if len(others) > 1 else comparison


def _compared(name: str, figure: str, first: float, second: float) -> Comparison:
    text = f"{name} {_NAMES[figure]} {_shown(figure, first)} against {_shown(figure, second)}"
    return Comparison(text, better(figure, first, second))


def _significantly(name: str, figure: str, first: float, second: float, deviation: float) -> Comparison:
    text = f"{name} {_shown(figure, first)} against {_shown(figure, second)} ± {_shown(figure, deviation)}"
    return Comparison(text, better(figure, first, second) and abs(first - second) > 2 * deviation)


def _within(name: str, figure: str, first: float, second: float) -> Comparison:
    return replace(_compared(name, figure, first, second), holds=abs(first - second) <= ALIKE * second)


def _hardly_worse(name: str, figure: str, first: float, second: float) -> Comparison:
    allowed = 1 + COMPETITIVE if figure.endswith(_BELOW) else 1 - COMPETITIVE
    return replace(_compared(name, figure, first, second), holds=better(figure, first, allowed * second))


def _above(
    results: Results, models: Sequence[str], head: str, first: MeasureNames, second: MeasureNames, place: int
) -> Iterator[Comparison]:
    """Compare each measure of ``first`` with each of ``second``: F1-AUC (place 0) or ROC-AUC (1)."""
    for split in SPLITS:
        for model in models:
            for measure in first[head]:
                for other in second[head]:
                    own = results.measures[split, model, head, measure][place]
                    rest = results.measures[split, model, head, other][place]
                    where = split if len(models) == 1 else f"{split} {model}"
                    name = f"{where} {measure} {100 * own:.2f} against {other} {100 * rest:.2f}"
                    yield Comparison(name, own >= rest)


def _champion(results: Results, head: str, place: int, model: str, names: Sequence[str]) -> Iterator[Comparison]:
    """Compare the best of some measures of a model with the best of all other pairs of model and measure."""
    for split in SPLITS:
        values = {
            (other, measure): results.measures[split, other, head, measure][place]
            for other in COMPARED
            for measure in (*TOTAL[head], *KNOWLEDGE[head])
        }
        own = max(((model, name) for name in names), key=values.__getitem__)
        rest = max((key for key in values if key[0] != model or key[1] not in names), key=values.__getitem__)
        text = f"{split} {own[1]} {100 * values[own]:.2f} against {rest[0]} {rest[1]} {100 * values[rest]:.2f}"
        yield Comparison(text, values[own] >= values[rest])


def _shown(figure: str, value: float) -> str:
    if figure in (RMSE, MAE):
        return f"{value:.3f}"
    return f"{value:.4g}" if figure.endswith("r_auc") else f"{100 * value:.2f}"
