"""Kinds of uncertainty for models of a table, ranked on held-out rows; writes docs/quality/row-uncertainty.md.

    python -m studies.row_uncertainty [--seeds N] [--recorded FILE]

Models of seven kinds are trained on six data sets. `demur.build` fits every kind of uncertainty on calibration rows
and chooses one; held-out rows, which neither training nor build saw, judge all of them.
"""

from __future__ import annotations

import json
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import demur
from benchmarks import machine
from models import uncertainty
from models.artefact import Artefact
from models.assessment.figures import Errors, Rules, figures
from models.building import errors_of
from models.predictive import Categorical, Gaussian
from models.rows import executors
from models.tasks.rows.refusal import Refused
from models.tasks.rows.uncertainty.choice import KINDS
from studies import pages

TRAINING, CALIBRATION, HELD_OUT = 6000, 3000, 6000
"""Rows of each part, where a data set has as many; else its rows are shared 40 : 30 : 30."""
WITHIN = 1.03
"""Largest R-AUC of the chosen kind relative to that of the best kind, of those that the promise is about."""
PROMISED = 0.8
RETENTION, LEVEL = 0.95, 0.9
Table = tuple[pd.DataFrame, NDArray[Any]]


@dataclass(frozen=True)
class DataSet:
    """Labelled rows and where they come from."""

    name: str
    about: str
    classes: bool
    draw: Callable[[int], Table]
    """Function from a seed to rows and labels."""


@dataclass(frozen=True)
class Outcome:
    """One kind of uncertainty of one model on one data set, by one seed."""

    data: str
    model: str
    seed: int
    kind: str
    chosen: bool
    r_auc: float
    random: float
    optimal: float
    deferred: float
    """Share of held-out rows above the threshold for a retention of ``RETENTION``."""
    covered: float
    """Share of held-out labels within the interval of ``LEVEL``; NaN for classes."""


def made(seed: int) -> Table:
    """Return rows whose noise grows with one column and whose mean depends on others."""
    random = np.random.default_rng(seed)
    count = TRAINING + CALIBRATION + HELD_OUT
    x = random.normal(size=(count, 8)).astype(np.float32)
    noise = 0.2 + np.exp(0.7 * x[:, 1]) * (x[:, 4] > 0)
    y = 2 * x[:, 0] + np.sin(2 * x[:, 2]) + x[:, 3] * x[:, 5] + noise * random.normal(size=count)
    return pd.DataFrame(x, columns=[f"x{at}" for at in range(8)]), y


def vessel(seed: int) -> Table:
    """Return simulated voyages: shaft power, kW."""
    from simulators.vessel.dataset import simulate

    tables = simulate(0.05, seed=seed)
    features = np.concatenate([tables["train"].features, tables["dev_in"].features, tables["eval_in"].features])
    power = np.concatenate([tables["train"].power, tables["dev_in"].power, tables["eval_in"].power])
    return _shuffled(pd.DataFrame(features.astype(np.float32)).add_prefix("c"), power, seed)


def weather(head: str) -> Callable[[int], Table]:
    """Return a function that returns simulated forecasts and a label, in 40 columns without missing values."""

    def draw(seed: int) -> Table:
        from simulators.weather.dataset import simulate

        tables = simulate(0.006, seed=seed)
        parts = [tables[name] for name in ("train", "dev_in", "eval_in")]
        features = np.concatenate([part.features for part in parts]).astype(np.float32)
        labels = np.concatenate([getattr(part, head) for part in parts])
        whole = np.flatnonzero(np.isfinite(features).all(axis=0))[:40]
        if head == "precipitation":
            labels = np.digitize(labels, [1, 2, 6])  # clear, partly cloudy, wet, cloudy: classes that all splits have
        return _shuffled(pd.DataFrame(features[:, whole]).add_prefix("c"), labels, seed)

    return draw


def shipped(name: str) -> Callable[[int], Table]:
    """Return a function that returns a data set of scikit-learn, shuffled."""

    def draw(seed: int) -> Table:
        from sklearn import datasets

        x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return _shuffled(pd.DataFrame(x.astype(np.float32)).add_prefix("c"), y, seed)

    return draw


def _shuffled(frame: pd.DataFrame, labels: NDArray[Any], seed: int) -> Table:
    order = np.random.default_rng(seed).permutation(len(frame))[: TRAINING + CALIBRATION + HELD_OUT]
    return frame.iloc[order].reset_index(drop=True), labels[order]


