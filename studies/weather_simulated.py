"""Figures and numbers of the weather simulator's data sheet: marginals, and the errors of models.

    python -m studies.weather_simulated [--scale 0.02] [--judge] [--out docs/datasheets]

``--judge`` trains ten small CatBoost models for each head (minutes on one core) and prints errors and areas.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks import machine
from models.assessment.detection import roc_auc
from models.tasks.weather.data import dummies, partition
from models.tasks.weather.data.table import CLIMATES, Table
from models.tasks.weather.spec import CLASS_NAMES, CLASSES
from models.uncertainty import categorical
from simulators.weather import dataset
from studies import pages

COLOURS = {"tropical": "#1b7837", "dry": "#e08214", "mild temperate": "#4393c3", "snow": "#762a83", "polar": "#35978f"}
SHADES = {"train": "#1f77b4", "dev_in": "#6baed6", "eval_in": "#9ecae1", "dev_out": "#d62728", "eval_out": "#ff9896"}
MEMBERS = 10
TRAINING_ROWS = 30_000


def main(arguments: list[str] | None = None) -> int:
    parser = pages.parser("weather_simulated", __doc__, out=pages.DATASHEETS)
    parser.add_argument("--scale", type=float, default=0.02, help="share of the canonical rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--judge", action="store_true", help="also train and judge small ensembles")
    options = parser.parse_args(arguments)
    splits = dataset.simulate(options.scale, options.seed)
    splits["train"] = splits["train"].rows(~dummies.found_in(splits["train"]))
    for name, table in splits.items():
        shares = np.bincount(table.precipitation, minlength=CLASSES) / len(table)
        sys.stdout.write(
            f"{name:9} {len(table):7} rows  {table.temperature.mean():5.1f} ± {table.temperature.std():4.1f} °C  "
            f"{' '.join(f'{100 * share:5.2f}' for share in shares)} %\n"
        )
    draw(splits, dataset.world(options.seed), options.out / "weather-simulator.png")
    if options.judge:
        judge(splits)
    sys.stdout.write(f"{machine.line()}\n")
    return 0


def draw(splits: dict[str, Table], world: dataset.World, path: Path) -> None:
    """Draw temperatures by split, stations by climate, and shares of classes."""
    figure = Figure(figsize=(11, 8.5), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(1, 1.15))
    left, right, below = (figure.add_subplot(place) for place in (grid[0, 0], grid[0, 1], grid[1, :]))
    edges = np.arange(-40, 46, 1.0)
    for name in partition.CANONICAL:
        left.hist(
            splits[name].temperature,
            edges,
            density=True,
            histtype="step",
            linewidth=1.6,
            color=SHADES[name],
            label=name,
        )
    left.set(xlabel="air temperature (°C)", ylabel="density (1/K)", title="Temperatures by split", xlim=(-30, 42))
    left.legend(frameon=False)
    place = np.arange(CLASSES)
    for number, name in enumerate(partition.CANONICAL):
        shares = 100.0 * np.bincount(splits[name].precipitation, minlength=CLASSES) / len(splits[name])
        right.bar(place + 0.17 * (number - 2), shares, 0.17, color=SHADES[name], label=name)
    right.set(ylabel="share (%)", title="Precipitation classes by split")
    right.set_xticks(place, [f"{code}  {name}" for code, name in enumerate(CLASS_NAMES)], rotation=40, ha="right")
    places = world.stations
    for code, climate in enumerate(CLIMATES):
        ours = places.climate == code
        below.scatter(
            places.longitude[ours], places.latitude[ours], 2.5, COLOURS[climate], label=f"{climate} ({ours.sum()})"
        )
    below.set(xlabel="longitude (degrees)", ylabel="latitude (degrees)", title="Stations by main climate")
    below.set(xlim=(-180, 180), ylim=(-90, 90))
    below.legend(frameon=False, markerscale=4, ncols=5, loc="lower center")
    pages.save(figure, path)


def judge(splits: dict[str, Table]) -> None:
    """Print errors in and out of domain, and the detection of shifted rows by knowledge uncertainty."""
    train = splits["train"].rows(slice(0, TRAINING_ROWS))
    tests = {name: splits[name].rows(slice(0, 4_000)) for name in ("eval_in", "dev_out", "eval_out")}
    means, classes = _members(train, tests)
    for name, table in tests.items():
        errors = (means[name][0] - table.temperature) ** 2
        whole = (means[name][0].mean(axis=0) - table.temperature) ** 2
        right = classes[name].argmax(axis=2) == table.precipitation
        together = classes[name].mean(axis=0).argmax(axis=1) == table.precipitation
        sys.stdout.write(
            f"{name:9} RMSE single {np.sqrt(errors.mean(axis=1)).mean():.3f} ensemble {np.sqrt(whole.mean()):.3f} °C, "
            f"accuracy single {right.mean():.3f} ensemble {together.mean():.3f}\n"
        )
    for name in ("dev_out", "eval_out"):
        areas = []
        for measure in (_varm, _tvar):
            areas.append(_area(measure(means["eval_in"]), measure(means[name])))
        doubts = [categorical.mutual_information(classes[part]) for part in ("eval_in", name)]
        areas.append(_area(*doubts))
        sys.stdout.write(
            f"{name:9} ROC-AUC varm {areas[0]:.3f} tvar {areas[1]:.3f} mutual information {areas[2]:.3f}\n"
        )


def _members(
    train: Table, tests: dict[str, Table]
) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]:
    """Return means and variances [2, M, N], and class probabilities [M, N, 9], of each test set."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    shared: dict[str, Any] = {"thread_count": 1, "verbose": 0, "border_count": 64, "bootstrap_type": "Bernoulli"}
    shared |= {"allow_writing_files": False}
    shared |= {"subsample": 0.66, "depth": 6, "learning_rate": 0.25}
    means: dict[str, list[NDArray[np.float64]]] = {name: [] for name in tests}
    classes: dict[str, list[NDArray[np.float64]]] = {name: [] for name in tests}
    for seed in range(MEMBERS):
        regressor = CatBoostRegressor(loss_function="RMSEWithUncertainty", iterations=120, random_seed=seed, **shared)
        regressor.fit(train.features, train.temperature)
        classifier = CatBoostClassifier(loss_function="MultiClass", iterations=50, random_seed=seed, **shared)
        classifier.fit(train.features, train.precipitation)
        for name, table in tests.items():
            means[name].append(regressor.predict(table.features).T)
            probabilities = np.zeros((len(table), CLASSES))
            probabilities[:, classifier.classes_.astype(int)] = classifier.predict_proba(table.features)
            classes[name].append(probabilities)
    return {name: np.stack(parts, axis=1) for name, parts in means.items()}, {
        name: np.stack(parts) for name, parts in classes.items()
    }


def _area(inside: NDArray[np.float64], shifted: NDArray[np.float64]) -> float:
    outside = np.arange(len(inside) + len(shifted)) >= len(inside)
    return roc_auc(outside, np.concatenate([inside, shifted]))


def _varm(predicted: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(predicted[0].var(axis=0))


def _tvar(predicted: NDArray[np.float64]) -> NDArray[np.float64]:
    return _varm(predicted) + np.asarray(predicted[1].mean(axis=0))


if __name__ == "__main__":
    sys.exit(main())
