"""Pictures of the page: retention curves, calibration, classes, and half a year of forecasts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import dates as ticks
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import blended_transform_factory
from numpy.typing import NDArray
from scipy.stats import norm

from models.assessment import classification, retention
from models.assessment.coverage import coverage
from models.assessment.errors import squared_error
from models.predictive import Gaussian
from models.tasks.weather.spec import PRECIPITATION, TEMPERATURE
from models.uncertainty import score
from studies import pages
from studies.weather_real import judge
from studies.weather_real.data import NO_PRECIPITATION, RealSet
from studies.weather_real.forecasts import (
    BOTH,
    CENTRED,
    CENTRED_SHARES,
    EXTENDED,
    REGRESSED,
    TEN,
    Precipitation,
    Temperature,
)

COLOURS = {"raw": "#999999", "emos": "#0072b2", TEN: "#d55e00", BOTH: "#009e73"}
LEVELS = np.linspace(0.05, 0.95, 19)


@dataclass(frozen=True)
class FittedSet:
    """Set with its fitted forecasts."""

    data: RealSet
    temperature: Temperature
    precipitation: Precipitation | None

    @property
    def extended(self) -> str:
        """Name of EMOS with its further inputs."""
        return f"{EXTENDED} {self.data.covariate}"


def draw_retention(sets: Sequence[FittedSet], path: Path) -> None:
    """Draw error- and F1-retention of all test rows, one column per set."""
    figure = Figure(figsize=(13, 7.4), layout="constrained")
    axes = figure.subplots(2, len(sets), squeeze=False)
    for column, fitted in enumerate(sets):
        mask = fitted.data.split.test
        target = fitted.data.temperature[mask]
        for model, colour in _compared(fitted):
            predictive = fitted.temperature.by_model[model][0]
            errors = squared_error(target, predictive.mean[mask])
            uncertainty = score(predictive, judge.measure(predictive))[mask]
            limit = TEMPERATURE.acceptable or 0.0
            upper, lower = retention.error_curve(errors, uncertainty), retention.f_curve(errors, uncertainty, limit)
            for axis, curve in ((axes[0, column], upper), (axes[1, column], lower)):
                axis.plot(*pages.thinned(curve), color=colour, linewidth=1.6, label=model)
            if model == TEN:
                style: Any = {"color": colour, "linewidth": 0.9}
                random, best = retention.random_curve(errors), retention.optimal_curve(errors)
                axes[0, column].plot(*pages.thinned(random), "--", **style, label=f"{model}, at random")
                axes[0, column].plot(*pages.thinned(best), ":", **style, label=f"{model}, by its errors")
        axes[0, column].set_title(f"{fitted.data.title}; shifted: {fitted.data.shift}", fontsize=10)
        axes[0, column].set_ylabel("squared error, °C²")
        axes[1, column].set(xlabel="share answered by the model", ylabel="F1 of “within 1 °C”")
        for axis in axes[:, column]:
            axis.grid(alpha=0.3)
            axis.set(xlim=(0, 1), ylim=(0, None))
        axes[0, column].legend(frameon=False, fontsize=8)
    pages.save(figure, path)


def draw_calibration(sets: Sequence[FittedSet], path: Path) -> None:
    """Draw the share of observations inside central intervals of the predicted normal against the nominal share."""
    figure = Figure(figsize=(13, 4.6), layout="constrained")
    axes = figure.subplots(1, len(sets), squeeze=False)[0]
    for axis, fitted in zip(axes, sets, strict=True):
        axis.plot([0, 1], [0, 1], color="#444444", linewidth=0.8)
        for place, (model, colour) in enumerate(_compared(fitted)):
            predictive = fitted.temperature.by_model[model][0]
            for domain, line in (("in", "-"), ("shifted", ":")):
                mask = judge.domains(fitted.data)[domain]
                target, mean, width = fitted.data.temperature[mask], predictive.mean[mask], predictive.tvar[mask]
                held = [coverage(target, mean, width, norm.ppf((1 + level) / 2)) for level in LEVELS]
                label = model if domain == "in" else None
                axis.plot(LEVELS, held, line, color=colour, linewidth=1.6, label=label)
                conformal = coverage(target, mean, width, judge.multiplier(fitted.data, predictive))
                full = domain == "in"
                axis.scatter(
                    judge.LEVEL + 0.022 * (place - 1.5), conformal, 30, marker="o", zorder=3,
                    facecolor=colour if full else "white", edgecolor=colour,
                )  # fmt: skip
        axis.set(title=fitted.data.title, xlabel="promised", ylabel="held", xlim=(0, 1), ylim=(0, 1))
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=8, title="in-domain; dotted: shifted", title_fontsize=8)
    pages.save(figure, path)


def draw_classes(fitted: FittedSet, path: Path) -> None:
    """Draw retention of the precipitation classes, and the frequency of precipitation against its probability."""
    assert fitted.precipitation is not None
    assert fitted.data.precipitation is not None
    figure = Figure(figsize=(13, 4.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    mask = fitted.data.split.test
    labels = fitted.data.precipitation[mask]
    for model, colour in ((CENTRED_SHARES, COLOURS["raw"]), (REGRESSED, COLOURS["emos"]), (TEN, COLOURS[TEN])):
        predictive = fitted.precipitation.by_model[model][0]
        probabilities = predictive.probabilities[mask]
        wrong = classification.error_indicator(labels, probabilities)
        uncertainty = score(predictive, judge.measure(predictive))[mask]
        style: Any = {"color": colour, "linewidth": 1.6, "label": model}
        left.plot(*pages.thinned(retention.error_curve(wrong, uncertainty)), **style)
        middle.plot(*pages.thinned(retention.f_curve(wrong, uncertainty, PRECIPITATION.acceptable or 0.0)), **style)
        called, came, count = _reliability(1 - probabilities[:, NO_PRECIPITATION], labels != NO_PRECIPITATION)
        right.plot(called, came, "-", **style)
        right.scatter(called, came, 6 * np.sqrt(count), colour, zorder=3)
    right.plot([0, 1], [0, 1], color="#444444", linewidth=0.8)
    left.set(title="wrong classes", xlabel="share answered by the model", ylabel="wrong answers, share of all rows")
    middle.set(title="F1 of “right class”", xlabel="share answered by the model", ylabel="F1")
    right.set(title="any precipitation (size: number of cases)", xlabel="probability", ylabel="how often it came")
    for axis in (left, middle, right):
        axis.grid(alpha=0.3)
        axis.set(xlim=(0, 1), ylim=(0, None))
        axis.legend(frameon=False, fontsize=8)
    pages.save(figure, path)


def draw_series(fitted: FittedSet, models: Sequence[str], start: datetime, end: datetime, path: Path) -> None:
    """Draw a stretch of test days: forecast, conformal 90 % interval, observations and deferred days."""
    figure = Figure(figsize=(13, 3.9 * len(models)), layout="constrained")
    axes = figure.subplots(len(models), 1, sharex=True, squeeze=False)[:, 0]
    data = fitted.data
    chosen = data.split.test & (data.time >= start.timestamp()) & (data.time < end.timestamp())
    days = np.array([datetime.fromtimestamp(second, UTC) for second in data.time[chosen]])
    came, shifted = data.temperature[chosen], data.shifted[chosen]
    for axis, model in zip(axes, models, strict=True):
        predictive = fitted.temperature.by_model[model][0]
        _series(axis, data, predictive, chosen, days)
        mean, half = predictive.mean[chosen], judge.multiplier(data, predictive) * np.sqrt(predictive.tvar[chosen])
        outside = np.abs(came - mean) > half
        axis.plot(days[~outside], came[~outside], "o", color="#222222", markersize=3, label="observed")
        axis.plot(days[outside], came[outside], "x", color="#cc0000", markersize=5, label="observed, outside")
        if shifted.any():
            axis.axvspan(days[shifted][0], days[shifted][-1], color="#f0e442", alpha=0.18, linewidth=0)
            across = blended_transform_factory(axis.transData, axis.transAxes)
            axis.text(days[shifted][0], 0.045, f"  not in training: {data.shift}", transform=across, fontsize=9)
        held = 1 - outside.mean()
        axis.set(title=f"{data.title}, {model}: interval held on {held:.0%} of these days", ylabel="°C")
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=8, ncols=6, loc="upper left")
        axis.margins(x=0.01, y=0.12)
    axes[-1].xaxis.set_major_formatter(ticks.DateFormatter("%-d %b %Y"))
    pages.save(figure, path)


def _series(axis: Axes, data: RealSet, predictive: Gaussian, chosen: NDArray[np.bool_], days: NDArray[Any]) -> None:
    mean, half = predictive.mean[chosen], judge.multiplier(data, predictive) * np.sqrt(predictive.tvar[chosen])
    uncertainty = score(predictive, judge.measure(predictive))[chosen].astype(np.float32)
    deferred = uncertainty > np.float32(judge.threshold(data, predictive))
    axis.fill_between(days, mean - half, mean + half, color="#56b4e9", alpha=0.35, linewidth=0, label="90 % interval")
    axis.plot(days, mean, color="#0072b2", linewidth=1.2, label="forecast")
    top = blended_transform_factory(axis.transData, axis.transAxes)
    marks = np.full(int(deferred.sum()), 0.985)
    label = f"deferred ({deferred.sum()} of {len(days)} days)"
    axis.plot(days[deferred], marks, "v", color="#d55e00", markersize=6, transform=top, label=label, clip_on=False)
    beyond = judge.outside(data)[chosen]
    foot = np.full(int(beyond.sum()), 0.015)
    label = f"outside the training range ({beyond.sum()})"
    axis.plot(days[beyond], foot, "s", color="#cc79a7", markersize=4, transform=top, label=label, clip_on=False)
    for day in days[deferred]:
        axis.axvline(day, color="#d55e00", linewidth=0.8, alpha=0.5)


def _compared(fitted: FittedSet) -> list[tuple[str, str]]:
    """Return the models to draw, with their colours."""
    return [(CENTRED, COLOURS["raw"]), (fitted.extended, COLOURS["emos"]), (TEN, COLOURS[TEN]), (BOTH, COLOURS[BOTH])]


def _reliability(probability: Any, happened: Any, bins: int = 8) -> tuple[Any, Any, Any]:
    """Return mean probability, observed share and number of cases in non-empty bins of equal width."""
    place = np.minimum((probability * bins).astype(int), bins - 1)
    count = np.bincount(place, minlength=bins)
    kept = count > 0
    called = np.bincount(place, probability, bins)[kept] / count[kept]
    return called, np.bincount(place, happened, bins)[kept] / count[kept], count[kept]