DATA = (
    DataSet("made", "made rows with known noise (`made` in the study)", False, made),
    DataSet("vessel", "voyages of the vessel simulator (CC0), shaft power, kW", False, vessel),
    DataSet("weather", "the weather simulator (CC0), temperature, °C", False, weather("temperature")),
    DataSet("diabetes", "442 rows of scikit-learn (Efron et al. 2004)", False, shipped("diabetes")),
    DataSet("clouds", "the weather simulator (CC0), four classes of sky", True, weather("precipitation")),
    DataSet("breast cancer", "569 rows of scikit-learn (CC BY 4.0)", True, shipped("breast_cancer")),
)


def models(classes: bool, seed: int) -> Mapping[str, Callable[[pd.DataFrame, NDArray[Any]], Any]]:
    """Return functions that train a model of each kind."""
    from catboost import CatBoostClassifier, CatBoostRegressor
    from lightgbm import LGBMClassifier, LGBMRegressor
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from xgboost import XGBClassifier, XGBRegressor

    boosted: dict[str, Any] = {
        "iterations": 300,
        "verbose": False,
        "allow_writing_files": False,
        "thread_count": 2,
        "random_seed": seed,
    }
    forest, light = (RandomForestClassifier, LGBMClassifier) if classes else (RandomForestRegressor, LGBMRegressor)
    extreme, cat = (XGBClassifier, CatBoostClassifier) if classes else (XGBRegressor, CatBoostRegressor)
    network = MLPClassifier if classes else MLPRegressor

    def networks(x: pd.DataFrame, y: NDArray[Any]) -> Any:
        return [
            make_pipeline(
                StandardScaler(), network(hidden_layer_sizes=(64, 64), max_iter=60, random_state=10 * seed + at)
            ).fit(x, y)
            for at in range(5)
        ]

    trained: dict[str, Callable[[pd.DataFrame, NDArray[Any]], Any]] = {
        "random forest": lambda x, y: forest(100, min_samples_leaf=3, n_jobs=2, random_state=seed).fit(x, y),
        "LightGBM": lambda x, y: light(n_estimators=200, verbose=-1, n_jobs=2, random_state=seed).fit(x, y),
        "XGBoost": lambda x, y: extreme(n_estimators=150, max_depth=5, n_jobs=2, random_state=seed).fit(x, y),
        "CatBoost": lambda x, y: cat(**boosted).fit(x, y),
        "5 networks": networks,
    }
    if not classes:
        trained |= {
            "CatBoost, variance": lambda x, y: cat(loss_function="RMSEWithUncertainty", **boosted).fit(x, y),
            "CatBoost, quantiles": lambda x, y: cat(loss_function="MultiQuantile:alpha=0.05,0.5,0.95", **boosted).fit(
                x, y
            ),
        }
    return trained


def outcomes(data: DataSet, seed: int, home: Path) -> Iterator[Outcome]:
    """Yield the outcomes of all models and kinds on one draw of a data set."""
    frame, labels = data.draw(seed)
    count = len(frame)
    sizes = (
        (TRAINING, CALIBRATION) if count >= TRAINING + CALIBRATION + HELD_OUT else (4 * count // 10, 3 * count // 10)
    )
    first, second = sizes[0], sum(sizes)
    for name, train in models(data.classes, seed).items():
        model = train(frame[:first], labels[:first])
        built = {"": _built(model, frame[first:second], labels[first:second], "", home)}
        plan = built[""].stored.built.heads[0]
        for kind in dict.fromkeys(candidate.kind for candidate in plan.choice.compared):
            if kind != plan.choice.chosen.kind:
                built[kind] = _built(model, frame[first:second], labels[first:second], kind, home)
        names = plan.head.class_names
        truth = np.array([names.index(str(label)) for label in labels[second:]]) if names else labels[second:]
        for kind, made_model in built.items():
            own = kind or plan.choice.chosen.kind
            artefact = made_model.stored.built.artefact
            yield _judged(data, name, seed, own, not kind, artefact, frame[second:], truth)


def _built(model: Any, frame: pd.DataFrame, labels: NDArray[Any], kind: str, home: Path) -> Any:
    return demur.build(
        model,
        frame,
        labels,
        name="studied",
        target="target",
        uncertainty=kind,
        retention=RETENTION,
        home=home,
        out=home / f"artefact-{kind or 'chosen'}",
    )


def _judged(
    data: DataSet,
    model: str,
    seed: int,
    kind: str,
    chosen: bool,
    artefact: Artefact,
    frame: pd.DataFrame,
    truth: NDArray[Any],
) -> Outcome:
    opened = executors.of_artefact(artefact)
    rows = np.ascontiguousarray(frame.to_numpy(), np.float32)
    opened.prepare(rows[:64])
    predictive = opened.read(opened.plain(rows))[0]["target"]
    assert isinstance(predictive, Gaussian | Categorical)
    (head,) = artefact.manifest.outputs
    measure = head.own_measure(artefact.manifest.ensemble)
    scores = uncertainty.score(predictive, measure)
    judged = figures(Errors(errors_of(predictive, truth), None, Rules()), scores)
    (calibration,) = artefact.manifest.heads["target"].values()
    covered = float("nan")
    if isinstance(predictive, Gaussian) and calibration.intervals is not None:
        place = calibration.intervals.levels.index(LEVEL)
        half = calibration.intervals.multipliers[place] * np.sqrt(predictive.tvar)
        covered = float(np.mean(np.abs(truth - predictive.mean) <= half))
    threshold = calibration.retention.nearest(RETENTION)
    limit = calibration.retention.threshold(RETENTION if threshold is None else threshold)
    return Outcome(
        data.name,
        model,
        seed,
        kind,
        chosen,
        judged.r_auc,
        judged.r_auc_random,
        judged.r_auc_optimal,
        float(np.mean(scores > np.float32(limit))),
        covered,
    )


def main() -> None:
    """Run, or read an earlier run, and write page and picture."""
    parser = pages.parser("row_uncertainty", __doc__, out=pages.QUALITY)
    parser.add_argument("--seeds", type=int, default=3, help="number of draws of each data set  [default: 3]")
    parser.add_argument("--recorded", type=Path, help="JSON file of outcomes: written by a run, else read")
    options = parser.parse_args()
    if options.recorded and options.recorded.exists():
        document = json.loads(options.recorded.read_text())
        results = [Outcome(**one) for one in document["outcomes"]]
        where = document["machine"]
    else:
        results, where = list(_run(options.seeds)), machine.line()
        if options.recorded:
            text = json.dumps({"machine": where, "outcomes": [asdict(one) for one in results]}, indent=0)
            options.recorded.write_text(text)
    pages.write(options.out / "row-uncertainty.md", *_page(results, where))
    _draw(results, options.out / "row-uncertainty.png")


def _run(seeds: int) -> Iterator[Outcome]:
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")  # networks that stop before they converge, names that frames lack
    with tempfile.TemporaryDirectory() as home:
        for data in DATA:
            for seed in range(1, seeds + 1):
                for outcome in outcomes(data, seed, Path(home)):
                    print(
                        f"{outcome.data}, {outcome.model}, seed {seed}: {outcome.kind} {outcome.r_auc:.5g}", flush=True
                    )
                    yield outcome


def _means(results: list[Outcome]) -> dict[tuple[str, str], dict[str, tuple[float, float]]]:
    """Return by data set and model, and by kind: R-AUC relative to random (mean over seeds), and share chosen."""
    table: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
    for key in dict.fromkeys((one.data, one.model) for one in results):
        own = [one for one in results if (one.data, one.model) == key]
        table[key] = {}
        for kind in KINDS:
            of_kind = [one for one in own if one.kind == kind]
            if of_kind:
                relative = float(np.mean([one.r_auc / one.random for one in of_kind]))
                table[key][kind] = relative, float(np.mean([one.chosen for one in of_kind]))
    return table


def _regrets(results: list[Outcome]) -> dict[tuple[str, str], float]:
    """Return, by data set and model, the chosen kind's R-AUC over the best kind's, each a mean over seeds."""
    regrets = {}
    for key in dict.fromkeys((one.data, one.model) for one in results):
        own = [one for one in results if (one.data, one.model) == key]
        chosen = np.mean([one.r_auc for one in own if one.chosen])
        best = min(np.mean([one.r_auc for one in own if one.kind == kind]) for kind in {one.kind for one in own})
        regrets[key] = float(chosen / best)
    return regrets


def _page(results: list[Outcome], where: str) -> tuple[str, ...]:
    seeds = len({one.seed for one in results})
    means, regrets = _means(results), _regrets(results)
    several = {key: regret for key, regret in regrets.items() if len(means[key]) > 1}
    share = float(np.mean([regret <= WITHIN for regret in several.values()]))
    big = {data.name for data in DATA} - {"diabetes", "breast cancer"}
    large = [one for one in results if one.data in big]
    rows = []
    for (data, model), kinds in means.items():
        optimal = np.mean([one.optimal / one.random for one in results if (one.data, one.model) == (data, model)])
        cells = [_cell(kinds.get(kind)) for kind in KINDS]
        over = regrets[data, model]
        rows.append((data, model, *cells, f"{optimal:.3f}", f"{over:.3f}" if over <= WITHIN else f"**{over:.3f}**"))
    statements = [
        _statement(
            f"The chosen kind is within {WITHIN - 1:.0%} of the best in at least {PROMISED:.0%} of the pairs of model "
            "and data set that have more than one kind",
            share >= PROMISED,
            f"{sum(r <= WITHIN for r in several.values())} of {len(several)}",
        ),
        *_calibrated("of the chosen kind", [one for one in large if one.chosen]),
        *_calibrated("of the other kinds", [one for one in large if not one.chosen]),
        _statement(
            "Every chosen kind ranks better than a random order",
            all(one.r_auc < one.random for one in results if one.chosen),
            f"largest R-AUC over random {max(one.r_auc / one.random for one in results if one.chosen):.3f}",
        ),
    ]
    return (
        "# Uncertainty for models that have none",
        f"{pages.written_by('row_uncertainty')} Models of a table are trained on {TRAINING} rows; [`demur models build "
        f"rows`](../your-model.md) fits every kind of uncertainty that applies on {CALIBRATION} other rows and chooses "
        "one "
        f"by cross-validated R-AUC on these; {HELD_OUT} held-out rows judge (small data sets: shares of 40, 30 and 30 "
        "%). "
        f"Means over {seeds} draws. Held-out rows chose nothing; no constant was tuned on these data.",
        pages.bullets(*(f"{data.name}: {data.about}" for data in DATA)),
        "R-AUC relative to a random order (lower is better; 1 is random), by kind; the kind that was chosen is marked "
        "by "
        "its share of draws. *best order* is that of the errors themselves. *over best* is the R-AUC of what was "
        "chosen "
        "relative to the best kind on held-out rows.",
        pages.table(("data", "model", *KINDS, "best order", "over best"), rows),
        "## Statements",
        pages.table(("statement", "holds", "found"), statements),
        pages.picture("R-AUC of each kind relative to random, by data set and model", "row-uncertainty.png"),
        f"Recorded on {where}.",
        "## Discussion",
    )


def _calibrated(whose: str, builds: list[Outcome]) -> Iterator[tuple[str, str, str]]:
    """Yield statements on the intervals and thresholds of some builds."""
    coverage = [one.covered for one in builds if np.isfinite(one.covered)]
    deferred = [one.deferred for one in builds]
    yield _statement(
        f"Intervals of {LEVEL:.0%} {whose} hold 88 % to 92 % of held-out labels in the large data sets",
        all(0.88 <= value <= 0.92 for value in coverage),
        f"{min(coverage):.3f} to {max(coverage):.3f} over {len(coverage)} builds",
    )
    yield _statement(
        f"The deferred share {whose} is within 2 points of {1 - RETENTION:.0%} in the large data sets",
        all(abs(value - (1 - RETENTION)) <= 0.02 for value in deferred),
        f"{min(deferred):.3f} to {max(deferred):.3f} over {len(deferred)} builds",
    )


def _cell(value: tuple[float, float] | None) -> str:
    if value is None:
        return pages.NONE
    relative, chosen = value
    return f"{relative:.3f}" + (f" ({chosen:.0%})" if chosen else "")


def _statement(text: str, holds: bool, found: str) -> tuple[str, str, str]:
    return (text, "yes", found) if holds else (f"**{text}**", "**no**", f"**{found}**")


def _draw(results: list[Outcome], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    means = _means(results)
    figure, axis = plt.subplots(figsize=(9, 0.26 * len(means) + 1.6))
    colours = dict(zip(KINDS, ("#4c72b0", "#55a868", "#c44e52", "#8172b2", "#ccb974"), strict=True))
    names = [f"{data}, {model}" for data, model in means]
    for place, kinds in enumerate(means.values()):
        for kind, (relative, chosen) in kinds.items():
            axis.plot(relative, place, "o", color=colours[kind], markersize=9 if chosen > 0.5 else 5)
    for place, key in enumerate(means):
        optimal = np.mean([one.optimal / one.random for one in results if (one.data, one.model) == key])
        axis.plot(optimal, place, "|", color="black", markersize=9)
    axis.axvline(1.0, color="grey", linewidth=0.8)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel("R-AUC relative to a random order (large dot: chosen; bar: best possible order)")
    handles = [plt.Line2D([], [], marker="o", linestyle="", color=colours[kind], label=kind) for kind in KINDS]
    axis.legend(handles=handles, fontsize=8, loc="lower right")
    figure.tight_layout()
    pages.save(figure, path)
    plt.close(figure)


if __name__ == "__main__":
    try:
        main()
    except Refused as error:
        raise SystemExit(str(error)) from error
